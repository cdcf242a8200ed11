import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause, setImmediate } from 'node:timers/promises'
import { AppError, openSession } from '@hermod/protocol'
import type { SessionDelivery } from '../delivery/delivery.js'
import type { Edge } from '../edge/edge.js'
import { Slots } from '../lib/concurrency/slots.js'
import { createRequestIds } from '../lib/ids/request-ids.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { bodyCost } from '../pipeline/call-cost.js'
import type { CallLimits } from '../pipeline/call-limits.js'
import { asEnvelope, type Executor } from '../pipeline/executor.js'
import type { SessionRegistry } from '../sessions/registry.js'
import type { Session } from '../sessions/session.js'
import { AccessWatch, type FindEndedAccess, type SessionsByApp } from './access-watch.js'
import { ConnectionAdmission } from './admission.js'
import { BytesByUser } from './bytes-by-user.js'
import { CallRunner, headerText } from './calls/calls.js'
import { acceptSocket } from './client-socket.js'
import { Connection, type ConnectionHost } from './connection.js'
import { successText } from './frames/answers.js'
import { dataOf, type ReceivedCall } from './frames/client-frame.js'
import { requireHandshake } from './handshake.js'
import {
  closeTimeoutMs,
  openTimeoutMs,
  maxOpenWaitMs,
  parallelOpens,
  refusedPauseMs,
  silenceMs,
  tickMs,
} from './limits.js'
import type { GatewayObserver } from './observer.js'
import { OpenRate } from './time/open-rate.js'
import { TimerWheel } from './time/timer-wheel.js'

export interface GatewayOptions {
  readonly edge: Pick<Edge, 'bodies' | 'connections' | 'origins' | 'addressOf' | 'baseUrlOf'>
  readonly executor: Executor
  readonly delivery: SessionDelivery
  readonly sessions: SessionsByApp & Pick<SessionRegistry, 'remove'>
  readonly limits: Pick<CallLimits, 'requestArrived' | 'bytesArrived'>
  readonly observer: GatewayObserver
  readonly bounds: GatewayBounds
  /** The interval of heartbeats. */
  readonly pingMs: number
  /** Milliseconds since 1970. */
  readonly clock: { now(): number }
  readonly findEndedAccess: FindEndedAccess
  /** @returns null for a token that is unknown, `expired` for one that ended or was revoked */
  findUserToken(
    appId: string,
    token: string,
  ): MaybePromise<{ readonly tokenHash: string } | 'expired' | null>
  /** Measures how fast sessions open. */
  readonly openRate?: OpenRate
  /** Reports a failure of the gateway itself. */
  onError(error: unknown): void
}

/** Bounds over all connections of the node. */
export interface GatewayBounds {
  /** WebSocket connections. */
  readonly connections: number
  readonly addressConnections: number
  /** Connections that have not sent session.open. */
  readonly unopened: number
  /** Bytes of frames whose calls wait. */
  readonly waitingBytes: number
}

/** The time in which a node that leaves closes its connections, so that 0.8 % come back in a second. */
const leavingMs = 125_000
/** Few connections are closed one in each turn. */
const leavingTurnMs = 100
/** Connections that are closed in one turn of the event loop. */
const closedPerTurn = 200

/**
 * The WebSocket transport: `GET /gateway`. It turns upgrade requests into connections, opens their
 * sessions, runs their calls through the pipeline, and keeps their time with one timer.
 */
export class Gateway implements ConnectionHost {
  readonly unread = new Set<Connection>()
  readonly unfinishedBytes = new BytesByUser()
  readonly #connections = new Set<Connection>()
  readonly #admission: ConnectionAdmission
  readonly #calls: CallRunner
  readonly #nextRequestId = createRequestIds()
  readonly #wheel: TimerWheel<Connection>
  readonly #opening = new Slots({
    parallel: parallelOpens,
    maxWaiting: Number.POSITIVE_INFINITY,
    full: () => new AppError('unavailable'),
  })
  readonly #openRate: OpenRate
  readonly #access: AccessWatch
  readonly #timer: NodeJS.Timeout
  #tickedAt = performance.now()
  #corked: Connection[] = []
  /** Connections that are not read, and until when, as performance.now(). */
  readonly #throttled = new Map<Connection, number>()
  #isStopping = false

  constructor(private readonly options: GatewayOptions) {
    const { bounds, executor, pingMs, edge } = options
    this.#openRate = options.openRate ?? new OpenRate()
    this.#access = new AccessWatch(options.sessions, options.findEndedAccess)
    this.#admission = new ConnectionAdmission(bounds, edge.connections.limit, (clients) =>
      this.#openRate.anyReturnTime(clients),
    )
    this.#calls = new CallRunner({
      executor,
      nextRequestId: this.#nextRequestId,
      maxWaitingBytes: bounds.waitingBytes,
      throttle: (connection, ms) => this.#throttle(connection, ms),
    })
    this.#wheel = new TimerWheel(Math.max(1, Math.round(pingMs / tickMs)))
    this.#timer = setInterval(() => this.#tick(), tickMs).unref()
  }

  get edge(): Pick<Edge, 'bodies' | 'connections'> {
    return this.options.edge
  }

  get observer(): GatewayObserver {
    return this.options.observer
  }

  /** The number of connections, of those without a session, and the bytes of frames whose calls wait. */
  get figures(): {
    readonly connections: number
    readonly unopened: number
    readonly waitingCallBytes: number
  } {
    return {
      connections: this.#connections.size,
      unopened: this.#admission.unopened,
      waitingCallBytes: this.#calls.waitingBytes,
    }
  }

  /**
   * Makes the socket of an upgrade request a WebSocket.
   * @param head bytes after the request
   * @throws AppError that the request is answered with
   */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { edge, limits } = this.options
    if (this.#isStopping || this.options.executor.isDraining)
      throw new AppError('unavailable', 'shutting down')
    try {
      // The client has gone or sends nothing more.
      if (!socket.readable || !socket.writable) return void socket.destroy()
      const address = edge.addressOf(request)
      limits.requestArrived(address)
      requireHandshake(request, edge.origins)
      const network = this.#admission.requireRoom(address)
      const source = { address, network, baseUrl: edge.baseUrlOf(request) }
      const connection = new Connection(this, socket, source)
      if (!edge.connections.beginLongUse(socket, connection))
        throw new AppError('unavailable', 'too many connections')
      acceptSocket(request, socket, head, connection)
      this.#connections.add(connection)
      this.#admission.add(connection)
    } catch (error) {
      if (error instanceof AppError) this.observer.refused(error.errorName)
      throw error
    }
  }

  open(connection: Connection, frame: ReceivedCall): void {
    connection.state = 'opening'
    this.#admission.opens(connection)
    this.#open(connection, frame).catch((error: unknown) => {
      this.options.onError(error)
      connection.refuse(frame.id, new AppError('internal_error'))
    })
  }

  async #open(connection: Connection, frame: ReceivedCall): Promise<void> {
    const { executor, delivery } = this.options
    const { address, baseUrl } = connection.source
    const startedAt = performance.now()
    const data = readData(frame)
    if (data instanceof AppError) return connection.refuse(frame.id, data)
    const { waiting } = this.#opening
    if (this.#openRate.waitMs(waiting) > maxOpenWaitMs)
      return connection.refuse(frame.id, this.#tooManyOpens(waiting))
    const { app_id: appId, access_token: accessToken, user_id: userId, user_agent: agent } = data
    connection.credentials = {
      appId: headerText(appId),
      accessToken: headerText(accessToken),
      userId: headerText(userId),
    }
    connection.userAgent = typeof agent === 'string' ? agent : ''
    const reply = await this.#opening.run(async () => {
      // Many opens may have waited before this one.
      if (connection.isClosing) return null
      const begunAt = performance.now()
      const opened = await executor.execute(
        openSession,
        {
          requestId: this.#nextRequestId(),
          address,
          baseUrl,
          userAgent: connection.userAgent,
          query: {},
          body(arrived) {
            arrived(frame.bytes.length)
            return data
          },
          credentials: { ...connection.credentials, groupId: headerText(frame.groupId) } as never,
        },
        asEnvelope,
        { admit() {}, context: { connection } },
      )
      if (opened.kind !== 'failure') this.#openRate.opened((performance.now() - begunAt) / 1_000)
      return opened
    })
    if (reply === null || connection.isClosing) return
    if (reply.kind === 'failure') return connection.refuse(frame.id, reply.error)
    const seconds = (performance.now() - startedAt) / 1_000
    connection.state = 'open'
    this.#wheel.add(connection)
    this.#access.add(connection)
    connection.answer(successText(frame.id, reply.encoded))
    if (connection.session) delivery.begin(connection.session)
    this.observer.opened(seconds)
    this.#calls.resume(connection)
  }

  /** Devices of a killed node come all at once; they return over the time that their opens take. */
  #tooManyOpens(waiting: number): AppError {
    const retryAfterSeconds = this.#openRate.anyReturnTime(waiting) / 1_000
    return new AppError('unavailable', 'too many sessions open at once', { retryAfterSeconds })
  }

  call(connection: Connection, frame: ReceivedCall): void {
    this.#calls.receive(connection, frame)
  }

  corked(connection: Connection): void {
    if (this.#corked.push(connection) > 1) return
    void setImmediate().then(() => {
      const corked = this.#corked
      this.#corked = []
      for (const each of corked) each.flush()
    })
  }

  countedIdle(connection: Connection, bytes: number): void {
    const tokens = bodyCost(bytes)
    if (tokens === 0 || connection.session?.tokenHash === null) return
    try {
      this.options.limits.bytesArrived(connection.source.address, tokens)
    } catch {
      this.#throttle(connection, refusedPauseMs)
    }
  }

  drained(connection: Connection): void {
    if (!this.#throttled.has(connection)) connection.resume()
    if (connection.session) this.options.delivery.drained(connection.session)
    this.#calls.resume(connection)
  }

  returnTime(): number {
    return this.#openRate.anyReturnTime(this.#connections.size)
  }

  closing(connection: Connection): void {
    const { session } = connection
    this.#admission.opens(connection)
    this.#wheel.remove(connection)
    this.#access.remove(connection)
    this.unread.delete(connection)
    this.#calls.refuseWaiting(connection)
    if (session === null) return
    this.options.sessions.remove(session)
    this.options.delivery.leave(session)
  }

  ended(connection: Connection, code: number): void {
    this.#connections.delete(connection)
    this.#admission.remove(connection)
    this.#throttled.delete(connection)
    this.unread.delete(connection)
    this.observer.closed(code)
  }

  /**
   * Takes no more connections and closes those that are open a few at a time, while the node still
   * serves: each client comes back to another node at once, and in a second only some do.
   */
  async leave(): Promise<void> {
    this.#isStopping = true
    const perTurn = Math.max(1, (this.#connections.size * leavingTurnMs) / leavingMs)
    for (let due = perTurn; this.#connections.size > 0; due = (due % 1) + perTurn) {
      const open = [...this.#connections].filter(({ state }) => state !== 'closing')
      for (const connection of open.slice(0, Math.floor(due)))
        connection.close('shutdown', 'shutdown', Math.round(Math.random() * leavingTurnMs))
      await pause(leavingTurnMs)
    }
  }

  /**
   * Closes all connections: first every client gets its close frame with a time to come back, then
   * those that do not answer are cut off.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    const returns = this.#openRate.returnTimes(this.#connections.size)
    let closed = 0
    for (const connection of [...this.#connections]) {
      connection.close('shutdown', 'shutdown', returns.next().value ?? undefined)
      if (++closed % closedPerTurn === 0) await setImmediate()
    }
    const deadline = performance.now() + closeTimeoutMs
    while (this.#connections.size > 0 && performance.now() < deadline) await pause(20)
    clearInterval(this.#timer)
    for (const { socket } of this.#connections) socket.destroy()
  }

  #throttle(connection: Connection, ms: number): void {
    connection.pause()
    const until = Math.max(this.#throttled.get(connection) ?? 0, performance.now() + ms)
    this.#throttled.set(connection, until)
  }

  #tick(): void {
    const now = performance.now()
    const ticks = Math.floor((now - this.#tickedAt) / tickMs)
    this.#tickedAt += ticks * tickMs
    for (const connection of this.#admission.unopenedSince(now - openTimeoutMs))
      connection.close('openTimeOut', `session.open has not come within ${openTimeoutMs / 1_000} s`)
    for (const [connection, until] of this.#throttled) {
      if (until > now) continue
      this.#throttled.delete(connection)
      connection.resume()
    }
    for (const connection of this.unread)
      if (!connection.countUnread()) this.unread.delete(connection)
    this.#wheel.turn(ticks, (connection) => this.#beat(connection, now))
    void this.#access.check(now)
  }

  /** The heartbeat of a connection with a session. */
  #beat(connection: Connection, now: number): void {
    const { session, refusedWith } = connection
    const { pingMs, delivery } = this.options
    if (session === null) return
    if (connection.silentMs(now) > 2 * pingMs + silenceMs)
      connection.close('noPong', 'nothing has come for two heartbeats')
    else if (this.#hasExpired(connection)) connection.close('tokenExpired', 'the token has expired')
    else if (refusedWith !== null) connection.close(refusedWith, 'the token is no longer valid')
    else {
      connection.beat(delivery.heartbeat(session))
      void this.#checkToken(connection, session)
    }
  }

  #hasExpired({ expiresAt }: Connection): boolean {
    return expiresAt !== null && expiresAt <= this.options.clock.now()
  }

  /**
   * Closes a session whose user token a later login has ended without an event. Where there is an
   * event, it names the reason and comes before the next heartbeat.
   */
  async #checkToken(connection: Connection, { appId, tokenHash }: Session): Promise<void> {
    if (tokenHash === null) return
    try {
      const found = await this.options.findUserToken(
        appId,
        connection.credentials?.accessToken ?? '',
      )
      if (found === 'expired' && this.#hasExpired(connection))
        connection.close('tokenExpired', 'the token has expired')
      else if (found === null || found === 'expired') connection.refusedWith = 'tokenRevoked'
    } catch {
      // The next heartbeat looks again.
    }
  }
}

function readData(frame: ReceivedCall): Readonly<Record<string, unknown>> | AppError {
  try {
    return dataOf(frame)
  } catch (error) {
    return error as AppError
  }
}
