import { isFullRun } from '@hermod/testkit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { aLog, aMessage, FakeSession, upload, settled } from '../../../test/support/fake-session.js'
import type { Batch } from '../../model/batch.js'
import type { Command } from '../../core/inputs.js'
import type { LogKey, MessageRecord, SeqRange } from '../../model/records.js'
import { createClientOn } from '../../create-client.js'
import { ClientError, failureOf } from '../../errors.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const keys = ['d1.9', 'b9'] as const
type Key = (typeof keys)[number]

/** A change of the conversation, at the server or in the client. */
type Action =
  /** Messages that arrive, or of which only the newest arrive, as after an absence. */
  | { readonly type: 'write'; readonly key: Key; readonly count: number; readonly arrive: number }
  | { readonly type: 'edit' | 'recall'; readonly key: Key; readonly place: number }
  | { readonly type: 'hide'; readonly place: number }
  | { readonly type: 'empty'; readonly key: Key }
  | { readonly type: 'older' | 'newer'; readonly limit: number }
  | { readonly type: 'around'; readonly place: number; readonly limit: number }
  | { readonly type: 'listen' | 'leave' | 'online' | 'offline' | 'reload' | 'wait' | 'latest' }

const one = <T extends string>(...types: T[]) => fc.constantFrom(...types)
const key = fc.constantFrom(...keys)
const place = fc.nat({ max: 1_000 })
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: one('write'),
      key,
      count: fc.integer({ min: 1, max: 130 }),
      arrive: fc.integer({ min: 0, max: 130 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: one('edit', 'recall'), key, place }) },
  { weight: 1, arbitrary: fc.record({ type: one('hide'), place }) },
  { weight: 1, arbitrary: fc.record({ type: one('empty'), key }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: one('older', 'newer'), limit: fc.integer({ min: 1, max: 120 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: one('around'),
      place,
      limit: fc.integer({ min: 1, max: 120 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: one('listen', 'leave', 'online', 'offline', 'wait') }),
  },
  { weight: 1, arbitrary: fc.record({ type: one('reload', 'latest') }) },
)

/** The server's messages, the client's store, and the list that is tested. */
class World {
  readonly session = new FakeSession()
  readonly conversation
  /** The messages of the server by log; undefined: gone. */
  readonly logs: Record<Key, (MessageRecord | undefined)[]> = { 'd1.9': [], b9: [] }
  /** Actions that happen while the store or the server answers. */
  readonly during: Action[]
  #lastId = 0
  #edits = 0
  #stops: (() => void)[] = []

  constructor(during: readonly Action[]) {
    this.during = [...during]
    const options = { url: 'https://chat.example', appId: 'app', token: () => 'secret' }
    const clock = { now: () => 0, wallTime: () => 0, after: () => () => {}, random: () => 0.5 }
    this.conversation = createClientOn(this.session, options, { clock, upload }).direct(9)
    this.session.beforeRead = () => this.#interrupt()
    this.session.answer = (command) => this.#answer(command)
  }

  get shown() {
    return this.conversation.messages.getSnapshot()
  }

  /** Everything that the user may see, oldest first. */
  get visible(): MessageRecord[] {
    return keys
      .flatMap((each) => this.logs[each].flatMap((message) => message ?? []))
      .toSorted((a, b) => a.msgId - b.msgId)
  }

  run(each: Action): void {
    const { session } = this
    if (each.type === 'write') this.#write(each.key, each.count, each.arrive)
    else if (each.type === 'edit' || each.type === 'recall') this.#change(each)
    else if (each.type === 'hide') this.#hide(each.place)
    else if (each.type === 'empty')
      session.apply({ emptiedLogs: [each.key], logs: [this.#record(each.key, [])] })
    else if (each.type === 'older')
      this.conversation.messages.loadOlder({ limit: each.limit }).catch(() => {})
    else if (each.type === 'newer')
      this.conversation.messages.loadNewer({ limit: each.limit }).catch(() => {})
    else if (each.type === 'around')
      this.conversation.messages
        .loadAround((each.place % (this.#lastId + 1)) + 1, { limit: each.limit })
        .catch(() => {})
    else if (each.type === 'latest') this.conversation.messages.loadLatest().catch(() => {})
    else if (each.type === 'listen')
      this.#stops.push(this.conversation.messages.subscribe(() => {}))
    else if (each.type === 'leave') this.#stops.pop()?.()
    else if (each.type === 'reload') session.notify({ type: 'reload' })
    else if (each.type !== 'wait') session.setLive({ connection: { state: each.type } })
  }

  /** The shown messages are in order, once, and as the server has them. */
  check(): void {
    const shown = this.shown.messages.map(({ id, text }) => `${id} ${text}`)
    const known = this.visible.map(({ msgId, content }) => `${msgId} ${content}`)
    const positions = shown.map((each) => known.indexOf(each))
    expect(positions).not.toContain(-1)
    expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b))
  }

  #write(key: Key, count: number, arrive: number): void {
    const log = this.logs[key]
    for (let each = 0; each < count; each++)
      log.push(aMessage(key, log.length + 1, { msgId: ++this.#lastId }))
    const from = Math.max(log.length - Math.min(arrive, count) + 1, 1)
    const ranges = this.session.state.logs.get(key)?.ranges ?? []
    const messages = log.slice(from - 1).flatMap((message) => message ?? [])
    this.session.apply({ messages, logs: [this.#record(key, joined(ranges, [from, log.length]))] })
  }

  #change({ type, key, place }: { type: 'edit' | 'recall'; key: Key; place: number }): void {
    const log = this.logs[key]
    const seq = (place % Math.max(1, log.length)) + 1
    const message = log[seq - 1]
    if (!message) return
    const isHeld = this.session.stored.has(`${key} ${seq}`)
    if (type === 'edit') {
      const edited = { ...message, content: `edit ${++this.#edits}` }
      log[seq - 1] = edited
      if (isHeld) this.session.apply({ messages: [edited] })
    } else {
      log[seq - 1] = undefined
      if (isHeld) this.session.apply({ removed: [{ log: key, seq }] })
    }
  }

  #hide(place: number): void {
    const msgId = place % (this.#lastId + 1)
    const batch: { -readonly [K in 'logs' | 'hidden']: Batch[K][number][] } = {
      logs: [],
      hidden: [],
    }
    for (const each of keys) {
      const log = this.logs[each]
      const gone = log.findLastIndex((message) => message && message.msgId <= msgId) + 1
      for (let index = 0; index < gone; index++) log[index] = undefined
      const ranges = this.session.state.logs.get(each)?.ranges ?? []
      if (gone === 0) continue
      batch.logs.push({ ...this.#record(each, joined(ranges, [1, gone])), hiddenMsgId: msgId })
      batch.hidden.push({ log: each, msgId })
    }
    this.session.apply(batch)
  }

  #answer(command: Command): unknown {
    if (command.type !== 'history') return undefined
    this.#interrupt()
    if (this.session.state.live.connection.state !== 'online')
      throw new ClientError(failureOf('not_connected', 'offline', true))
    const { beforeSeq, limit } = command
    const key = command.log as Key
    const fromSeq = Math.max(1, beforeSeq - limit)
    const messages = this.logs[key].slice(fromSeq - 1, beforeSeq - 1).flatMap((each) => each ?? [])
    const ranges = this.session.state.logs.get(key)?.ranges ?? []
    const logs = [this.#record(key, joined(ranges, [fromSeq, beforeSeq - 1]))]
    this.session.apply({ messages, logs })
    return { fromSeq }
  }

  #interrupt(): void {
    const next = this.during.shift()
    if (next) this.run(next)
  }

  #record(key: Key, ranges: readonly SeqRange[]) {
    return aLog(key as LogKey, { seq: this.logs[key].length, ranges })
  }
}

/** Adds a range to sorted, disjoint ranges; an empty one changes nothing. */
function joined(ranges: readonly SeqRange[], [from, to]: SeqRange): readonly SeqRange[] {
  if (from > to) return ranges
  const apart = ranges.filter((each) => each[1] < from - 1 || each[0] > to + 1)
  const touching = ranges.filter((each) => !apart.includes(each))
  const bounds = [...touching.flat(), from, to]
  const merged: SeqRange = [Math.min(...bounds), Math.max(...bounds)]
  return [...apart, merged].toSorted((a, b) => a[0] - b[0])
}

it('message list: changes at any moment of a load leave it equal to the server, and complete in the end', async () => {
  const property = fc.asyncProperty(
    fc.array(action, { maxLength: 25 }),
    fc.array(action, { maxLength: 12 }),
    async (actions, during) => {
      const world = new World(during)
      for (const each of actions) {
        world.run(each)
        if (each.type === 'wait') await settled()
        world.check()
      }
      world.during.length = 0
      world.run({ type: 'listen' })
      world.run({ type: 'online' })
      await settled()
      const [first] = world.shown.messages
      const last = world.shown.hasNewer ? world.shown.messages.at(-1) : undefined
      const expected = world.visible.filter(
        ({ msgId }) => msgId >= (first?.id ?? 0) && msgId <= (last?.id ?? Number.POSITIVE_INFINITY),
      )
      expect(world.shown).toMatchObject({ isLoading: false })
      expect(world.shown.messages.map(({ id }) => id)).toEqual(expected.map(({ msgId }) => msgId))
      for (let pages = 0; world.shown.hasNewer && pages < 100; pages++)
        await world.conversation.messages.loadNewer({ limit: 200 })
      expect(world.shown.hasNewer).toBe(false)
      for (let pages = 0; world.shown.hasOlder && pages < 100; pages++)
        await world.conversation.messages.loadOlder({ limit: 200 })
      world.check()
      expect(world.shown.messages).toHaveLength(world.visible.length)
      expect(world.shown.hasOlder).toBe(false)
    },
  )
  await fc.assert(property, { seed, numRuns: isFullRun ? 1_000 : 150 })
}, 120_000)
