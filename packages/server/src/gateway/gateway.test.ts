import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { Edge } from '../edge/edge.js'
import type { Executor } from '../pipeline/executor.js'
import { textFrame } from '../sessions/frames.js'
import type { ClientConnection, Session } from '../sessions/session.js'
import { Gateway, type GatewayBounds } from './gateway.js'

const wide = { connections: 1_000, addressConnections: 1_000, unopened: 1_000 }
const heartbeat = textFrame('{"pos":"here"}')
const success = '{"code":200,"data":true,"message":null}'

/** More than the buffers of the system take. */
const largeAnswer = `{"code":200,"data":"${'x'.repeat(16_000_000)}","message":null}`

interface Frame {
  readonly id?: number
  readonly code?: number
  readonly event?: string
  readonly data?: { readonly code: number; readonly retry_after_ms?: number }
  readonly pos?: string
  readonly retry_after_ms?: number
  readonly retry?: boolean
}

/** A gateway on a bare server, whose calls end when the test says so. */
class World {
  now = 0
  expiresAt: number | null = null
  /** null: sessions have user tokens. */
  adminToken: 'valid' | 'expired' | null = null
  /** The answers of calls that are in progress. */
  readonly running: ((answer: string | AppError) => void)[] = []
  readonly sessions: Session[] = []
  readonly left: Session[] = []
  readonly drained: Session[] = []
  readonly closed: number[] = []
  readonly clients: WebSocket[] = []
  readonly server: Server
  readonly gateway: Gateway

  readonly #edge: Edge

  get bodyBytes(): number {
    return this.#edge.bodies.bytes
  }

  constructor(bounds: Partial<GatewayBounds> = {}, connections = 1_000) {
    const edge = new Edge({
      bounds: {
        connections,
        addressConnections: 1_000,
        connectionRequests: 16,
        waitingRequests: 100,
        connectionUnreadBytes: 1_000_000,
        unreadBytes: 100_000_000,
        bodyBytes: 100_000_000,
        stallMs: 15_000,
      },
      observer: { closed() {}, refused() {} },
      trustProxy: false,
      publicUrl: null,
      origins: '*',
    })
    this.#edge = edge
    this.gateway = new Gateway({
      edge,
      executor: this as unknown as Executor,
      delivery: {
        enter: async () => ({ sync: 'needed', pos: null }),
        begin() {},
        drained: (session) => void this.drained.push(session),
        leave: (session) => void this.left.push(session),
        heartbeat: () => heartbeat,
      },
      sessions: { remove() {} },
      limits: { requestArrived() {} },
      observer: {
        received() {},
        refused() {},
        opened() {},
        closed: (code) => void this.closed.push(code),
      },
      bounds: { ...wide, waitingBytes: 1_000_000, ...bounds },
      pingMs: 25_000,
      clock: { now: () => this.now },
      findAdminToken: async () => this.adminToken,
      onError: (error) => {
        throw error
      },
    })
    this.server = createServer()
    edge.accept(this.server, () => {})
    this.server.on('upgrade', (request, socket: Socket, head) => {
      try {
        this.gateway.upgrade(request, socket, head)
      } catch (error) {
        socket.end(`HTTP/1.1 ${(error as AppError).entry.http} x\r\ncontent-length: 0\r\n\r\n`)
      }
    })
  }

  readonly isDraining = false

  /** As the executor does. */
  async execute(
    { id }: { readonly id: string },
    _: unknown,
    _write: unknown,
    extension?: { readonly context: { readonly connection: ClientConnection } },
  ) {
    if (id === 'session.open' && extension) {
      const { connection } = extension.context
      const session: Session = {
        ...{ id: this.sessions.length, appId: 'home', userId: 1, deviceSn: null },
        tokenHash: this.adminToken === null ? 'hash' : null,
        link: connection,
        phase: 'entering',
        hasMissed: false,
      }
      connection.bind(session, this.expiresAt)
      this.sessions.push(session)
      return { kind: 'payload', encoded: success }
    }
    const answer = await new Promise<string | AppError>((resolve) => this.running.push(resolve))
    return typeof answer === 'string'
      ? { kind: 'payload', encoded: answer }
      : { kind: 'failure', error: answer }
  }

  async listen(): Promise<this> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    return this
  }

  /** Connects, without a session. @returns null for a handshake that is refused with this status */
  async connect(options: ClientOptions = {}): Promise<Client | number> {
    const { port } = this.server.address() as AddressInfo
    const websocket = new WebSocket(`ws://127.0.0.1:${port}/gateway`, 'hermod.v1.json', options)
    this.clients.push(websocket)
    const client = new Client(websocket)
    return new Promise((resolve, reject) => {
      websocket.on('open', () => resolve(client))
      websocket.on('unexpected-response', (request, { statusCode = 0 }) => {
        request.destroy()
        resolve(statusCode)
      })
      websocket.on('error', reject)
    })
  }

  async open(options: ClientOptions = {}): Promise<Client> {
    const client = await this.connect(options)
    if (typeof client === 'number') throw new Error(`refused with ${client}`)
    client.call(0, 'session.open')
    await client.until(() => client.frames.length > 0)
    client.frames.length = 0
    return client
  }

  /** Lets time pass, in ticks of the gateway. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 250) {
      vi.advanceTimersByTime(Math.min(left, 250))
      await turn()
    }
    await turns()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) client.terminate()
    await this.gateway.stop()
    this.server.close()
    this.server.closeAllConnections()
  }
}

class Client {
  readonly frames: Frame[] = []
  pings = 0
  closeCode: number | null = null

  constructor(readonly websocket: WebSocket) {
    websocket.on('message', (data) => this.frames.push(JSON.parse(String(data))))
    websocket.on('ping', () => this.pings++)
    websocket.on('close', (code) => {
      this.closeCode = code
    })
  }

  call(id: number, op = 'user.device.list', data = {}): void {
    this.websocket.send(JSON.stringify({ id, op, data }))
  }

  get closing(): Frame | undefined {
    return this.frames.find(({ event }) => event === 'session.closing')
  }

  async until(isDone: () => boolean): Promise<void> {
    for (let i = 0; i < 2_000 && !isDone(); i++) await turn()
    expect(isDone(), 'the expected state').toBe(true)
  }

  closedWith(code: number): Promise<void> {
    return this.until(() => this.closeCode === code)
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await turn()
}

let world: World

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
})

afterEach(async () => {
  vi.useRealTimers()
  await world[Symbol.asyncDispose]()
})

describe('the time of connections', () => {
  it('has a ping and the frame of delivery once in an interval, spread over it', async () => {
    world = await new World().listen()
    const clients: Client[] = []
    for (let i = 0; i < 20; i++) clients.push(await world.open())
    await world.pass(12_500)
    const early = clients.filter(({ pings }) => pings === 1).length
    expect(early).toBeGreaterThan(5)
    expect(early).toBeLessThan(15)
    await world.pass(12_500)
    expect(clients.map(({ pings }) => pings)).toEqual(clients.map(() => 1))
    expect(clients.map(({ frames }) => frames)).toEqual(clients.map(() => [{ pos: 'here' }]))
  })

  it('closes a connection without session.open after 5 s', async () => {
    world = await new World().listen()
    const client = (await world.connect()) as Client
    await world.pass(4_750)
    expect(client.frames).toEqual([])
    await world.pass(500)
    await client.closedWith(4508)
    expect(world.left).toEqual([])
  })

  it('closes a session from which no byte has come for two intervals and 10 s', async () => {
    world = await new World().listen()
    const silent = await world.open({ autoPong: false })
    const answering = await world.open()
    await world.pass(60_000)
    expect(silent.closeCode).toBe(null)
    await world.pass(25_250)
    await silent.closedWith(4002)
    expect(answering.closeCode).toBe(null)
    expect(world.left).toHaveLength(1)
  })

  it('closes a session whose token has expired', async () => {
    world = await new World().listen()
    world.expiresAt = 1_000
    const client = await world.open()
    world.now = 999
    await world.pass(25_000)
    expect(client.closeCode).toBe(null)
    world.now = 1_000
    await world.pass(25_250)
    await client.closedWith(4003)
    expect(client.closing?.data).toMatchObject({ code: 4003 })
  })

  it('closes a session whose token was refused in a call, after the answer', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.call(1)
    await client.until(() => world.running.length === 1)
    world.running[0]?.(new AppError('token_expired'))
    await client.until(() => client.frames.length === 1)
    expect(client.frames[0]).toMatchObject({ id: 1, code: 402, retry: false })
    await world.pass(25_250)
    await client.closedWith(4502)
  })

  it('closes a session whose Admin token has ended', async () => {
    world = await new World().listen()
    world.adminToken = 'valid'
    const client = await world.open()
    await world.pass(25_250)
    expect([client.pings, client.closeCode]).toEqual([1, null])
    world.adminToken = 'expired'
    await world.pass(25_250)
    await client.closedWith(4502)
  })

  it('closes a session that takes no byte of its answers', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.websocket.pause()
    client.call(1)
    await client.until(() => world.running.length === 1)
    world.running[0]?.(largeAnswer)
    // Twice 15 s, and a second for each 64 KiB.
    await world.pass(30_000 + 16_000_000 / 65.536)
    expect(world.left).toEqual([])
    await world.pass(10_000)
    expect(world.left).toHaveLength(1)
    client.websocket.resume()
    await client.closedWith(4001)
  })

  it('closes a frame that stops in the middle', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.websocket.send(`{"id":1,"data":"${'x'.repeat(200_000)}`, { fin: false })
    await client.until(() => world.bodyBytes > 200_000)
    // The pong of a heartbeat may be the last byte.
    await world.pass(41_000)
    await client.closedWith(4002)
    expect(world.bodyBytes).toBe(0)
  })
})

describe('calls of a connection', () => {
  it('run 16 at once, 64 wait, and further ones are answered 42900 and not run', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 82; id++) client.call(id)
    await client.until(() => client.frames.length > 0)
    expect(world.running).toHaveLength(16)
    const refused = client.frames.map(({ id, code, retry, retry_after_ms }) => [
      ...[id, code, retry, retry_after_ms],
    ])
    expect(refused).toEqual([
      [81, 42900, true, 1_000],
      [82, 42900, true, 1_000],
    ])
    for (let i = 0; i < 80; i++) {
      await client.until(() => world.running.length > i)
      world.running[i]?.(success)
    }
    await client.until(() => client.frames.length === 82)
    expect(world.running).toHaveLength(80)
    expect(new Set(client.frames.map(({ id }) => id)).size).toBe(82)
  })

  it('are read again after a refused one, with the next tick', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 81; id++) client.call(id)
    await client.until(() => client.frames.length > 0)
    for (let i = 0; i < 80; i++) {
      await client.until(() => world.running.length > i)
      world.running[i]?.(success)
    }
    client.call(100)
    await turns()
    expect(world.running).toHaveLength(80)
    await world.pass(250)
    await client.until(() => world.running.length === 81)
  })

  it('do not begin while more than 64 KiB of answers are unread', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.websocket.pause()
    client.call(1)
    await client.until(() => world.running.length === 1)
    world.running[0]?.(largeAnswer)
    await turns()
    client.call(2)
    await turns()
    await world.pass(500)
    expect(world.running).toHaveLength(1)
    client.websocket.resume()
    await client.until(() => client.frames.length === 1)
    await world.pass(500)
    await client.until(() => world.running.length === 2)
    expect(world.drained.length).toBeGreaterThan(0)
  })

  it('begin when answers of one turn were larger than what a client may leave unread', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 20; id++) client.call(id)
    await client.until(() => world.running.length === 16)
    const answer = `{"code":200,"data":"${'x'.repeat(10_000)}","message":null}`
    for (const end of world.running) end(answer)
    await client.until(() => world.running.length === 20)
  })

  it('that wait when the connection closes are answered that they have not run', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 18; id++) client.call(id)
    await client.until(() => world.running.length === 16)
    world.sessions[0]?.link.close('kicked', 'kicked')
    await client.closedWith(4501)
    expect(client.frames).toMatchObject([
      { id: 17, code: 50300, retry: true },
      { id: 18, code: 50300, retry: true },
      { event: 'session.closing' },
    ])
  })

  it('end with the connection: those that wait are not run', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 20; id++) client.call(id)
    await client.until(() => world.running.length === 16)
    client.websocket.terminate()
    await client.until(() => world.left.length === 1)
    world.running[0]?.(success)
    await turns()
    expect(world.running).toHaveLength(16)
    expect(world.closed).toEqual([1006])
  })
})

describe('floods', () => {
  it.each(['pings', 'pongs', 'empty objects', 'unknown operations'])(
    'of %s close the connection with 4004',
    async (kind) => {
      world = await new World().listen()
      const client = await world.open()
      const sends: Record<string, () => void> = {
        pings: () => client.websocket.ping('x'),
        pongs: () => client.websocket.pong('x'),
        'empty objects': () => client.websocket.send('{}'),
        'unknown operations': () => client.call(1, 'user.nothing'),
      }
      for (let i = 0; i < 100; i++) sends[kind]?.()
      await turns()
      expect(client.closeCode).toBe(null)
      sends[kind]?.()
      await client.closedWith(4004)
    },
  )

  it('count anew after 10 s', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 90; i++) client.websocket.send('{}')
      client.call(round)
      await client.until(() => world.running.length === round + 1)
      await world.pass(10_250)
    }
    expect(client.closeCode).toBe(null)
  })
})

describe('bounds', () => {
  it('of an address refuse with 429, and of all connections with 503', async () => {
    world = await new World({ addressConnections: 2 }).listen()
    await world.open()
    const second = await world.open()
    expect(await world.connect()).toBe(429)
    second.websocket.close()
    await second.until(() => world.closed.length === 1)
    await world.open()
    await world[Symbol.asyncDispose]()
    world = await new World({ connections: 1 }).listen()
    await world.open()
    expect(await world.connect()).toBe(503)
  })

  it('leave a tenth of the connections to requests', async () => {
    world = await new World({}, 20).listen()
    for (let i = 0; i < 18; i++) await world.open()
    expect(await world.connect()).toBe(503)
  })

  it('of connections without session.open: an address that has fewer takes a place at once', async () => {
    world = await new World({ unopened: 4 }).listen()
    const many: Client[] = []
    for (let i = 0; i < 4; i++) many.push((await world.connect()) as Client)
    expect(await world.connect()).toBe(503)
    await world.connect({ localAddress: '127.0.0.9' })
    await many[0]?.closedWith(4508)
    expect(many.map(({ closeCode }) => closeCode)).toEqual([4508, null, null, null])
  })

  it('of connections without session.open: the oldest gives way after a second', async () => {
    world = await new World({ unopened: 2 }).listen()
    const oldest = (await world.connect()) as Client
    await world.connect()
    expect(await world.connect()).toBe(503)
    await world.pass(1_250)
    const later = (await world.connect()) as Client
    await oldest.closedWith(4508)
    later.call(0, 'session.open')
    await later.until(() => later.frames.length === 1)
  })
})

describe('a stop', () => {
  it('gives every connection its own time to come back, and cuts those that do not answer', async () => {
    world = await new World().listen()
    const clients: Client[] = []
    for (let i = 0; i < 10; i++) clients.push(await world.open())
    const deaf = await world.open()
    deaf.websocket.pause()
    vi.useRealTimers()
    const startedAt = performance.now()
    await world.gateway.stop()
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    for (const client of clients) await client.closedWith(4000)
    const times = clients.map(({ closing }) => closing?.data?.retry_after_ms ?? 0)
    expect(new Set(times).size).toBe(10)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(1_000)
    expect(world.left).toHaveLength(11)
    await deaf.until(() => world.closed.length === 11)
    expect(await world.connect()).toBe(503)
  })
})
