import { describe, expect, it } from 'vitest'
import { SessionRegistry } from './registry.js'
import type { Session } from './session.js'

let nextId = 1

/** A session that notes how it was closed. */
function aSession(of: Partial<Session> = {}): Session & { readonly closed: string[] } {
  const closed: string[] = []
  return {
    id: nextId++,
    appId: 'shop',
    userId: 1,
    deviceSn: null,
    tokenHash: null,
    scopes: null,
    phase: 'entering',
    hasMissed: false,
    features: new Set<never>(),
    ...of,
    closed,
    link: {
      write: () => {},
      isBehind: false,
      heardAt: 0,
      ping: () => {},
      close: (code, reason) => closed.push(`${code} ${reason}`),
    },
  }
}

function aRegistry() {
  const registry = new SessionRegistry()
  const seen: string[] = []
  registry.listen({
    wentOnline: (appId, userId) => seen.push(`${appId}/${userId} online`),
    wentOffline: (appId, userId) => seen.push(`${appId}/${userId} offline`),
  })
  return { registry, seen }
}

describe('registry of sessions', () => {
  it('lists the sessions of a user, a device and an app, and none after they were removed', () => {
    const { registry } = aRegistry()
    const phone = aSession({ deviceSn: 1 })
    const tablet = aSession({ deviceSn: 2 })
    const other = aSession({ userId: 2 })
    const elsewhere = aSession({ appId: 'bank' })
    for (const session of [phone, tablet, other, elsewhere]) registry.add(session)
    expect(registry.ofUser('shop', 1)).toEqual([phone, tablet])
    expect(registry.ofDevice('shop', 1, 2)).toBe(tablet)
    expect([...registry.ofApp('shop')]).toEqual([phone, tablet, other])
    expect([...registry.users('shop')]).toEqual([1, 2])
    expect([...registry.all()]).toEqual([phone, tablet, other, elsewhere])
    expect(registry.count).toBe(4)
    for (const session of [phone, tablet, other, elsewhere]) registry.remove(session)
    expect([...registry.all()]).toEqual([])
    expect(registry.count).toBe(0)
  })

  it('closes the older one of two sessions of a device, in whatever order they are added', () => {
    for (const isInOrder of [true, false]) {
      const { registry } = aRegistry()
      const first = aSession({ deviceSn: 1 })
      const second = aSession({ deviceSn: 1 })
      const added = (isInOrder ? [first, second] : [second, first]).map((each) =>
        registry.add(each),
      )
      expect(added).toEqual([true, isInOrder])
      expect(registry.ofUser('shop', 1)).toEqual([second])
      expect([first.closed, second.closed]).toEqual([['replaced replaced'], []])
      registry.remove(first)
      expect(registry.count).toBe(1)
    }
  })

  it('keeps any number of sessions without a device', () => {
    const { registry } = aRegistry()
    const tabs = [aSession(), aSession()]
    for (const tab of tabs) registry.add(tab)
    expect(registry.ofUser('shop', 1)).toEqual(tabs)
    expect(registry.isOnline('shop', 1)).toBe(false)
  })

  it('counts a session once, however often it is added or removed', () => {
    const { registry, seen } = aRegistry()
    const session = aSession({ deviceSn: 1 })
    registry.add(session)
    registry.add(session)
    expect(registry.count).toBe(1)
    registry.remove(session)
    registry.remove(session)
    expect(registry.count).toBe(0)
    expect(session.closed).toEqual([])
    expect(seen).toEqual(['shop/1 online', 'shop/1 offline'])
  })

  it('reports a user online from the first session with a device to the end of the last one', () => {
    const { registry, seen } = aRegistry()
    const tab = aSession()
    const phone = aSession({ deviceSn: 1 })
    const tablet = aSession({ deviceSn: 2 })
    const phoneAgain = aSession({ deviceSn: 1 })
    registry.add(tab)
    expect(seen).toEqual([])
    for (const session of [phone, tablet, phoneAgain]) registry.add(session)
    for (const session of [phone, tablet]) registry.remove(session)
    expect(seen).toEqual(['shop/1 online'])
    registry.remove(phoneAgain)
    expect(seen).toEqual(['shop/1 online', 'shop/1 offline'])
    expect(registry.isOnline('shop', 1)).toBe(false)
  })

  it('reports each session that leaves once, a replaced one too', () => {
    const { registry } = aRegistry()
    const left: number[] = []
    registry.listen({
      wentOnline: () => {},
      wentOffline: () => {},
      sessionClosed: ({ id }) => left.push(id),
    })
    const [first, second, tab] = [aSession({ deviceSn: 1 }), aSession({ deviceSn: 1 }), aSession()]
    for (const session of [first, second, tab]) registry.add(session)
    expect(left).toEqual([first.id])
    for (const session of [first, second, tab, tab]) registry.remove(session)
    expect(left).toEqual([first, second, tab].map(({ id }) => id))
  })

  it('lets a caller close the sessions of a user while it walks them', () => {
    const { registry } = aRegistry()
    for (const deviceSn of [1, 2, 3]) registry.add(aSession({ deviceSn }))
    let closed = 0
    for (const session of registry.ofUser('shop', 1)) {
      registry.remove(session)
      closed++
    }
    expect(closed).toBe(3)
    expect([...registry.ofApp('shop')]).toEqual([])
  })
})
