/** Positions in the order of the commits, and what consumers of the outbox can rely on. */
import { setTimeout as sleep } from 'node:timers/promises'
import { userChangeKind } from '@hermod/protocol'
import { actorEvent, type Event, type EventKind } from '@hermod/protocol/events'
import { testBackends, waitFor } from '@hermod/testkit'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { BulkInsert } from '../../dist/db/dialect/dialect.js'
import type { DeliveredEvent } from '../../dist/outbox/consumer.js'
import { ConsumerRunner } from '../../dist/outbox/consumer-runner.js'
import { Positions } from '../../dist/outbox/positions.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import {
  draft,
  hourMs,
  OutboxNode,
  OutboxDatabase,
  patience,
  TestConsumer,
} from '../support/database/outbox-node.js'
import { recallMessage, storeBroadcast } from '../support/messaging/outbox-messages.js'
import { TestShares } from '../support/nodes/test-shares.js'
import { itOnce } from '../support/once.js'

const apps = ['app-a', 'app-b'] as const

/** Fails, since its row has no kind. */
const insertShare: BulkInsert = {
  table: 'node_shares',
  columns: { name: 'text', kind: 'text' },
}

/** A fact about a user that names itself. */
function fact(label: string, appId: string = apps[0], userId = 1): Event {
  return actorEvent(
    'user.info_updated',
    { appId, actorId: 0, userIds: [userId] },
    { properties: [label], changed: {} },
  )
}

function labelOf(event: Event<EventKind>): string {
  if (event.kind === 'user.info_updated') return event.payload.properties[0] ?? ''
  if (event.kind === 'message.stored') return event.payload.content
  return event.kind
}

/** Waits until the consumer stands there. */
function passed(node: OutboxNode, consumer: string, appId: string, position: number) {
  return waitFor(
    async () =>
      (await node.database.read((db) => node.store.positionOf(db, consumer, appId))) === position,
    { what: `${consumer} stands at ${position}`, ...patience },
  )
}

/** Looks only when it is told to. */
function runnerOf({ database, store, messages }: OutboxNode, consumer: TestConsumer) {
  return new ConsumerRunner({
    ...{ database, store, messages, consumer, retryMs: 20, share: { isHeld: true } },
    positions: new Positions(consumer.name, { database, store }),
    observer: { lagging: () => {}, reached: () => {}, missed: () => {}, failed: () => {} },
  })
}

describe.each(testBackends())('the outbox on $name', (backend) => {
  const once = itOnce(backend)
  let place: OutboxDatabase

  beforeEach(async () => {
    place = await OutboxDatabase.create(backend)
  })
  afterEach(() => place[Symbol.asyncDispose]())

  const open = (...consumers: TestConsumer[]) => new OutboxNode(place.openDatabase(), consumers)

  it(
    'moves a change of a user to the position of its latest event, however many transactions run at once',
    async () => {
      await using node = open()
      const write = fc.record({
        apps: fc.subarray([...apps], { minLength: 1 }),
        userIds: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
        count: fc.integer({ min: 1, max: 3 }),
        isRolledBack: fc.boolean(),
      })
      const plan = fc.array(fc.array(write, { minLength: 1, maxLength: 4 }), {
        minLength: 2,
        maxLength: 6,
      })
      await checkProperty(
        backend,
        fc.asyncProperty(plan, async (writers) => {
          const append = async ({ apps, userIds, count, isRolledBack }: (typeof writers)[0][0]) =>
            node.database
              .transaction(async (tx) => {
                for (let each = 0; each < count; each++)
                  for (const appId of apps)
                    for (const userId of userIds)
                      node.outbox.append(tx, fact('changed', appId, userId))
                if (isRolledBack) throw new Error('rolled back')
              })
              .catch((error: Error) => expect(error.message).toBe('rolled back'))
          await Promise.all(
            writers.map(async (writes) => {
              for (const each of writes) await append(each)
            }),
          )
          for (const appId of apps) {
            const rows = await node.database.read((db) =>
              node.store.listAfter(db, appId, 0, 100_000),
            )
            const latest = new Map<number, number>()
            for (const { payload, position } of rows)
              for (const userId of JSON.parse(payload).user_ids) latest.set(userId, position)
            for (const userId of [1, 2, 3, 4]) {
              const user = { appId, userId }
              const after = (position: number) =>
                node.database.read((db) => node.store.listUserChanges(db, user, position, 10))
              const position = latest.get(userId)
              const kind = userChangeKind.profile
              expect(await after(0)).toEqual(
                position === undefined ? [] : [{ kind, ref: 0, position }],
              )
              expect(await after(position ?? 0)).toEqual([])
            }
          }
        }),
      )
    },
    propertyTimeoutMs,
  )

  it(
    'shows a reader at N everything below N, however late the writers commit',
    async () => {
      await using node = open()
      const write = fc.record({
        app: fc.constantFrom(...apps),
        count: fc.integer({ min: 1, max: 3 }),
        before: fc.integer({ min: 0, max: 4 }),
        after: fc.integer({ min: 0, max: 8 }),
        how: fc.constantFrom(
          'commit',
          'commit',
          'roll back',
          'both apps',
          'message',
          'broadcast',
          'broadcast rolled back',
        ),
      })
      const plan = fc.array(fc.array(write, { minLength: 1, maxLength: 5 }), {
        minLength: 2,
        maxLength: 6,
      })
      let run = 0
      await checkProperty(
        backend,
        fc.asyncProperty(plan, async (writers) => {
          run++
          const committed = new Set<string>()
          let isWriting = true
          // Known before anything is written: what comes afterwards is to be seen.
          const heads = await node.database.read((db) => node.store.heads(db))
          const readers = apps.map(async (appId) => {
            let position = heads.get(appId) ?? 0
            const seen: string[] = []
            for (let isLast = false; ; ) {
              const rows = await node.database.read((db) =>
                node.store.listAfter(db, appId, position, 7),
              )
              for (const { kind, payload, position: at } of rows) {
                expect(at).toBe(position + 1)
                position = at
                if (kind === 'message.stored')
                  for (const event of await node.messages.read(appId, payload))
                    seen.push(event.kind === 'message.stored' ? event.payload.content : '')
                else seen.push(JSON.parse(payload).properties[0])
              }
              if (rows.length > 0) continue
              if (isLast) return seen
              isLast = !isWriting
              await sleep(1)
            }
          })
          await Promise.all(
            writers.map(async (writes, writer) => {
              for (const [index, { app, count, before, after, how }] of writes.entries()) {
                const labels = Array.from(
                  { length: count },
                  (_, each) => `${run}.${writer}.${index}.${each}`,
                )
                if (how === 'message') {
                  const drafts = labels.map((label) => draft(app, [1, 2 + writer], label))
                  await node.writer.write({ transactionId: null, drafts })
                } else {
                  const where = how === 'both apps' ? apps : [app]
                  const isRolledBack = how.endsWith('back')
                  const isStored = await node.database
                    .transaction(async (tx) => {
                      if (how.startsWith('broadcast'))
                        await storeBroadcast(
                          node,
                          tx,
                          app,
                          labels.map((label) => `${app}/${label}`),
                        )
                      else
                        for (const appId of where)
                          node.outbox.append(
                            tx,
                            ...labels.map((label) => fact(`${appId}/${label}`, appId)),
                          )
                      await sleep(before)
                      // Fails after the positions are taken, while other transactions wait for theirs.
                      tx.beforeCommit(async () => {
                        await sleep(after)
                        return isRolledBack ? [{ statement: insertShare, rows: [['', null]] }] : []
                      })
                    })
                    .then(
                      () => true,
                      () => false,
                    )
                  expect(isStored).toBe(!isRolledBack)
                  if (!isStored) continue
                  for (const appId of where)
                    for (const label of labels) committed.add(`${appId}/${label}`)
                  continue
                }
                for (const label of labels) committed.add(label)
              }
            }),
          )
          isWriting = false
          const seen = (await Promise.all(readers)).flat()
          expect(seen.toSorted()).toEqual([...committed].toSorted())
        }),
      )
    },
    propertyTimeoutMs,
  )

  it('a send reports the last row that it has appended, with its time', async () => {
    await using node = open()
    await node.append(fact('changed', apps[0], 1))
    await node.send(apps[0], [1, 2], 'one')
    const rows = await node.database.read((db) => node.store.listAfter(db, apps[0], 1, 10))
    expect(node.reached).toEqual(
      rows.map(({ position, createdAt: time }) => ({ appId: apps[0], position, time })),
    )
    expect(node.reached).toHaveLength(1)
  })

  it('numbers thousands of events of one transaction in their order', async () => {
    await using node = open()
    const labels = Array.from({ length: 2_500 }, (_, index) => String(index))
    await node.append(...labels.map((label) => fact(label)))
    const rows = await node.database.read((db) => node.store.listAfter(db, apps[0], 0, 5_000))
    expect(rows.map(({ position }) => position)).toEqual(labels.map((label) => Number(label) + 1))
    expect(rows.map(({ payload }) => JSON.parse(payload).properties[0])).toEqual(labels)
  })

  it('brings messages and what happens to them in their order', async () => {
    const consumer = new TestConsumer('test')
    await using node = open(consumer)
    await node.relay.start()
    const first = await node.send(apps[0], [1, 2], 'one')
    await node.append(fact('between'))
    await node.send(apps[0], [2, 1], 'two')
    await consumer.got(3)
    await recallMessage(node, apps[0], [1, 2], first)
    await consumer.got(4)
    expect(consumer.events.map(labelOf)).toEqual(['one', 'between', 'two', 'message.recalled'])
    expect(consumer.events.map(({ change }) => change)).toEqual([1, undefined, 2, 3])
    expect(consumer.events[0]?.payload).toEqual({
      conversation: { low_id: 1, high_id: 2, is_group: false },
      msg_id: first,
      timestamp: expect.any(Number),
      edit_timestamp: 0,
      seq: 1,
      sender_id: 1,
      sender_device_sn: 0,
      content_type: 0,
      content: 'one',
      attachment: '',
      config: '',
      ext: '',
      is_system: false,
    })
    expect(consumer.missedApps).toEqual([])
  })

  it('skips the number of a message that was recalled before the consumer read it', async () => {
    const consumer = new TestConsumer('late')
    await using node = open(consumer)
    const first = await node.send(apps[0], [1, 2], 'one')
    await node.send(apps[0], [1, 2], 'two')
    await recallMessage(node, apps[0], [1, 2], first)
    await node.relay.start()
    await consumer.got(3)
    expect(consumer.events.map(labelOf)).toEqual(['change.skipped', 'two', 'message.recalled'])
    expect(consumer.events.map(({ change }) => change)).toEqual([1, 2, 3])
    expect(consumer.events[0]?.payload).toEqual({
      conversation: { low_id: 1, high_id: 2, is_group: false },
      seq: 1,
      sender_id: 1,
      is_system: false,
    })
  })

  once('stores a message although its hand-over in memory fails', async () => {
    const consumer = new TestConsumer('test')
    await using node = open(consumer)
    const failure = new Error('a fault of the receiver')
    node.receiver = {
      wants: () => true,
      handOver() {
        throw failure
      },
    }
    await node.relay.start()
    await node.send(apps[0], [1, 2], 'stored')
    await consumer.got(1)
    expect(consumer.events.map(labelOf)).toEqual(['stored'])
    expect(node.failures).toEqual([failure])
  })

  once('hands new messages over in memory as a consumer reads them', async () => {
    const consumer = new TestConsumer('test')
    await using node = open(consumer)
    await node.send('app-c', [1, 2], 'not wanted')
    const handed: { readonly appId: string; readonly events: readonly DeliveredEvent[] }[] = []
    node.receiver = {
      wants: (appId) => appId !== 'app-c',
      handOver(appId, position, events) {
        expect(events.every((event) => event.position === position)).toBe(true)
        handed.push({ appId, events })
      },
    }
    const first = await node.send(apps[0], [1, 2], 'before a recall')
    await recallMessage(node, apps[0], [1, 2], first)
    const labels = Array.from({ length: 300 }, (_, index) => String(index))
    const drafts = (label: string) =>
      apps.map((app) => draft(app, [1, 2 + (Number(label) % 70)], label))
    await Promise.all([
      node.send('app-c', [1, 2], 'not wanted either'),
      ...labels.flatMap((label) =>
        drafts(label).map((each) =>
          node.writer.write({ transactionId: 10n ** 18n + BigInt(label), drafts: [each, each] }),
        ),
      ),
      // A repeat stores nothing.
      node.writer.write({ transactionId: 10n ** 18n, drafts: drafts('0').slice(0, 1) }),
    ])
    await node.relay.start()
    await consumer.got(2 + 1 + 2 * 2 * labels.length + 1)
    for (const app of apps) {
      const read = consumer.events.filter(
        ({ appId, kind, payload }) =>
          appId === app && kind === 'message.stored' && payload.content !== 'before a recall',
      )
      const events = handed.filter(({ appId }) => appId === app).flatMap((each) => each.events)
      const byPosition = events
        .filter(({ id }) => !id.endsWith(`.${first}`))
        .toSorted((a, b) => a.position - b.position || a.id.localeCompare(b.id))
      expect(byPosition).toEqual(
        read.toSorted((a, b) => a.position - b.position || a.id.localeCompare(b.id)),
      )
    }
    expect(handed.every(({ appId }) => appId !== 'app-c')).toBe(true)
  })

  once('hands batches of many conversations over in pieces, each message once', async () => {
    const consumer = new TestConsumer('test')
    await using node = open(consumer)
    const labels = Array.from({ length: 1_500 }, (_, index) => String(index))
    await Promise.all(
      labels.map((label, index) => node.send(apps[0], [1, 2 + (index % 70)], label)),
    )
    let most = 0
    consumer.before = (events) => {
      most = Math.max(most, events.length)
    }
    await node.relay.start()
    await consumer.got(1_500)
    expect(consumer.events.map(labelOf).toSorted()).toEqual(labels.toSorted())
    expect(new Set(consumer.events.map(({ id }) => id)).size).toBe(1_500)
    expect(most).toBeLessThanOrEqual(1_000)
  })

  once('finds what no wake has announced', async () => {
    const consumer = new TestConsumer('test')
    await using node = open(consumer)
    await node.relay.start()
    node.isWaking = false
    await node.append(fact('unheard'))
    await consumer.got(1)
    expect(consumer.events.map(labelOf)).toEqual(['unheard'])
  })

  once(
    'gives a consumer that fails the same events again, while others and other applications go on',
    async () => {
      const [failing, fine] = [new TestConsumer('failing'), new TestConsumer('fine')]
      let failures = 0
      failing.before = (events) => {
        // Until the other application was handled, however late that is.
        if (events.every(({ appId }) => appId !== apps[0])) return
        if (failures >= 3 && failing.events.length > 0) return
        failures++
        throw new Error('not now')
      }
      await using node = open(failing, fine)
      await node.relay.start()
      await node.append(fact('a'), fact('b', apps[1]))
      await fine.got(2)
      await failing.got(2)
      expect(failing.events.map(labelOf)).toEqual(['b', 'a'])
      expect(failures).toBeGreaterThanOrEqual(3)
      expect(node.failures).toHaveLength(failures)
    },
  )

  once(
    'gives them again when their timer fires, though the clock is behind it, without looking',
    async () => {
      const consumer = new TestConsumer('failing')
      let failures = 0
      consumer.before = () => {
        if (failures++ < 3) throw new Error('not now')
      }
      await using node = open()
      const runner = runnerOf(node, consumer)
      await node.append(fact('a'))
      const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
      try {
        await runner.start()
        await vi.waitUntil(() => consumer.events.length > 0, { timeout: patience.timeoutMs })
      } finally {
        clock.mockRestore()
        await runner.stop()
      }
      expect(consumer.events.map(labelOf)).toEqual(['a'])
      expect(failures).toBe(4)
    },
  )

  it('lets a consumer go on where it was', async () => {
    {
      const consumer = new TestConsumer('kept')
      await using node = open(consumer)
      await node.relay.start()
      await node.append(fact('first'))
      await consumer.got(1)
    }
    const kept = new TestConsumer('kept')
    await using node = open(kept)
    await node.append(fact('second'))
    await node.relay.start()
    await node.append(fact('third'), fact('new application', apps[1]))
    await kept.got(3)
    expect(kept.events.map(labelOf).toSorted()).toEqual(['new application', 'second', 'third'])
  })

  it('keeps what is young, and what a consumer has not handled yet', async () => {
    const consumer = new TestConsumer('slow')
    await using node = open(consumer)
    await node.append(fact('old'), fact('old too'))
    node.clock.aheadMs = 4 * 24 * hourMs
    await node.append(fact('young'))
    const kept = async () =>
      (await node.database.read((db) => node.store.listAfter(db, apps[0], 0, 10))).map(
        ({ payload }) => JSON.parse(payload).properties[0],
      )
    await node.purge.run()
    expect(await kept()).toEqual(['old', 'old too', 'young'])
    await node.relay.start()
    await consumer.got(3)
    await node.relay.stop()
    await node.purge.run()
    expect(await kept()).toEqual(['young'])
    expect([consumer.missedApps, node.leftBehind]).toEqual([[], []])
  })

  it('leaves a consumer behind that stands for too long, and tells it so once', async () => {
    const consumer = new TestConsumer('lost')
    await using node = open(consumer)
    await node.append(fact('never seen'), fact('nor this'), fact('b', apps[1]))
    node.clock.aheadMs = 8 * 24 * hourMs
    await node.append(fact('seen'))
    await node.purge.run()
    expect(node.leftBehind.toSorted()).toEqual(['lost in app-a', 'lost in app-b'])
    await node.purge.run()
    expect(node.leftBehind).toHaveLength(2)
    await node.relay.start()
    await consumer.got(1)
    await waitFor(() => consumer.missedApps.length === 2, { what: 'missed', ...patience })
    await node.append(fact('then'), fact('then b', apps[1]))
    await consumer.got(3)
    expect(consumer.missedApps.toSorted()).toEqual(['app-a', 'app-b'])
    const of = (appId: string) =>
      consumer.events.filter((event) => event.appId === appId).map(labelOf)
    expect([of(apps[0]), of(apps[1])]).toEqual([['seen', 'then'], ['then b']])
  })

  it('a share that is given back: is free once nothing is handled, and another node goes on', async () => {
    const consumers = [new TestConsumer('shared'), new TestConsumer('shared')] as const
    const [held, other] = [new TestShares(), new TestShares({ isHeld: false })]
    await using first = new OutboxNode(place.openDatabase(), [consumers[0]], held)
    await using second = new OutboxNode(place.openDatabase(), [consumers[1]], other)
    await Promise.all([first.relay.start(), second.relay.start()])
    for (let index = 0; index < 20; index++) await second.append(fact(String(index)))
    await consumers[0].got(20)
    let isHandling = false
    consumers[0].before = async () => {
      isHandling = true
      await sleep(50)
      isHandling = false
    }
    await first.append(fact('20'))
    await waitFor(() => isHandling && true, { what: 'the event is handled', ...patience })
    await held.giveBack()
    expect(isHandling).toBe(false)
    other.take()
    await first.append(fact('21'))
    await consumers[1].got(1)
    const labels = consumers.map(({ events }) => events.map(labelOf))
    expect(labels.flat()).toEqual(Array.from({ length: 22 }, (_, index) => String(index)))
    expect(labels[0]).toHaveLength(21)
  })

  once(
    'passes over what a consumer does not want, and begins with what comes once it does',
    async () => {
      const [choosy, all] = [new TestConsumer('choosy'), new TestConsumer('all')]
      choosy.unwantedApps.add(apps[0])
      await using node = open(choosy, all)
      await node.relay.start()
      await node.send(apps[0], [1, 2], 'unwanted')
      await node.append(fact('unwanted too'), fact('b', apps[1]))
      await Promise.all([choosy.got(1), all.got(3)])
      await passed(node, 'choosy', apps[0], 2)
      expect(choosy.events.map(labelOf)).toEqual(['b'])
      choosy.unwantedApps.delete(apps[0])
      await node.append(fact('wanted'))
      await node.send(apps[0], [1, 2], 'wanted too')
      await choosy.got(3)
      expect(choosy.events.map(labelOf)).toEqual(['b', 'wanted', 'wanted too'])
      expect([choosy.missedApps, node.failures]).toEqual([[], []])
    },
  )

  once(
    'asks a consumer that does not want an application again by looking, not at every wake',
    async () => {
      const consumer = new TestConsumer('choosy')
      consumer.unwantedApps.add(apps[0])
      await using node = open()
      const runner = runnerOf(node, consumer)
      await node.append(fact('first'))
      await runner.start()
      await passed(node, 'choosy', apps[0], 1)
      const { needsCalls } = consumer
      for (let index = 0; index < 20; index++) {
        await node.append(fact(String(index)))
        runner.wake(apps[0])
      }
      expect(consumer.needsCalls).toBe(needsCalls)
      await runner.poll()
      await passed(node, 'choosy', apps[0], 21)
      await runner.stop()
      expect(consumer.needsCalls).toBeGreaterThan(needsCalls)
      expect(consumer.events).toEqual([])
    },
  )

  it('changes the words of recorded events and nothing else', async () => {
    await using node = open()
    await node.append(fact('a'), fact('b', apps[1]), fact('c'))
    await node.outbox.rewrite(
      apps[0],
      ['user.info_updated'],
      (event) =>
        event.kind === 'user.info_updated' && labelOf(event) === 'a'
          ? { ...event.payload, properties: ['erased'] }
          : null,
      new AbortController().signal,
    )
    const labels = async (appId: string) =>
      (await node.database.read((db) => node.store.listAfter(db, appId, 0, 10))).map(
        ({ payload }) => JSON.parse(payload),
      )
    expect(await labels(apps[0])).toEqual([
      { actor_id: 0, user_ids: [1], properties: ['erased'], changed: {} },
      { actor_id: 0, user_ids: [1], properties: ['c'], changed: {} },
    ])
    expect(await labels(apps[1])).toMatchObject([{ properties: ['b'] }])
  })
})
