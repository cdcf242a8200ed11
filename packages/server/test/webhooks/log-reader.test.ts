/** Pages of the log of events: every event once, in order, and the rows that are gone. */
import { actorEvent, type EventKind } from '@hermod/protocol/events'
import { testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Histories } from '../../dist/db/identity/histories.js'
import { type LogPosition, positionAfter } from '../../dist/domain/events/event-cursor.js'
import { type LogFilter, type EventSlice, LogReader } from '../../dist/domain/events/log-reader.js'
import type { LoggedEvent } from '../../dist/domain/events/logged-event.js'
import { EventIds } from '../../dist/domain/events/event-ids.js'
import { LoggedEvents } from '../../dist/domain/events/logged-events.js'
import { EventLoopBudget } from '../../dist/lib/concurrency/event-loop-budget.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { draft, OutboxNode, OutboxDatabase } from '../support/database/outbox-node.js'
import { recallMessage } from '../support/messaging/outbox-messages.js'

/** The place before the first event. */
const logStart: LogPosition = { position: 0, place: 0 }

const appId = 'app-a'
const histories = new Histories({ first: 'e', current: 'e', rows: [] })
const all: LogFilter = { kinds: new Set(), key: '', limit: 1_000 }

type Step =
  | { readonly kind: 'facts'; readonly userIds: readonly number[] }
  | { readonly kind: 'messages'; readonly peers: readonly number[] }
  | { readonly kind: 'recall'; readonly index: number }
  | { readonly kind: 'purge'; readonly share: number }
  | { readonly kind: 'read'; readonly limit: number; readonly processed: number }

const user = fc.integer({ min: 2, max: 4 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('facts' as const),
    userIds: fc.array(user, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('messages' as const),
    peers: fc.array(user, { minLength: 1, maxLength: 6 }),
  }),
  fc.record({ kind: fc.constant('recall' as const), index: fc.nat() }),
  fc.record({
    kind: fc.constant('purge' as const),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  fc.record({
    kind: fc.constant('read' as const),
    limit: fc.integer({ min: 1, max: 7 }),
    processed: fc.nat(),
  }),
)
const filter = fc.record({
  kinds: fc.subarray(['message.stored', 'message.recalled', 'user.info_updated'] as EventKind[]),
  key: fc.constantFrom('', '', 'd:1:2', 'u:3', 'g:2', 'app', 'u:03', 'none'),
})

/** One reader that stores the cursor of the last event it has processed. */
class Reader {
  readonly got: LoggedEvent[] = []
  readonly missed: { first: number; last: number }[] = []
  place: LogPosition = logStart

  constructor(
    private readonly reader: LogReader,
    private readonly filter: Omit<LogFilter, 'limit'>,
  ) {}

  /** @param processed the events of the page after which the reader stops and begins anew */
  async read(limit: number, processed = Number.POSITIVE_INFINITY): Promise<EventSlice> {
    const page = await this.reader.read(appId, this.place, { ...this.filter, limit })
    expect(page.events.length).toBeLessThanOrEqual(limit)
    if (page.missed) this.missed.push(page.missed)
    this.got.push(...page.events.slice(0, processed))
    const last = page.events[processed - 1]
    this.place = last ? positionAfter(last) : processed > 0 ? page.next : this.place
    if (processed === 0 && page.missed) this.missed.pop()
    return page
  }

  async readToEnd(): Promise<void> {
    while ((await this.read(3)).hasMore);
  }

  hasMissed(position: number): boolean {
    return this.missed.some(({ first, last }) => first <= position && position <= last)
  }
}

describe.each(testBackends())('pages of the log of events on $name', (backend) => {
  let place: OutboxDatabase
  let node: OutboxNode
  let events: LoggedEvents
  let reader: LogReader

  beforeEach(async () => {
    place = await OutboxDatabase.create(backend)
    node = new OutboxNode(place.openDatabase())
    events = new LoggedEvents(node.messages, new EventIds(histories))
    const budget = new EventLoopBudget({ perTurn: 1 })
    reader = new LogReader({ database: node.database, outbox: node.store, events, budget })
  })
  afterEach(async () => {
    await node[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  })

  const fact = (userId: number) =>
    actorEvent(
      'user.info_updated',
      { appId, actorId: 0, userIds: [userId] },
      { properties: ['nickname'], changed: {} },
    )
  const rows = () => node.database.read((db) => node.store.listAfter(db, appId, 0, 100_000))
  const purge = (position: number) =>
    node.database.transaction((tx) => node.store.deleteUpTo(tx, appId, position))
  const readAll = async () => {
    const read: LoggedEvent[] = []
    for (const row of await rows()) read.push(...(await events.ofRow(appId, row)))
    return read
  }

  it(
    'any split by limit, kinds and key returns every event once in order, or reports its row as missed',
    async () => {
      await checkProperty(
        backend,
        fc.asyncProperty(
          fc.array(step, { minLength: 4, maxLength: 14 }),
          filter,
          async (steps, { kinds, key }) => {
            const head = await reader.head(appId)
            await purge(head)
            const subject = new Reader(reader, { kinds: new Set(kinds), key })
            subject.place = { position: head, place: 0 }
            const sent: number[] = []
            const recalled = new Set<string>()
            const appended = new Map<string, LoggedEvent>()
            const note = async () => {
              for (const event of await readAll()) appended.set(event.id, event)
            }
            for (const each of steps) {
              if (each.kind === 'facts') await node.append(...each.userIds.map(fact))
              if (each.kind === 'messages')
                sent.push(
                  ...(await node.writer.write({
                    transactionId: null,
                    drafts: each.peers.map((peer) => draft(appId, [1, peer], 'hello')),
                  })),
                )
              if (each.kind === 'recall' && sent.length > 0) {
                const [id = 0] = sent.splice(each.index % sent.length, 1)
                await note()
                for (const event of appended.values())
                  if (event.name === String(id)) recalled.add(event.id)
                const { payload } = [...appended.values()].find(
                  ({ name }) => name === String(id),
                ) ?? { payload: null }
                const conversation = payload?.conversation as { high_id: number } | undefined
                if (conversation) await recallMessage(node, appId, [1, conversation.high_id], id)
              }
              if (each.kind === 'purge') {
                await note()
                const kept = await rows()
                const last = kept[Math.floor(kept.length * each.share)]
                if (last) await purge(last.position)
              }
              if (each.kind === 'read') await subject.read(each.limit, each.processed % 9)
            }
            await note()
            await subject.readToEnd()

            const places = subject.got.map(({ position, place }) => position * 1_000 + place)
            expect(places).toEqual([...new Set(places)].sort((a, b) => a - b))
            const got = new Set(subject.got.map(({ id }) => id))
            for (const event of appended.values()) {
              const isWanted =
                (kinds.length === 0 || kinds.includes(event.kind as EventKind)) &&
                (key === '' || event.key === key)
              if (!isWanted) expect(got).not.toContain(event.id)
              else if (!recalled.has(event.id) && !subject.hasMissed(event.position))
                expect(got).toContain(event.id)
            }
            const [oldest] = await rows()
            for (const { last } of subject.missed)
              expect(last).toBeLessThan(oldest?.position ?? Number.POSITIVE_INFINITY)
          },
        ),
      )
    },
    propertyTimeoutMs,
  )

  it('a call looks at 10,000 rows and returns a cursor without events, and says that there is more', async () => {
    for (let batch = 0; batch < 11; batch++)
      await node.append(...Array.from({ length: 1_000 }, () => fact(2)))
    await node.append(fact(3))
    const wanted = { ...all, key: 'u:3' }
    const first = await reader.read(appId, logStart, wanted)
    expect(first).toEqual({
      events: [],
      next: { position: 10_000, place: 0 },
      hasMore: true,
      missed: null,
    })
    const second = await reader.read(appId, first.next, wanted)
    expect(second).toMatchObject({ next: { position: 11_001, place: 0 }, hasMore: false })
    expect(second.events.map(({ position }) => position)).toEqual([11_001])
  })

  it('a page of large messages is about 1 MiB', async () => {
    const content = 'x'.repeat(30_000)
    const drafts = Array.from({ length: 100 }, () => draft(appId, [1, 2], content))
    await node.writer.write({ transactionId: null, drafts })
    const counts: number[] = []
    let from = logStart
    for (let hasMore = true; hasMore; ) {
      const page = await reader.read(appId, from, all)
      counts.push(page.events.length)
      from = page.next
      hasMore = page.hasMore
    }
    expect(counts).toEqual([34, 34, 32])
  })

  it('rows that are gone are missed from the place of the reader on, also when no row is left', async () => {
    await node.append(...[2, 3, 4].map(fact))
    await purge(2)
    const [third] = await rows()
    expect((await reader.read(appId, logStart, all)).missed).toEqual({
      first: 1,
      last: 2,
      until: third?.createdAt,
    })
    await purge(3)
    expect(await reader.read(appId, { position: 1, place: 0 }, all)).toEqual({
      events: [],
      next: { position: 3, place: 0 },
      hasMore: false,
      missed: { first: 2, last: 3, until: 0 },
    })
    expect(await reader.oldest(appId)).toEqual({ position: 3, place: 0 })
  })

  it('a place after the last event of a row that is gone since misses nothing', async () => {
    await node.append(fact(2))
    const { events: read } = await reader.read(appId, logStart, all)
    const [event] = read
    await node.append(fact(3))
    await purge(1)
    const page = await reader.read(appId, event ? positionAfter(event) : logStart, all)
    expect(page).toMatchObject({ missed: null, events: [{ key: 'u:3' }] })
  })

  it('a place after the end of the log is refused with the reason', async () => {
    await node.append(fact(2))
    for (const place of [
      { position: 2, place: 0 },
      { position: 1, place: 1 },
    ])
      await expect(reader.read(appId, place, all)).rejects.toThrow('after the end of the log')
    expect((await reader.read(appId, { position: 1, place: 0 }, all)).events).toEqual([])
  })
})
