/**
 * Conversations that many clients use at once: no answered message and no read position is lost,
 * whatever the order of their calls.
 */
import type { Message } from '@hermod/protocol'
import { type Answer, type Json, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { PeoplePool } from '../support/contacts.js'
import { InProcessServer } from '../support/in-process-server.js'
import { operate } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  deleteConversation,
  history,
  integrityFaults,
  newestMessages,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { World } from '../support/model-world.js'

const userCount = 4
const users = Array.from({ length: userCount }, (_, user) => user)
const user = fc.nat(userCount - 1)

/**
 * An action of a user while others do something else: user 0 acknowledges nothing, and users 0 and
 * 1 delete nothing.
 */
type Action =
  | { readonly kind: 'send'; readonly peer: number }
  | {
      readonly kind: 'acknowledge'
      readonly peer: number
      readonly how: 'conversation' | 'message' | 'all'
    }
  | { readonly kind: 'delete'; readonly peer: number }
  | { readonly kind: 'recall' | 'append' | 'look'; readonly peer: number }

const sendAction = user.map((peer): Action => ({ kind: 'send', peer }))
const acknowledgeAction = fc
  .record({
    peer: user,
    how: fc.constantFrom('conversation' as const, 'message' as const, 'all' as const),
  })
  .map((what): Action => ({ kind: 'acknowledge', ...what }))
const otherAction = fc.record({
  kind: fc.constantFrom('recall' as const, 'append' as const, 'look' as const),
  peer: user,
})
const deleteAction = user.map((peer): Action => ({ kind: 'delete', peer }))

/** Two clients for each user. */
const scripts = fc.tuple(
  ...[...users, ...users].map((actor) => {
    const choices: { weight: number; arbitrary: fc.Arbitrary<Action> }[] = [
      { weight: 5, arbitrary: sendAction },
      { weight: 3, arbitrary: otherAction },
    ]
    if (actor > 0) choices.push({ weight: 3, arbitrary: acknowledgeAction })
    if (actor > 1) choices.push({ weight: 2, arbitrary: deleteAction })
    return fc.array(fc.oneof(...choices), { minLength: 1, maxLength: 30, size: 'max' })
  }),
)

interface Sent {
  readonly sender: number
  readonly peer: number
  readonly content: string
  readonly id: number
  isRecalled: boolean
  readonly appended: string[]
  /** Positions in the order of all beginnings and ends of calls. */
  readonly begun: number
  readonly answered: number
}

interface Deed {
  readonly user: number
  readonly peer: number | 'all'
  readonly begun: number
  readonly answered: number
}

/** Many clients at once, and what the answers that they got let one expect. */
class Crowd {
  readonly sent: Sent[] = []
  readonly reads: (Deed & { readonly upTo: number | null })[] = []
  readonly deletions: Deed[] = []
  /** Readings on a device. */
  readonly looks: Deed[] = []
  #time = 0

  constructor(private readonly world: World) {}

  async run(actions: readonly (readonly Action[])[]): Promise<void> {
    await Promise.all(
      actions.map((script, client) => this.#play(client, client % userCount, script)),
    )
  }

  between(a: number, b: number): Sent[] {
    return this.sent
      .filter(({ sender, peer }) => (sender === a && peer === b) || (sender === b && peer === a))
      .sort((x, y) => y.id - x.id)
  }

  async #play(client: number, actor: number, script: readonly Action[]): Promise<void> {
    for (const [step, action] of script.entries()) {
      const begun = ++this.#time
      const { peer } = action
      const deed = () => ({ user: actor, peer, begun, answered: ++this.#time })
      if (action.kind === 'send') {
        const content = `${client}/${step}`
        const id = await sendText(this.world.api(actor), this.world.id(peer), content)
        this.sent.push({
          sender: actor,
          peer,
          content,
          id,
          isRecalled: false,
          appended: [],
          begun,
          answered: ++this.#time,
        })
      } else if (this.between(actor, peer).length === 0) {
        // Nothing to read or to delete yet that one could be sure of.
      } else if (action.kind === 'delete') {
        await deleteConversation(this.world.api(actor), this.world.id(peer))
        this.deletions.push(deed())
      } else if (action.kind === 'acknowledge') await this.#acknowledge(actor, action, deed)
      else if (action.kind === 'look') {
        await history(await this.world.device(actor), this.world.id(peer))
        this.looks.push(deed())
      } else await this.#change(actor, peer, action.kind, `<${client}/${step}>`)
    }
  }

  /** Of the messages that both have sent, an old one. */
  async #change(
    actor: number,
    peer: number,
    kind: 'recall' | 'append',
    mark: string,
  ): Promise<void> {
    const all = this.between(actor, peer)
    const one = all[Math.floor(all.length / 3)]
    if (!one) return
    const api = this.world.api(actor)
    const place = { peer: this.world.id(peer), message: one.id }
    const answer: Answer<Json> = await operate(api, kind, {
      ...place,
      content: kind === 'append' ? mark : '',
    })
    if (answer.code === 200 && kind === 'append') one.appended.push(mark)
    else if (answer.code === 200) one.isRecalled = true
    else expect(answer.code).toBe(answerCode.message_not_found)
  }

  async #acknowledge(
    actor: number,
    { peer, how }: Action & { kind: 'acknowledge' },
    deed: () => Deed,
  ): Promise<void> {
    const api = this.world.api(actor)
    const message = this.between(actor, peer)[0]?.id as number
    if (how === 'all') await acknowledge(api)
    else {
      const query = {
        conversation_id: this.world.id(peer),
        ...(how === 'message' ? { msg_id: message } : {}),
      }
      const { code } = await api.call('GET', '/message/ack', { query })
      if (how === 'message' && code === answerCode.message_not_found) return
      expect(code).toBe(200)
    }
    this.reads.push({
      ...deed(),
      peer: how === 'all' ? 'all' : peer,
      upTo: how === 'message' ? message : null,
    })
  }
}

const concerns = (deed: Deed, reader: number, peer: number) =>
  deed.user === reader && (deed.peer === peer || deed.peer === 'all')

/** @returns the unread count that the history shows */
function checkHistory(
  crowd: Crowd,
  shown: readonly Message[],
  reader: number,
  peer: number,
  readerId: number,
): number {
  const everything = crowd.between(reader, peer)
  const all = everything.filter(({ isRecalled }) => !isRecalled)
  const visible = all.slice(0, shown.length)
  const partsOf = (content: string) => content.split(/(?=<)/)
  expect(shown.map(({ msg_id, content }) => [msg_id, ...partsOf(content).sort()])).toEqual(
    visible.map(({ id, content, appended }) => [id, ...[content, ...appended].sort()]),
  )
  const deletions = crowd.deletions.filter((deed) => concerns(deed, reader, peer))
  const lastDeleted = Math.max(0, ...deletions.map(({ answered }) => answered))
  for (const { content, begun } of all.slice(shown.length))
    expect(begun, `${content} came after the last deletion`).toBeLessThan(lastDeleted)
  for (const { content, answered } of visible)
    for (const deletion of deletions)
      expect(answered, `${content} was there when the conversation was deleted`).toBeGreaterThan(
        deletion.begun,
      )

  const received = shown.filter(({ from_xid }) => from_xid.uid !== readerId)
  const unread = received.filter(({ status }) => status !== 'READ')
  expect(received.slice(0, unread.length), 'the unread messages are the newest').toEqual(unread)
  const reads = crowd.reads.filter((deed) => concerns(deed, reader, peer))
  const ownLast = Math.max(
    0,
    ...everything.filter(({ sender }) => sender === reader).map(({ id }) => id),
  )
  const atLeast = reads.map(
    ({ begun, upTo }) => upTo ?? everything.find(({ answered }) => answered < begun)?.id ?? 0,
  )
  const readTo = Math.max(ownLast, ...atLeast)
  for (const { msg_id, content } of unread)
    expect(Number(msg_id), `${content} was read`).toBeGreaterThan(readTo)
  if (reads.length === 0 && deletions.length === 0)
    expect(unread).toEqual(received.filter(({ msg_id }) => Number(msg_id) > ownLast))
  const undelivered = unread.filter(({ status }) => status === 'UNREAD')
  expect(
    unread.slice(0, undelivered.length),
    'the messages that no device got are the newest',
  ).toEqual(undelivered)
  const lastLook = Math.max(
    0,
    ...crowd.looks.filter((deed) => concerns(deed, reader, peer)).map(({ begun }) => begun),
  )
  for (const { msg_id, content } of undelivered)
    expect(
      all.find(({ id }) => id === msg_id)?.answered,
      `a device got ${content}`,
    ).toBeGreaterThan(lastLook)
  return unread.length
}

async function checkCrowd(crowd: Crowd, world: World): Promise<void> {
  for (const reader of users) {
    const unread: [number, number][] = []
    const latest: [number, number][] = []
    for (const peer of users) {
      const shown = await history(world.api(reader), world.id(peer), 50)
      const count = checkHistory(crowd, shown, reader, peer, world.id(reader))
      if (count > 0) unread.push([world.id(peer), count])
      if (shown[0]) latest.push([world.id(peer), Number(shown[0].msg_id)])
    }
    expect(await unreadCounts(world.api(reader))).toEqual(Object.fromEntries(unread))
    expect(await newestMessages(world.api(reader), 3)).toEqual(latest.sort((a, b) => b[1] - a[1]))
  }
}
for (const backend of testBackends()) {
  describe(`conversations at once on ${backend.name}`, () => {
    let watched: InProcessServer
    let pool: PeoplePool

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      pool = new PeoplePool(watched, userCount * 25)
    })

    afterAll(() => watched?.[Symbol.asyncDispose]())

    it('conversations: simultaneous calls lose no answered message and no read position', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const property = fc.asyncProperty(scripts, async (actions) => {
        const world = new World(watched, await pool.take(userCount))
        const crowd = new Crowd(world)
        await crowd.run(actions)
        await checkCrowd(crowd, world)
        expect(await integrityFaults(watched.server)).toEqual([])
      })
      await checkProperty(backend, property)
    })
  })
}
