/** What /metrics and the log say of consumers, as the service wires them. */
import { actorEvent } from '@hermod/protocol/events'
import { testBackends, waitFor } from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MemoryBus } from '../../dist/bus/memory-bus.js'
import { createRelay, outboxObserver } from '../../dist/context/server/outbox.js'
import type { Database } from '../../dist/db/database.js'
import { StoredMessages } from '../../dist/domain/messaging/log/stored-messages.js'
import { createLog } from '../../dist/observability/log.js'
import { Metrics } from '../../dist/observability/metrics.js'
import { soleShares } from '../../dist/nodes/shares.js'
import { Outbox } from '../../dist/outbox/outbox.js'
import { OutboxStore } from '../../dist/outbox/outbox-store.js'
import {
  hourMs,
  OutboxDatabase,
  patience,
  TestClock,
  TestConsumer,
} from '../support/database/outbox-node.js'

const appId = 'app'
const dayMs = 24 * hourMs
const maxLagMs = 7 * dayMs

describe.each(testBackends())('metrics of the outbox on $name', (backend) => {
  let place: OutboxDatabase
  let database: Database
  let clock: TestClock
  let metrics: Metrics
  let outbox: Outbox
  let consumer: TestConsumer
  let relay: ReturnType<typeof createRelay>['relay']
  let purge: ReturnType<typeof createRelay>['purge']

  beforeEach(async () => {
    place = await OutboxDatabase.create(backend)
    database = place.openDatabase()
    clock = new TestClock()
    metrics = new Metrics({
      messages: () => 0,
      messageBytes: () => 0,
      chunks: () => 0,
      positions: () => 0,
      files: () => 0,
      devices: () => 0,
      sessions: () => 0,
    })
    consumer = new TestConsumer('slow')
    const bus = new MemoryBus()
    const store = new OutboxStore(database)
    outbox = new Outbox({
      database,
      store,
      clock,
      appended: (app) => bus.publish('outbox.appended', { appId: app }),
    })
    ;({ relay, purge } = createRelay({
      database,
      bus,
      stores: {
        outbox: store,
        storedMessages: new StoredMessages(database),
      },
      shares: soleShares,
      clock,
      maxLagMs,
      consumers: [consumer],
      holders: [],
      observer: outboxObserver(createLog('silent'), metrics, null),
    }))
  })

  afterEach(async () => {
    await relay.stop()
    await database[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  })

  const append = (count: number) =>
    database.transaction(async (tx) => {
      for (let index = 0; index < count; index++)
        outbox.append(
          tx,
          actorEvent(
            'user.info_updated',
            { appId, actorId: 0, userIds: [1] },
            { properties: [String(index)], changed: {} },
          ),
        )
    })

  /** The value of a metric of the consumer; undefined when there is none. */
  async function metric(name: string): Promise<number | undefined> {
    const { text } = await metrics.render()
    const line = text.split('\n').find((each) => each.startsWith(`${name}{consumer="slow"} `))
    return line === undefined ? undefined : Number(line.split(' ').at(-1))
  }
  const leftBehind = () => metric('hermod_outbox_consumers_left_behind_total')
  const lag = () => metric('hermod_outbox_consumer_lag_rows')

  it('count a consumer that is left behind, once for what it has missed', async () => {
    await append(2)
    clock.aheadMs = maxLagMs - dayMs
    await purge.run()
    expect(await leftBehind()).toBeUndefined()
    clock.aheadMs = maxLagMs + dayMs
    await append(1)
    await purge.run()
    expect(await leftBehind()).toBe(1)
    await purge.run()
    expect(await leftBehind()).toBe(1)
  })

  it('say how many rows a consumer is behind, until it has handled them', async () => {
    let isFailing = true
    consumer.before = () => {
      if (isFailing) throw new Error('not now')
    }
    await append(3)
    await relay.start()
    await waitFor(async () => (await lag()) === 3, { what: 'a lag of 3 rows', ...patience })
    isFailing = false
    await waitFor(async () => (await lag()) === 0, { what: 'no lag', ...patience })
    expect(consumer.events).toHaveLength(3)
  })
})
