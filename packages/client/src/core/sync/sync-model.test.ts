import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ReceivedCall } from '../../../test/support/core-bench.js'
import { SyncBench, head, log, message, page } from '../../../test/support/sync-bench.js'

describe('a server', () => {
  const step = fc.record({
    what: fc.constantFrom(
      'send',
      'send',
      'send',
      'recall',
      'edit',
      'lose',
      'cut',
      'answer',
      'wait',
    ),
    which: fc.nat(50),
  })

  it('that loses events and answers in pages of any size has the same log as the client', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        (steps, size) => {
          const texts: (string | null)[] = []
          const changes: { readonly kind: string; readonly seq: number }[] = []
          const bench = SyncBench.create()
          const change = (number: number) => {
            const { kind, seq } = changes[number - 1] as (typeof changes)[number]
            const content = texts[seq - 1]
            const data = message(seq, { content, sender_id: 9 })
            const isLatest = !changes.slice(number).some((each) => each.seq === seq)
            if (kind !== 'message.stored' && !isLatest)
              return { event: 'change.skipped', change: number, data: { conversation: log } }
            if (kind === 'message.recalled' || typeof content === 'string')
              return { event: kind, change: number, data }
            return { event: 'change.skipped', change: number, data: { conversation: log, seq } }
          }
          const visible = () =>
            texts.flatMap((content, index) => (content === null ? [] : [index + 1]))
          const answer = (call: ReceivedCall) => {
            const { op, data } = call
            const below = visible().filter(
              (seq) => seq < (data.before_seq ?? Number.MAX_SAFE_INTEGER),
            )
            if (op === 'message.sync') {
              const known: number | undefined = data.have?.[0]?.change ?? marks.get(data.after)
              const isFew = known !== undefined && changes.length - known <= size
              const pos = `p${marks.size}`
              marks.set(pos, changes.length)
              const unread = visible().length
              const numbers = { change: changes.length, seq: texts.length, unread }
              const latest = { latest_msg_id: unread === 0 ? 0 : 100 + (visible().at(-1) ?? 0) }
              const content = isFew
                ? {
                    from: known,
                    changes: changes.slice(known).map((_, index) => change(known + index + 1)),
                  }
                : size === 5
                  ? {}
                  : { messages: visible().reverse().slice(0, data.window).map(shown) }
              const heads = [head({ ...numbers, ...latest, ...content })]
              bench.answer(call, page({ pos, list: data.after === '', heads }))
            } else if (op === 'message.changes') {
              const from = data.after_change
              const next = Math.min(from + size, changes.length)
              const list = changes.slice(from, next).map((_, index) => change(from + index + 1))
              bench.answer(call, { log, from, changes: list, next, change: changes.length })
            } else if (op === 'message.history') {
              const found = below.reverse().slice(0, Math.min(size, data.limit))
              const from_seq = found.length === below.length ? 1 : (found.at(-1) ?? 1)
              const before_seq = Math.min(data.before_seq, texts.length + 1)
              bench.answer(call, { log, messages: found.map(shown), from_seq, before_seq })
            } else throw new Error(`no operation ${op}`)
          }
          const marks = new Map<string, number>()
          const shown = (seq: number) => message(seq, { content: texts[seq - 1] })
          const answerAll = () => {
            for (let count = 0; bench.calls.length > 0 || bench.readStore() > 0; count++) {
              expect(count).toBeLessThan(300)
              const [call] = bench.calls
              if (call) answer(bench.take(call.op))
            }
          }
          bench.open()
          for (const { what, which } of steps) {
            const seq = 1 + (which % Math.max(1, texts.length))
            const isThere = typeof texts[seq - 1] === 'string'
            if (what === 'cut') {
              bench.cut()
              bench.open()
            } else if (what === 'answer') {
              const [call] = bench.calls
              if (call) answer(bench.take(call.op))
              bench.readStore()
            } else if (what === 'wait') bench.advance(which * 20)
            else if (what === 'send' || what === 'lose') {
              texts.push(`text ${texts.length + 1}`)
              changes.push({ kind: 'message.stored', seq: texts.length })
            } else if (isThere && what === 'recall') {
              texts[seq - 1] = null
              changes.push({ kind: 'message.recalled', seq })
            } else if (isThere) {
              texts[seq - 1] += '+'
              changes.push({ kind: 'message.replaced', seq })
            }
            const isEvent = what === 'send' || (isThere && (what === 'edit' || what === 'recall'))
            if (isEvent) bench.frame(change(changes.length))
            if (what === 'lose') bench.event('sync.needed', {})
          }
          for (let round = 0; round < 40; round++) {
            answerAll()
            bench.advance(1_000)
          }
          if (changes.length === 0) return
          const id = bench.command({ type: 'history', log: 'd5.9', beforeSeq: 1e9, limit: 1e6 })
          for (let round = 0; round < 60 && !bench.results.has(id); round++) answerAll()
          let from = (bench.results.get(id) as { readonly fromSeq: number }).fromSeq
          for (let round = 0; from > 1 && round < 60; round++) {
            const next = bench.command({
              type: 'history',
              log: 'd5.9',
              beforeSeq: from,
              limit: 100,
            })
            answerAll()
            from = (bench.results.get(next) as { readonly fromSeq: number }).fromSeq
          }
          const record = bench.record()
          const count = { change: changes.length, seq: texts.length, unread: visible().length }
          expect(record).toMatchObject({ ...count, isHeadNeeded: false })
          expect(bench.texts).toEqual(texts.filter((each) => each !== null))
          expect(record?.last?.seq).toBe(visible().at(-1))
          expect(bench.calls).toEqual([])
        },
      ),
      { numRuns: 200 },
    )
  })
})
