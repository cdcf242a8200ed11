/**
 * The service and a model of a stream: a text that grows by pieces in order, and ends once. A failure
 * prints the shortest history that shows it.
 */
import { type Json, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../../support/check-property.js'
import { ownServer } from '../../support/in-process-server.js'
import { operate, recall } from '../../support/messaging/message-operations.js'
import { integrityFaults, sessions } from '../../support/messaging/messaging.js'
import { append, begin, shown } from '../../support/messaging/streams.js'

interface Step {
  readonly what: 'append' | 'end' | 'cancel' | 'edit' | 'recall'
  /** Added to the next index. */
  readonly ahead: number
  readonly text: string
  readonly content: string | undefined
}

const texts = fc.constantFrom('', 'a', 'b', 'long '.repeat(50), '🙂')
const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('append', 'append', 'append', 'append', 'end', 'cancel', 'edit', 'recall'),
  // Most pieces are the next one, or the last one again.
  ahead: fc.constantFrom(0, 0, 0, -1, -1, -2, 1),
  text: texts,
  content: fc.option(texts, { nil: undefined }),
})

/** A stream as its readers should see it. */
class Model {
  state: 'open' | 'done' | 'recalled' = 'open'
  text = ''
  content = '…'
  next = 1
  last: string | undefined
  isCancelled = false

  /** Returns the answer to an append. */
  append(index: number, text: string, end?: { readonly content: string | undefined }): Json {
    const isRepeat = index === this.next - 1 && index > 0 && text === this.last
    if (!isRepeat || (end && this.state === 'open')) {
      if (this.state !== 'open' || !(isRepeat || index === this.next))
        return answerCode.stream_refused
      if (!isRepeat) {
        this.text += text
        this.last = text
        this.next++
      }
      if (end) {
        this.state = 'done'
        this.content = (end.content ?? this.text) || '…'
      }
    }
    return { next_index: this.next, length: this.text.length, cancel: this.isCancelled }
  }
}

for (const backend of testBackends())
  describe(`model of streams on ${backend.name}`, () => {
    const server = ownServer(backend, {
      HERMOD_STREAM_APPENDS_PER_SECOND: '1000',
      HERMOD_STREAM_APPEND_BURST: '9000',
      HERMOD_STREAMS_PER_SENDER: '9000',
    })

    it('streams: after any appends, ends, requests to end and recalls readers see what the model says', {
      timeout: propertyTimeoutMs,
    }, async () => {
      await checkProperty(
        backend,
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          const [alice, bob] = await sessions(server, 2)
          const msg_id = await begin(alice, bob)
          const model = new Model()
          for (const each of steps) await perform(each)
          const query = { conversation_id: alice.id, msg_id }
          if (model.state === 'recalled') {
            const { data } = await bob.api.succeed('GET', '/message/get', { query })
            expect(data).toHaveProperty('recalled')
          } else {
            const { content, stream } = await shown(bob, alice.id, msg_id)
            const open = { text: model.text, next_index: model.next }
            expect({ content, stream }).toEqual({
              content: model.content,
              stream: {
                ...{ kind: 'markdown', state: model.state },
                ...(model.state === 'open' && open),
              },
            })
          }

          async function perform({ what, ahead, text, content }: Step): Promise<void> {
            if (what === 'append' || what === 'end') {
              const index = Math.max(1, model.next + ahead)
              const end =
                what === 'end'
                  ? { end: { state: 'done', ...(content !== undefined && { content }) } }
                  : {}
              const answer = await append(alice, bob, { msg_id, index, text, ...end })
              expect(answer).toEqual(
                model.append(index, text, what === 'end' ? { content } : undefined),
              )
            } else if (what === 'cancel') {
              const body = { conversation_id: alice.id, msg_id }
              const { code } = await bob.api.call('POST', '/message/stream/cancel', { body })
              const isGone = model.state === 'recalled'
              expect(code).toBe(isGone ? answerCode.message_not_found : answerCode.ok)
              if (model.state === 'open') model.isCancelled = true
            } else if (what === 'edit') {
              const edit = { peer: bob.id, message: msg_id, content: 'edited' }
              const { code } = await operate(alice.api, 'replace', edit)
              if (model.state === 'done') model.content = 'edited'
              expect(code).toBe(
                {
                  open: answerCode.message_type_refused,
                  done: answerCode.ok,
                  recalled: answerCode.message_not_found,
                }[model.state],
              )
            } else if (model.state !== 'recalled') {
              await recall(alice.api, bob.id, msg_id)
              model.state = 'recalled'
            }
          }
        }),
      )
      expect(await integrityFaults(server)).toEqual([])
    })
  })
