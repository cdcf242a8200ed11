/** The dispatcher of webhooks: how it reads the log, what it costs, and how nodes share the work. */
import { isFullRun, testBackends, waitFor } from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LoggedEvent } from '../../dist/domain/events/logged-event.js'
import { EndpointQueue } from '../../dist/webhooks/dispatcher/endpoint-queue.js'
import { hourMs, OutboxDatabase, patience } from '../support/database/outbox-node.js'
import {
  DispatchNode,
  type DispatchOptions,
  endpointOf,
  factOf,
  Receivers,
} from '../support/webhooks/dispatch-node.js'

const app = 'app-a'
/** Applications of the test of an idle node, with 20 endpoints each. */
const apps = isFullRun ? 200 : 20
const dayMs = 24 * hourMs
const usersOf = (count: number, users = 7) =>
  Array.from({ length: count }, (_, index) => 1 + (index % users))

/** Returns the positions in the order of their first arrival, by key. */
function positionsByKey(events: readonly LoggedEvent[]): Map<string, number[]> {
  const byKey = new Map<string, number[]>()
  for (const { key, position } of events) {
    const positions = byKey.get(key) ?? []
    if (!positions.includes(position)) positions.push(position)
    byKey.set(key, positions)
  }
  return byKey
}

function expectOrdered(events: readonly LoggedEvent[]): void {
  for (const [key, positions] of positionsByKey(events))
    expect(positions, key).toEqual(positions.toSorted((a, b) => a - b))
}

describe.each(testBackends())('the dispatcher of webhooks on $name', (backend) => {
  let place: OutboxDatabase
  let receivers: Receivers

  beforeEach(async () => {
    place = await OutboxDatabase.create(backend)
    receivers = new Receivers()
  })
  afterEach(() => place[Symbol.asyncDispose]())

  const open = (options: DispatchOptions = {}) =>
    new DispatchNode(place.openDatabase(), receivers, options)

  it('one read of the log serves all endpoints at the head; one that was down catches up, and joins them', async () => {
    await using node = open()
    const urls = Array.from({ length: 10 }, (_, index) => `hook ${index}`)
    const [slow] = await node.addEndpoints(urls.map((url) => endpointOf(url)))
    if (!slow) return
    await node.dispatcher.start()
    const read = () => node.reads.splice(0)
    read()
    await node.append(app, 1)
    for (const url of urls) await receivers.got(url, 1)
    expect(read()).toEqual([0])

    receivers.answer = (url) => (url === slow.url ? 'unavailable' : 'delivered')
    await node.append(app, ...usersOf(150))
    for (const url of urls.slice(1)) await receivers.got(url, 151)
    await node.dispatcher.poll()
    expect(await node.position(slow)).toBe(1)
    receivers.answer = () => 'delivered'
    node.log.clock.aheadMs += 6 * hourMs
    await node.dispatcher.poll()
    await receivers.got(slow.url, 151)
    await node.reaches(slow, 151)
    expectOrdered(receivers.at(slow.url))

    read()
    await node.append(app, 1)
    for (const url of urls) await receivers.got(url, 152)
    expect(read()).toEqual([151])
    expect(node.failures).toEqual([])
  })

  // Does not depend on the database.
  const once = isFullRun || backend.name === 'sqlite' ? it : undefined

  once?.('an endpoint that wants nothing moves on', async () => {
    await using node = open()
    const endpoint = await node.endpoint('filter', { kinds: ['webhook.disabled'] })
    await node.dispatcher.start()
    await node.append(app, ...usersOf(120))
    await node.reaches(endpoint, 120)
    expect(receivers.arrivals).toEqual([])
  })

  once?.(
    'a replay stores no more events than there is room for, and sends all of them in order',
    async () => {
      await using node = open()
      const endpoint = await node.endpoint('hook')
      await node.dispatcher.start()
      await node.append(app, ...usersOf(100))
      await node.reaches(endpoint, 100)
      const waiting: number[] = []
      const room = vi
        .spyOn(EndpointQueue.prototype, 'replayRoom', 'get')
        .mockImplementation(function (this: EndpointQueue) {
          waiting.push(this.waiting)
          return 7 - this.waiting
        })
      const replay = { position: 0, until: 100, kinds: [], key: '' }
      await node.database.transaction((tx) =>
        node.endpoints.update(tx, endpoint, { replay, version: 2, updatedAt: 1e15 }),
      )
      await waitFor(
        async () => {
          await node.dispatcher.poll()
          return receivers.arrivals.length === 200 && true
        },
        { what: 'all events again', ...patience },
      )
      room.mockRestore()
      expect(Math.max(...waiting)).toBeLessThanOrEqual(7)
      expectOrdered(receivers.at('hook').slice(100))
      expect(node.failures).toEqual([])
    },
  )

  once?.('a log that cannot be read stops its own application only', async () => {
    await using node = open()
    await node.addEndpoints([endpointOf('broken'), endpointOf('good', { appId: 'app-b' })])
    await node.append(app, 1)
    await node.database.transaction((tx) => node.log.store.setPayload(tx, app, 1, '{'))
    await node.append('app-b', 1)
    await node.dispatcher.start()
    await receivers.got('good', 1)
    await node.append('app-b', 2)
    await receivers.got('good', 2)
    await waitFor(() => node.failures.length > 0, { what: 'a failure is reported', ...patience })
    expect(receivers.at('broken')).toEqual([])
  })

  once?.('a database that fails for a while counts no failure of an endpoint', async () => {
    await using node = open()
    const endpoint = await node.endpoint('hook')
    await node.dispatcher.start()
    receivers.answer = () => 'refused'
    const add = vi.spyOn(node.waiting, 'add').mockRejectedValue(new Error('no database'))
    await node.append(app, 1, 2, 3)
    await waitFor(() => node.failures.length > 0, { what: 'storing fails', ...patience })
    await node.dispatcher.poll()
    add.mockRestore()
    receivers.answer = () => 'delivered'
    node.log.clock.aheadMs += 1_500
    await node.reaches(endpoint, 3)
    const stored = await node.database.read((db) => node.endpoints.find(db, endpoint))
    expect(stored?.health).toMatchObject({ failures: 0, retryAt: 0, failingSince: 0 })
    expectOrdered(receivers.at('hook'))
  })

  it('rows that are gone: events.missed comes first with their range, also after a restart in the middle', async () => {
    receivers.answer = () => new Promise(() => {})
    const clock = { aheadMs: 0 }
    const node = open({ graceMs: 100 })
    try {
      await node.endpoint('hook')
      await node.append(app, 1, 2, 3, 4, 5)
      node.log.clock.aheadMs = clock.aheadMs = 8 * dayMs
      await node.purge.run()
      await node.append(app, 1, 2)
      await node.dispatcher.start()
      await receivers.got('hook', 1)
      await node.dispatcher.poll()
    } finally {
      await node[Symbol.asyncDispose]()
    }
    await using again = open()
    again.log.clock.aheadMs = clock.aheadMs
    receivers.answer = () => 'delivered'
    await again.dispatcher.start()
    await receivers.got('hook', 3)
    expect(receivers.ids('hook')).toEqual([`evt_${app}_1_missed`, `evt_${app}_6`, `evt_${app}_7`])
    for (const missed of receivers.at('hook').slice(0, 2))
      expect(missed).toMatchObject({
        kind: 'events.missed',
        key: 'app',
        payload: { from_position: 1, to_position: 5, positions: 5 },
      })
    expect(receivers.at('hook')).toHaveLength(4)
  })

  it('old rows stay for enabled endpoints and named consumers until the longest lag, not for disabled ones', async () => {
    await using node = open()
    await node.append(app, 1, 2, 3)
    await node.append('app-b', 1)
    await node.append('app-c', 1, 2)
    await node.endpoint('enabled', { position: 1 })
    await node.endpoint('disabled', { appId: 'app-b', isEnabled: false })
    const consumer = { appId: 'app-c', name: 'reader', position: 1, place: 0 }
    await node.database.transaction((tx) =>
      node.consumers.insert(tx, { ...consumer, usedAt: 0, createdAt: 0 }),
    )
    const kept = async () => {
      await node.purge.run()
      const rows = await Promise.all(
        [app, 'app-b', 'app-c'].map((appId) =>
          node.database.read((db) => node.log.store.listAfter(db, appId, 0, 10)),
        ),
      )
      return rows.map((each) => each.map(({ position }) => position))
    }
    node.log.clock.aheadMs = 4 * dayMs
    expect(await kept()).toEqual([[2, 3], [], [2]])
    node.log.clock.aheadMs = 8 * dayMs
    expect(await kept()).toEqual([[], [], []])
  })

  if (backend.name === 'sqlite')
    it(`an idle node: a poll for ${20 * apps} endpoints of ${apps} applications makes two reads`, async () => {
      await using node = open()
      const all = Array.from({ length: 20 * apps }, (_, index) =>
        endpointOf(`hook ${index}`, { appId: `app-${index % apps}` }),
      )
      await node.addEndpoints(all)
      for (let index = 0; index < apps; index++) await node.log.append(factOf(`app-${index}`, 1))
      await node.dispatcher.start()
      await waitFor(() => receivers.arrivals.length === 20 * apps && true, {
        what: 'each endpoint gets its event',
        ...patience,
      })
      await node.dispatcher.poll()
      await node.dispatcher.poll()
      const { database } = node
      const [reads, statements, transactions] = [
        vi.spyOn(database, 'read'),
        vi.spyOn(database, 'statement'),
        vi.spyOn(database, 'transaction'),
      ]
      await node.dispatcher.poll()
      expect(reads).toHaveBeenCalledTimes(2)
      expect(statements).not.toHaveBeenCalled()
      expect(transactions).not.toHaveBeenCalled()
    })

  if (backend.name === 'postgres') {
    it('two nodes: the second takes over from a killed one; every event arrives in the order of its key', async () => {
      await using second = open({ pollMs: 50, name: 'second', isHeld: false })
      const first = open({ pollMs: 50, name: 'first' })
      await first.endpoint('hook')
      await first.dispatcher.start()
      await second.dispatcher.start()
      receivers.answer = () => new Promise((resolve) => setTimeout(() => resolve('delivered'), 5))
      await first.append(app, ...usersOf(100))
      await receivers.got('hook', 50)
      await first.kill()
      await first.shares.lose()
      second.shares.take()
      await second.append(app, ...usersOf(100))
      await receivers.got('hook', 200)
      expectOrdered(receivers.at('hook'))
      expect(new Set(receivers.arrivals.map(({ node }) => node))).toEqual(
        new Set(['first', 'second']),
      )
      await first.dispatcher.stop()
    })

    it('a node that loses its shares: sends nothing from then on', async () => {
      await using second = open({ pollMs: 50, name: 'second', isHeld: false })
      await using first = open({ pollMs: 50, name: 'first' })
      await first.endpoint('hook')
      await first.dispatcher.start()
      await second.dispatcher.start()
      await first.append(app, ...usersOf(10))
      await receivers.got('hook', 10)
      receivers.answer = () => new Promise(() => {})
      await first.append(app, ...usersOf(20))
      await waitFor(() => receivers.arrivals.length > 10 && true, {
        what: 'requests that nobody answers',
        ...patience,
      })
      await first.shares.lose()
      receivers.answer = () => 'delivered'
      const { length } = receivers.arrivals
      second.shares.take()
      await receivers.got('hook', 30)
      const later = receivers.arrivals.slice(length).map(({ node }) => node)
      expect(later.length).toBeGreaterThanOrEqual(20)
      expect(new Set(later)).toEqual(new Set(['second']))
    })

    it('a failed answer after the lease is over: makes no event wait that another node has delivered', async () => {
      await using second = open({ pollMs: 50, name: 'second', isHeld: false })
      await using first = open({ pollMs: 50, name: 'first' })
      const endpoint = await first.endpoint('hook')
      const answers: ((outcome: 'refused') => void)[] = []
      receivers.answer = () => new Promise((resolve) => answers.push(resolve))
      await first.dispatcher.start()
      await second.dispatcher.start()
      await first.append(app, 1)
      await receivers.got('hook', 1)
      first.shares.expire()
      receivers.answer = () => 'delivered'
      second.shares.take()
      await second.reaches(endpoint, 1)
      for (const answer of answers) answer('refused')
      await first.dispatcher.stop()
      expect(receivers.arrivals.map(({ node }) => node)).toEqual(['first', 'second'])
      expect(await first.database.read((db) => first.waiting.listWaiting(db, endpoint))).toEqual([])
    })

    it('a node that gives its shares back: ends its requests first, and no event is sent twice', async () => {
      await using second = open({ pollMs: 50, name: 'second', isHeld: false })
      await using first = open({ pollMs: 50, name: 'first' })
      await first.endpoint('hook')
      await first.dispatcher.start()
      await second.dispatcher.start()
      receivers.answer = () => new Promise((resolve) => setTimeout(() => resolve('delivered'), 5))
      await first.append(app, ...usersOf(100))
      await receivers.got('hook', 30)
      await first.shares.giveBack()
      second.shares.take()
      await receivers.got('hook', 100)
      expect(receivers.arrivals).toHaveLength(100)
      expect(new Set(receivers.arrivals.map(({ node }) => node)).size).toBe(2)
      expectOrdered(receivers.at('hook'))
    })
  }
})
