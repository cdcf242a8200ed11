import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import { expect, vi } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { Edge } from '../../../dist/edge/edge.js'
import { Gateway, type GatewayBounds } from '../../../dist/gateway/gateway.js'
import { OpenRate } from '../../../dist/gateway/time/open-rate.js'
import type { Executor } from '../../../dist/pipeline/executor.js'
import { textFrame } from '../../../dist/sessions/frames.js'
import type { ClientConnection, Session } from '../../../dist/sessions/session.js'
import { RawGateway } from './raw-gateway.js'

const wide = { connections: 1_000, addressConnections: 1_000, unopened: 1_000 }
const heartbeat = textFrame('{"pos":"here"}')
export const success = '{"code":200,"data":true,"message":null}'

/** More than the buffers of the system take. */
export const largeAnswer = `{"code":200,"data":"${'x'.repeat(16_000_000)}","message":null}`

export interface Frame {
  readonly id?: number
  readonly code?: number
  readonly event?: string
  readonly data?: { readonly code: number; readonly retry_after_ms?: number }
  readonly pos?: string
  readonly retry_after_ms?: number
  readonly retry?: boolean
}

/** A gateway on a bare server, whose calls end when the test says so. */
export class World {
  now = 0
  readonly openRate = new OpenRate()
  /** With which session.open is refused. */
  refusal: AppError | null = null
  /** Opens that wait for the test; null: they succeed at once. */
  heldOpens: (() => void)[] | null = null
  expiresAt: number | null = null
  /** null: sessions have user tokens. */
  adminToken: 'valid' | 'expired' | 'revoked' | 'narrowed' | null = null
  isAppDisabled = false
  isAddressInDebt = false
  /** Tokens that an address has paid for frames without a call. */
  readonly paid: number[] = []
  userToken: { readonly tokenHash: string } | 'expired' | null = { tokenHash: 'hash' }
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
        groupCount: () => 0,
        enter: async () => ({ sync: 'needed', pos: null }),
        begin() {},
        drained: (session) => void this.drained.push(session),
        leave: (session) => void this.left.push(session),
        heartbeat: () => heartbeat,
      },
      sessions: {
        remove() {},
        appIds: ['home'],
        ofApp: () => this.sessions.values(),
      },
      limits: {
        requestArrived() {},
        bytesArrived: (_, tokens) => {
          if (this.isAddressInDebt) throw new AppError('address_limited')
          this.paid.push(tokens)
        },
      },
      observer: {
        received() {},
        refused() {},
        opened() {},
        closed: (code) => void this.closed.push(code),
      },
      bounds: { ...wide, waitingBytes: 1_000_000, ...bounds },
      pingMs: 25_000,
      clock: { now: () => this.now },
      findEndedAccess: async ({ adminTokens }) => ({
        apps: new Set(this.isAppDisabled ? ['home'] : []),
        adminTokens: new Map(adminTokens.flatMap((token) => this.#endingOf(token))),
      }),
      findUserToken: () => this.userToken,
      openRate: this.openRate,
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

  /** All sessions of Admin tokens share one. */
  #endingOf(token: string): (readonly [string, 'expired' | 'revoked' | ReadonlySet<string>])[] {
    const { adminToken } = this
    if (adminToken === null || adminToken === 'valid') return []
    return [[token, adminToken === 'narrowed' ? new Set(['messages:read']) : adminToken]]
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
      if (this.refusal) return { kind: 'failure', error: this.refusal }
      const { connection } = extension.context
      await new Promise<void>((resolve) => {
        if (this.heldOpens) this.heldOpens.push(resolve)
        else resolve()
      })
      const session: Session = {
        ...{ id: this.sessions.length, appId: 'home', userId: 1, deviceSn: null },
        tokenHash: this.adminToken === null ? 'hash' : null,
        scopes: null,
        link: connection,
        phase: 'entering',
        hasMissed: false,
        features: new Set<never>(),
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

  /** Opens a session with a client that writes bytes. */
  async rawSession(): Promise<RawGateway> {
    const { port } = this.server.address() as AddressInfo
    const raw = await RawGateway.upgraded(`http://127.0.0.1:${port}`)
    raw.call(0, 'session.open', { app_id: 'home', access_token: 'token' })
    await raw.answer()
    return raw
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
    client.call(0, 'session.open', { app_id: 'home', access_token: 'token' })
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

export class Client {
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

  until(isDone: () => boolean): Promise<void> {
    return until(isDone)
  }

  closedWith(code: number): Promise<void> {
    return this.until(() => this.closeCode === code)
  }
}

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

export async function until(isDone: () => boolean): Promise<void> {
  for (let i = 0; i < 2_000 && !isDone(); i++) await turn()
  expect(isDone(), 'the expected state').toBe(true)
}

export async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await turn()
}
