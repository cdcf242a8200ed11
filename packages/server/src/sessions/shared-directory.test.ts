import { beforeEach, describe, expect, it } from 'vitest'
import { SessionRegistry } from './registry.js'
import type { Session } from './session.js'
import { type KnownSession, SharedDirectory } from './shared-directory.js'

const appId = 'shop'

let registry: SessionRegistry
let directory: SharedDirectory
let told: string[]
let closed: number[]

beforeEach(() => {
  registry = new SessionRegistry()
  directory = new SharedDirectory({ registry, node: { id: 'own' } })
  told = []
  closed = []
  directory.listen({
    wentOnline: (_, userId) => told.push(`${userId} came`),
    wentOffline: (_, userId, agoMs) => told.push(`${userId} left ${agoMs} ms ago`),
  })
})

function open(userId: number, deviceSn: number, id: number): Session {
  const link = {
    ...{ isBehind: false, heardAt: 0, write() {}, ping() {} },
    close() {
      closed.push(id)
      registry.remove(session)
    },
  }
  const session: Session = {
    ...{ id, appId, userId, deviceSn, tokenHash: '', scopes: null, link },
    ...{ phase: 'live', hasMissed: false, features: new Set<never>() },
  }
  registry.add(session)
  return session
}

function row(userId: number, id: number, changes: Partial<KnownSession> = {}): KnownSession {
  const usual = { appId, userId, deviceSn: 1, id, nodeId: 'other', lease: 1, closedForMs: null }
  return { ...usual, ...changes }
}

describe('the directory of several nodes', () => {
  it('has the devices of this node and of others, each once', () => {
    open(5, 1, 10)
    open(5, 2, 11)
    directory.apply(row(5, 9))
    directory.apply(row(5, 12, { deviceSn: 3 }))
    directory.apply(row(6, 13))
    expect(directory.devicesOf(appId, 5)).toMatchObject([
      { deviceSn: 1, id: 10 },
      { deviceSn: 2, id: 11 },
      { deviceSn: 3, id: 12, nodeId: 'other' },
    ])
    expect([...directory.onlineUsers(appId)]).toEqual([5, 6])
    expect(directory.isOnline('bank', 5)).toBe(false)
  })

  it('reports users who come and go, and how long ago they left', () => {
    directory.apply(row(5, 10))
    directory.apply(row(5, 11, { deviceSn: 2 }))
    directory.apply(row(5, 10, { closedForMs: 400 }))
    directory.apply(row(5, 11, { deviceSn: 2, closedForMs: 700 }))
    expect(told).toEqual(['5 came', '5 left 700 ms ago'])
    expect([directory.isOnline(appId, 5), directory.holders]).toEqual([false, []])
  })

  it('a device that moves here or away: its user stays online', () => {
    directory.apply(row(5, 10))
    const session = open(5, 1, 11)
    directory.apply(row(5, 11, { nodeId: 'own' }))
    directory.apply(row(5, 12))
    expect(closed).toEqual([session.id])
    expect(told).toEqual(['5 came'])
    expect(directory.devicesOf(appId, 5)).toMatchObject([{ id: 12, nodeId: 'other' }])
  })

  it('rows that were read late change nothing', () => {
    directory.apply(row(5, 12))
    directory.apply(row(5, 10, { nodeId: 'third', closedForMs: 5 }))
    open(6, 1, 20)
    directory.apply(row(6, 19))
    expect(directory.devicesOf(appId, 5)).toMatchObject([{ id: 12 }])
    expect(closed).toEqual([])
  })

  it('a node with a new lease: its sessions move to it', () => {
    directory.apply(row(5, 10))
    directory.apply(row(5, 10, { lease: 2 }))
    expect(directory.holders).toEqual([{ nodeId: 'other', lease: 2, sessions: 1 }])
    expect(told).toEqual(['5 came'])
  })

  it('after a long gap only those stay that are still open', () => {
    directory.apply(row(5, 10))
    directory.apply(row(6, 11))
    directory.keepOnly([row(6, 11)])
    expect([...directory.onlineUsers(appId)]).toEqual([6])
    expect(directory.holders).toMatchObject([{ sessions: 1 }])
  })
})
