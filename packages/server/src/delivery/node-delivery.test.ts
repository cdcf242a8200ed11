import { describe, expect, it } from 'vitest'
import { MemoryBus } from '../bus/memory-bus.js'
import { SessionRegistry } from '../sessions/registry.js'
import type { Session } from '../sessions/session.js'
import { NodeDelivery, type NodeDeliveryOptions } from './node-delivery.js'

interface FakeSession extends Session {
  readonly closed: string[]
  readonly written: unknown[]
  isBehind: boolean
}

/** Delivery over an empty outbox. */
function setUp() {
  const bus = new MemoryBus()
  const sessions = new SessionRegistry()
  const disabled = new Set<string>()
  let epochListener = (_: string) => {}
  const epoch = {
    current: 'e1',
    subscribe(listener: (epoch: string) => void) {
      epochListener = listener
      return () => {}
    },
  }
  const options = {
    ...{ bus, sessions, epoch },
    database: { read: (work: (db: null) => unknown) => work(null) },
    outbox: { head: () => 0, listAfter: () => [] },
    messages: {},
    readers: { load: async () => ({ memberships: [], broadcastsAfter: 0, barredAs: null }) },
    observer: { began() {}, reached() {}, missed() {}, fannedOut() {}, skipped() {}, failed() {} },
    now: () => 0,
    isRevoked: async () => false,
    isActive: async (appId: string) => !disabled.has(appId),
  }
  const delivery = new NodeDelivery(options as unknown as NodeDeliveryOptions)
  delivery.start()
  let lastId = 0
  function aSession(appId = 'shop', userId = 1): FakeSession {
    const session: FakeSession = {
      ...{ id: ++lastId, appId, userId, deviceSn: null, tokenHash: `t${lastId}`, scopes: null },
      ...{
        phase: 'entering' as const,
        hasMissed: false,
        features: new Set<never>(),
        isBehind: false,
      },
      ...{ closed: [], written: [] },
      link: {
        write: (frame) => session.written.push(JSON.parse(frame.subarray(2).toString())),
        get isBehind() {
          return session.isBehind
        },
        heardAt: 0,
        ping() {},
        close(code, reason) {
          session.closed.push(`${code} ${reason}`)
          sessions.remove(session)
          delivery.leave(session)
        },
      },
    } as FakeSession
    sessions.add(session)
    return session
  }
  return {
    ...{ bus, delivery, disabled, aSession },
    changeEpoch(to: string) {
      epoch.current = to
      epochListener(to)
    },
    async open(session: FakeSession, pos: string | null = null) {
      const state = await delivery.enter(session, pos)
      delivery.begin(session)
      return state
    },
  }
}

const read = (frame: Buffer) => JSON.parse(frame.subarray(2).toString())
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('delivery of a node', () => {
  it('the heartbeat is the watermark for live sessions, and an empty frame for others', async () => {
    const { delivery, aSession, open } = setUp()
    const session = aSession()
    const other = aSession()
    expect(read(delivery.heartbeat(session))).toEqual({})
    await open(session)
    await open(other)
    expect(read(delivery.heartbeat(session))).toEqual({ pos: 'e1.0.0' })
    expect(delivery.heartbeat(session)).toBe(delivery.heartbeat(other))
    session.phase = 'behind'
    expect(read(delivery.heartbeat(session))).toEqual({})
    other.hasMissed = true
    expect(read(delivery.heartbeat(other))).toEqual({})
  })

  it('wants events of the apps with sessions, and holds recent rows for these only', async () => {
    const { delivery, aSession, open } = setUp()
    expect([delivery.wants('shop'), delivery.recentRows('shop')]).toEqual([false, null])
    await open(aSession())
    expect([delivery.wants('shop'), delivery.recentRows('shop')?.newest]).toEqual([true, 0])
    expect(delivery.wants('bank')).toBe(false)
  })

  it('closes all sessions when the database has another epoch, and answers reset to the old one', async () => {
    const { changeEpoch, aSession, open } = setUp()
    const session = aSession()
    expect(await open(session, 'e1.0.0')).toEqual({ sync: 'current', pos: 'e1.0.0' })
    changeEpoch('e2')
    await turn()
    expect(session.closed).toEqual(['epochChanged epoch_changed'])
    expect(await open(aSession(), 'e1.0.0')).toEqual({ sync: 'reset', pos: null })
    expect(await open(aSession(), 'e2.0.0')).toEqual({ sync: 'current', pos: 'e2.0.0' })
  })

  it('gives no pos of the new epoch to a session that waits for its end', async () => {
    const { changeEpoch, delivery, aSession, open } = setUp()
    const sessions = Array.from({ length: 150 }, () => aSession())
    for (const session of sessions) await open(session)
    changeEpoch('e2')
    const next = aSession('shop', 2)
    await open(next)
    const frames = [...sessions, next].map((session) => read(delivery.heartbeat(session)).pos)
    expect(new Set(frames)).toEqual(new Set([undefined, 'e2.0.0']))
    expect(frames.indexOf('e2.0.0')).toBe(150)
  })

  it('closes the sessions of an app that was disabled, and of no other', async () => {
    const { bus, disabled, aSession, open } = setUp()
    const [session, other] = [aSession(), aSession('bank')]
    await open(session)
    await open(other)
    bus.publish('cache.invalidated', { cache: 'apps', key: 'bank' })
    await turn()
    expect([session.closed, other.closed]).toEqual([[], []])
    disabled.add('shop')
    bus.publish('cache.invalidated', { cache: 'apps', key: 'shop' })
    await turn()
    expect([session.closed, other.closed]).toEqual([
      ['unknownApplication application_disabled'],
      [],
    ])
  })

  it('refuses a session that enters after its app was disabled, until the app is enabled', async () => {
    const { bus, disabled, aSession, open } = setUp()
    const change = async () => {
      bus.publish('cache.invalidated', { cache: 'apps', key: 'shop' })
      await turn()
    }
    disabled.add('shop')
    await change()
    await expect(open(aSession())).rejects.toMatchObject({ errorName: 'app_inactive' })
    disabled.delete('shop')
    await change()
    expect(await open(aSession())).toMatchObject({ sync: 'needed' })
  })

  it('sends transient events to live sessions, and drops them for those that are behind', async () => {
    const { delivery, aSession, open } = setUp()
    const [live, behind, entering] = [aSession(), aSession(), aSession()]
    await open(live)
    await open(behind)
    behind.isBehind = true
    const conversation = { low_id: 1, high_id: 2, is_group: false }
    const event = {
      kind: 'typing',
      data: { conversation, user_id: 2, state: 'typing' },
    } as const
    delivery.toUsers('shop', [1], event)
    expect([live, behind, entering].map(({ written }) => written.length)).toEqual([1, 0, 0])
    expect(live.written).toEqual([{ event: 'typing', data: event.data }])
    expect(delivery.toSession(behind, event)).toBe(false)
    expect([behind.phase, behind.hasMissed]).toEqual(['live', false])
  })

  it('forgets a session that leaves while it enters', async () => {
    const { delivery, aSession } = setUp()
    const session = aSession()
    const entering = delivery.enter(session, null)
    delivery.leave(session)
    expect(await entering).toEqual({ sync: 'needed', pos: null })
    delivery.begin(session)
    expect(session.phase).toBe('ended')
  })
})
