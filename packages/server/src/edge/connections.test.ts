import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type ConnectionBounds, Connections } from './connections.js'

class FakeSocket extends EventEmitter {
  bytesWritten = 0
  writableLength = 0
  isDestroyed = false
  #isPaused = false

  constructor(readonly remoteAddress: string) {
    super()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
  }

  isPaused(): boolean {
    return this.#isPaused
  }

  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }
}

const wide: ConnectionBounds = {
  connections: 2,
  addressConnections: 10,
  connectionRequests: 1,
  waitingRequests: 10,
  connectionUnreadBytes: 1_000,
  unreadBytes: 10_000,
  stallMs: 1_000,
}

function setUp(bounds: Partial<ConnectionBounds> = {}) {
  const closed: string[] = []
  const connections = new Connections({
    bounds: { ...wide, ...bounds },
    descriptorLimit: Number.POSITIVE_INFINITY,
    observer: { closed: (reason) => void closed.push(reason), refused: () => {} },
    isProxy: () => false,
  })
  const open = (address = '192.0.2.1') => {
    const socket = new FakeSocket(address)
    connections.opened(socket as unknown as Socket)
    return socket
  }
  return { connections, closed, open }
}

const use = { closeAtBound() {} }

const asSocket = (socket: FakeSocket) => socket as unknown as Socket

describe('Connections at their bound', () => {
  it('close an idle connection to make room', () => {
    const { closed, open } = setUp()
    const [idle, other] = [open(), open()]
    const last = open()
    expect([idle.isDestroyed, other.isDestroyed, last.isDestroyed]).toEqual([true, false, false])
    expect(closed).toEqual(['connections'])
  })

  it('keep a connection in long use, which has no request in progress', () => {
    const { connections, open } = setUp()
    const [upgraded, idle] = [open(), open()]
    expect(connections.beginLongUse(asSocket(upgraded), use)).toBe(true)
    open()
    expect([upgraded.isDestroyed, idle.isDestroyed]).toEqual([false, true])
  })

  it('refuse a new connection, and its long use, when all others are in use', () => {
    const { connections, closed, open } = setUp()
    for (const socket of [open(), open()]) connections.beginLongUse(asSocket(socket), use)
    const surplus = open()
    expect(closed).toEqual(['connections'])
    expect(connections.count).toBe(2)
    expect(connections.beginLongUse(asSocket(surplus), use)).toBe(false)
    expect(connections.requestArrived(asSocket(surplus), () => {})).toBe(false)
    connections.destroyAll()
    expect(surplus.isDestroyed).toBe(true)
    expect(connections.count).toBe(0)
  })

  it('let the transport close a connection in long use whose client does not read', () => {
    const { connections, closed, open } = setUp()
    const socket = open()
    let closing = 0
    const use = { closeAtBound: () => void closing++ }
    expect(connections.beginLongUse(asSocket(socket), use)).toBe(true)
    connections.hold(asSocket(socket), 500)
    expect(connections.unreadBytes).toBe(500)
    connections.sweep(performance.now() + 1_900)
    expect(closing).toBe(0)
    for (let i = 0; i < 2; i++) connections.sweep(performance.now() + 2_100)
    expect([closing, closed, connections.unreadBytes]).toEqual([1, ['unread_stalled'], 0])
    expect([connections.count, socket.isDestroyed]).toEqual([1, false])
  })

  it('are busy while a request is in progress', () => {
    const { connections, open } = setUp()
    const socket = open()
    expect(connections.isBusy(asSocket(socket))).toBe(false)
    connections.requestArrived(asSocket(socket), () => {})
    expect(connections.isBusy(asSocket(socket))).toBe(true)
    connections.answered(asSocket(socket))
    expect(connections.isBusy(asSocket(socket))).toBe(false)
  })
})

describe('requests of one connection', () => {
  it('wait for the answers before them, while the connection is not read', () => {
    const { connections, open } = setUp()
    const socket = open()
    const begun: number[] = []
    for (const each of [1, 2]) connections.requestArrived(asSocket(socket), () => begun.push(each))
    expect([begun, socket.isPaused(), connections.waitingRequests]).toEqual([[1], true, 1])
    connections.answered(asSocket(socket))
    expect([begun, socket.isPaused(), connections.waitingRequests]).toEqual([[1, 2], false, 0])
  })

  it('wait while too much of the connection is unread', () => {
    const { connections, open } = setUp({ connectionRequests: 2 })
    const socket = open()
    const begun: number[] = []
    connections.requestArrived(asSocket(socket), () => begun.push(1))
    connections.hold(asSocket(socket), 1_000)
    connections.requestArrived(asSocket(socket), () => begun.push(2))
    expect(begun).toEqual([1])
    connections.release(asSocket(socket), 1_000)
    connections.answered(asSocket(socket))
    expect(begun).toEqual([1, 2])
  })
})
