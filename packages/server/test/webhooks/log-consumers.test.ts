/** Named consumers and the rows that they hold, and the cost of calls that wait. */
import { actorEvent } from '@hermod/protocol/events'
import { testBackends } from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Histories } from '../../dist/db/identity/histories.js'
import { ConsumerService } from '../../dist/domain/events/consumer-service.js'
import { ConsumerStore } from '../../dist/domain/events/consumer-store.js'
import { encodeCursor } from '../../dist/domain/events/event-cursor.js'
import { EventIds } from '../../dist/domain/events/event-ids.js'
import { EventLogService } from '../../dist/domain/events/event-log-service.js'
import { EventWaits } from '../../dist/domain/events/event-waits.js'
import { LogReader } from '../../dist/domain/events/log-reader.js'
import { LoggedEvents } from '../../dist/domain/events/logged-events.js'
import { EventLoopBudget } from '../../dist/lib/concurrency/event-loop-budget.js'
import { OutboxPurge } from '../../dist/outbox/outbox-purge.js'
import { hourMs, OutboxNode, OutboxDatabase } from '../support/database/outbox-node.js'

const appId = 'app-a'
const epoch = 'e'
const histories = new Histories({ first: epoch, current: epoch, rows: [] })
const dayMs = 24 * hourMs
const request = { kinds: new Set<never>(), key: '', limit: 100, waitMs: 0 }

describe.each(testBackends())('consumers of the log on $name', (backend) => {
  let place: OutboxDatabase
  let node: OutboxNode
  let consumers: ConsumerService
  let waits: EventWaits
  let log: EventLogService

  beforeEach(async () => {
    place = await OutboxDatabase.create(backend)
    node = new OutboxNode(place.openDatabase())
    const { database, store: outbox, messages, clock } = node
    const reader = new LogReader({
      ...{ database, outbox, events: new LoggedEvents(messages, new EventIds(histories)) },
      budget: new EventLoopBudget({ perTurn: 1 }),
    })
    const apps = { lockForUpdate: async () => ({}) as never }
    consumers = new ConsumerService({
      ...{ database, reader, apps, clock },
      store: new ConsumerStore(),
    })
    waits = new EventWaits({ heads: null })
    log = new EventLogService({ reader, waits, consumers, histories })
  })
  afterEach(async () => {
    await node[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  })

  const append = (count: number) =>
    node.append(
      ...Array.from({ length: count }, () =>
        actorEvent(
          'user.info_updated',
          { appId, actorId: 0, userIds: [2] },
          { properties: ['nickname'], changed: {} },
        ),
      ),
    )
  const read = (name: string) =>
    log.read(appId, { ...request, start: { kind: 'consumer', name } }, new AbortController().signal)
  const purge = (maxLagMs: number) =>
    new OutboxPurge({
      ...{ database: node.database, store: node.store, clock: node.clock, maxLagMs },
      consumers: [],
      holders: [(db, app) => consumers.lowestPosition(db, app)],
      keptMs: 3 * dayMs,
      leftBehind: () => {},
    }).run()

  it('rows stay until every consumer has acknowledged them, or the longest time is over', async () => {
    await read('slow')
    await read('fast')
    await append(4)
    node.clock.aheadMs = 4 * dayMs
    await purge(7 * dayMs)
    expect((await read('slow')).events).toHaveLength(4)
    const cursorAt = (position: number) => encodeCursor({ appId, epoch }, { position, place: 0 })
    await log.acknowledge(appId, 'fast', cursorAt(4))
    await log.acknowledge(appId, 'slow', cursorAt(3))
    await purge(7 * dayMs)
    expect(await read('slow')).toMatchObject({ events: [{ position: 4 }], missed: null })
    await purge(3 * dayMs)
    expect(await read('slow')).toMatchObject({ events: [], missed: { first: 4, last: 4 } })
  })

  it('a consumer is deleted after 7 days without a read or an acknowledgement', async () => {
    for (const name of ['reads', 'acknowledges', 'rests']) await read(name)
    const { cursor } = await read('acknowledges')
    node.clock.aheadMs = 6 * dayMs
    await read('reads')
    await log.acknowledge(appId, 'acknowledges', cursor)
    node.clock.aheadMs = 7 * dayMs + hourMs
    await consumers.deleteUnused()
    expect((await log.listConsumers(appId)).map(({ consumer }) => consumer.name)).toEqual([
      'acknowledges',
      'reads',
    ])
  })

  it('a call that waits makes no statement, and reads once more when it is woken', async () => {
    const statements = vi.spyOn(node.database, 'read')
    const start = { kind: 'end' } as const
    const waiting = log.read(
      appId,
      { ...request, start, waitMs: 30_000 },
      new AbortController().signal,
    )
    await vi.waitUntil(() => statements.mock.calls.length === 3)
    await append(1)
    waits.wake(appId)
    expect((await waiting).events).toHaveLength(1)
    expect(statements).toHaveBeenCalledTimes(4)
    expect(waits.size).toBe(0)
  })
})
