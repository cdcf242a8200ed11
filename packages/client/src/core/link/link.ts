import { type Failure, badAnswer, closeNames, failureOf } from '../../errors.js'
import type { CoreContext } from '../core-context.js'
import type { ConnectionStatus } from '../live-state.js'
import { backoff, isLoggedOut } from '../outcomes.js'
import type { OpenedSession } from '../part.js'
import { type AnswerMembers, failureIn, limitOf } from './calls.js'

/** Names the client to the server. */
export interface LinkOptions {
  readonly appId: string
  /** The user that the app has named; 0: none. */
  readonly userId: number
  /** null: the session has no device. */
  readonly deviceGuid: string | null
  /** A token that the app has returned already; absent: none. */
  readonly token?: string
  readonly platform: number
  readonly userAgent: string
  /** Name and version of this package. */
  readonly sdk: string
}

/** The core, as Link sees it. */
export interface LinkHost {
  /**
   * The session is open and belongs to the user.
   * @param sentAt when session.open was sent, by the clock of the core
   */
  opened(session: OpenedSession, sentAt: number): void
  /** The session has ended. */
  closed(): void
}

/**
 * - `token`: waits for a token of the app
 * - `connecting`: waits for the handshake, then for the answer to session.open
 * - `waiting`: until the next try
 */
type Phase = 'idle' | 'token' | 'connecting' | 'open' | 'waiting' | 'ended'

/** Time limits, in milliseconds. */
const tokenLimitMs = 30_000
const openLimitMs = 15_000
const probeLimitMs = 4_000
/** The longest time that other frames put the end of a probe off. */
const maxProbeMs = 30_000
const closingLimitMs = 2_000
const silenceMs = 10_000
/** A session that lasts so long ends the back-off. */
const stableMs = 10_000
const backoffBounds = [0, 500, 30_000] as const
/** The longest wait that a server may order. */
const maxWaitMs = 300_000
/** Refused tokens in a row after which the client ends. */
const maxRefusals = 3

/** A session that is replaced so soon may have been displaced by an older one of the same device. */
const displacedMs = 5_000
/** The additions to the contract that this client knows. */
const features = ['message.updated', 'changes.skipped', 'streams']
const replaced = 4500
const tokenExpired = 4003
const invalidToken = 4505
/** The token of the session does not hold any more: kicked, revoked. */
const endOfToken = [4501, 4502]

/**
 * The connection: opens, probes and replaces it. Each connection has a number that only grows;
 * inputs of other numbers than the current one are ignored.
 */
export class Link {
  readonly #context: CoreContext
  readonly #host: LinkHost
  readonly #options: LinkOptions
  #phase: Phase = 'idle'
  #connection = 0
  #token = ''
  /** The token that the server has refused last; it is never sent again. */
  #refusedToken = ''
  #refusals = 0
  #failures = 0
  /** True after the first try of a `connect`. */
  #hasTried = false
  /** When the probe was sent that has no answer; 0: none. */
  #probedAt = 0
  #openedAt = 0
  #openSentAt = 0
  #heardAt = 0
  #pingMs = 25_000
  /** The time before which the server does not want this client back. */
  #notBefore = 0
  /** The end that `session.closing` has announced. */
  #closing: { readonly code: number; readonly reason: string } | undefined
  /** The answer to a session.open that failed. */
  #refusal: Failure | undefined
  /** True: the client has come back after a session that was replaced at once. */
  #wasDisplaced = false

  constructor(context: CoreContext, host: LinkHost, options: LinkOptions) {
    this.#context = context
    this.#host = host
    this.#options = options
    this.#token = options.token ?? ''
  }

  get isOpen(): boolean {
    return this.#phase === 'open'
  }

  /** True: a session may come without the user's help. */
  get isWanted(): boolean {
    return this.#phase !== 'idle' && this.#phase !== 'ended'
  }

  /** Tests whether an input belongs to the connection. */
  isCurrent(connection: number): boolean {
    return connection === this.#connection && (this.isOpen || this.#phase === 'connecting')
  }

  connect(): void {
    if (this.isWanted) {
      if (this.#phase === 'waiting') this.wakeup()
      return
    }
    this.#failures = 0
    this.#refusals = 0
    this.#hasTried = false
    this.#try()
  }

  disconnect(): void {
    if (this.#phase === 'token') this.#context.emit({ type: 'cancelToken' })
    this.#abandon(1000)
    this.#become('idle', { state: 'idle' })
  }

  token(token: unknown): void {
    if (this.#phase !== 'token') return
    if (typeof token !== 'string' || token === '')
      this.tokenFailed(failureOf('token_failed', 'the token is no text', true))
    else if (token === this.#refusedToken)
      this.#end(this.#refusal ?? failureOf('token_failed', 'the token was refused before'))
    else {
      this.#token = token
      this.#context.setLive({ token })
      this.#open()
    }
  }

  tokenFailed(failure: Failure): void {
    if (this.#phase !== 'token') return
    this.#context.emit({ type: 'cancelToken' })
    if (failure.retry) this.#retry(failure)
    else this.#end(failure)
  }

  /** No connection can be opened, so no later try would help. */
  impossible(failure: Failure): void {
    this.#leave()
    this.#end(failure)
  }

  /** The handshake of the connection is done. */
  handshaken(): void {
    const { appId, userId, deviceGuid, platform, userAgent, sdk } = this.#options
    const { meta } = this.#context.batch
    this.heard()
    this.#openSentAt = this.#context.now
    this.#send({
      id: 'open',
      op: 'session.open',
      data: {
        app_id: appId,
        access_token: this.#token,
        user_id: userId || meta.userId || undefined,
        device_guid: deviceGuid ?? '',
        platform,
        user_agent: userAgent,
        pos: meta.pos || undefined,
        sdk,
        features,
      },
    })
  }

  /** Any frame is a sign of life. */
  heard(): void {
    this.#heardAt = this.#context.now
  }

  /** Takes an answer whose id is text: to session.open, or to a probe. */
  answer(frame: AnswerMembers): void {
    if (frame.id === 'probe') {
      this.#probedAt = 0
      this.#watch()
    } else if (frame.id === 'open' && this.#phase === 'connecting') this.#opened(frame)
  }

  /** Takes the event `session.closing`; the close follows, or a time limit ends the connection. */
  closing(data: { readonly [member: string]: unknown }): void {
    const { code, reason, retry_after_ms: retryAfterMs } = data
    if (typeof code !== 'number') return
    const text = typeof reason === 'string' ? reason : ''
    this.#closing = { code, reason: text }
    if (typeof retryAfterMs === 'number') this.#waitFor(retryAfterMs)
    this.#limit(closingLimitMs, () => this.#replace(text))
  }

  /** The connection has ended. */
  ended(code: number, reason: string): void {
    const closing = this.#closing
    const isYoung = this.isOpen && this.#context.now - this.#openedAt < displacedMs
    this.#leave()
    // A cut connection may lose the close frame, not what was announced before.
    const end = isOurs(code) || !closing ? { code, reason } : closing
    const failure = this.#refusal ?? closeFailure(end.code, end.reason || (closing?.reason ?? ''))
    const isRefused = end.code === tokenExpired || end.code === invalidToken
    if (isRefused || endOfToken.includes(end.code)) this.#refuseToken()
    if (isRefused && this.#refusals < maxRefusals) {
      this.#refusal = failure
      if (this.#refusals === 1) this.#try()
      else this.#retry(failure)
    } else if (end.code === replaced && isYoung && !this.#wasDisplaced) {
      // A former tab or process has ended while its session.open was on the way, and it came last.
      this.#wasDisplaced = true
      this.#retry(failure)
    } else if (end.code >= 4500 && end.code <= 4999) this.#end(failure)
    else this.#retry(failure)
  }

  /** Connects anew after a time, because a frame of the server breaks the contract. */
  broken(failure: Failure): void {
    if (this.#closing) this.#replace(failure.message)
    else if (this.isOpen || this.#phase === 'connecting') {
      this.#abandon()
      this.#retry(failure)
    }
  }

  /** The machine was asleep, the network is back, or an answer is missing. */
  wakeup(): void {
    if (this.#phase === 'open') this.#probe()
    else if (this.#phase === 'waiting' && this.#context.now >= this.#notBefore) this.#try()
  }

  setSynced(isSynced: boolean): void {
    if (!this.isOpen) return
    this.#show({ state: isSynced ? 'online' : 'syncing' })
  }

  #try(): void {
    if (this.#token !== '') {
      this.#open()
      return
    }
    this.#become('token', this.#tryStatus())
    this.#context.emit({ type: 'token', isRefused: this.#refusedToken !== '' })
    this.#limit(tokenLimitMs, () =>
      this.tokenFailed(failureOf('token_failed', 'the token function does not settle', true)),
    )
  }

  #open(): void {
    this.#become('connecting', this.#tryStatus())
    this.#hasTried = true
    this.#closing = undefined
    this.#refusal = undefined
    this.#notBefore = 0
    this.#context.emit({ type: 'connect', connection: ++this.#connection })
    this.#limit(openLimitMs, () => this.#replace('no session in time'))
  }

  #opened(frame: AnswerMembers): void {
    const failure = failureIn(frame)
    if (failure) {
      // The close follows, with the code that says what to do.
      this.#refusal =
        failure.name === 'no_permission' ? failureOf('wrong_user', failure.message) : failure
      if (isLoggedOut(failure)) this.#refuseToken()
      if (failure.retryAfterMs !== undefined) this.#waitFor(failure.retryAfterMs)
      return
    }
    const session = Object(frame.data) as OpenedSession
    if (
      !Number.isSafeInteger(session.user_id) ||
      typeof session.epoch !== 'string' ||
      !session.epoch
    ) {
      this.broken(badAnswer('session.open'))
      return
    }
    const expected = this.#options.userId || this.#context.batch.meta.userId
    if (expected !== 0 && session.user_id !== expected) {
      const message = `the token is of user ${session.user_id}, not of user ${expected}`
      this.#refuseToken()
      this.#abandon(1000)
      this.#end(failureOf('wrong_user', message))
      return
    }
    this.#phase = 'open'
    this.#openedAt = this.#context.now
    this.#pingMs = limitOf(session.ping_ms, 25_000, 600_000)
    this.#refusals = 0
    this.#show({ state: 'syncing' })
    this.#watch()
    this.#host.opened(session, this.#openSentAt)
  }

  #waitFor(ms: number): void {
    this.#notBefore = this.#context.now + Math.min(ms, maxWaitMs)
  }

  #refuseToken(): void {
    if (this.#token === '') return
    this.#refusedToken = this.#token
    this.#token = ''
    this.#refusals++
  }

  #probe(): void {
    if (this.#probedAt !== 0 || this.#closing) return
    this.#probedAt = this.#context.now
    // Costs the server no query: it answers that the list is empty.
    this.#send({ id: 'probe', op: 'message.delivered', data: { conversations: [] } })
    this.#awaitProbe()
  }

  /** The answer may be behind many frames: each one gives it more time. */
  #awaitProbe(): void {
    const dueAt = () =>
      Math.min(Math.max(this.#heardAt, this.#probedAt) + probeLimitMs, this.#probedAt + maxProbeMs)
    this.#limit(dueAt() - this.#context.now, () => {
      if (this.#context.now < dueAt()) this.#awaitProbe()
      else this.#replace('no answer to a probe')
    })
  }

  /** Ends a connection on which no frame came for too long. A probe in progress decides sooner. */
  #watch(): void {
    if (this.#closing) return
    const leftMs = this.#heardAt + this.#pingMs + silenceMs - this.#context.now
    this.#limit(leftMs, () => {
      if (this.#probedAt !== 0) return
      if (this.#context.now < this.#heardAt + this.#pingMs + silenceMs) this.#watch()
      else this.#replace('no heartbeat')
    })
  }

  /** Ends the connection without waiting for its close. A session that was not to end is replaced at once. */
  #replace(reason: string): void {
    const isLost = this.isOpen && !this.#closing
    this.#context.emit({ type: 'abandon', connection: this.#connection })
    if (!isLost) this.ended(1006, reason)
    else {
      this.#leave()
      this.#try()
    }
  }

  #abandon(code?: number): void {
    if (this.isOpen || this.#phase === 'connecting')
      this.#context.emit({
        type: 'abandon',
        connection: this.#connection,
        ...(code !== undefined && { code }),
      })
    this.#leave()
  }

  /** Forgets everything about the connection. */
  #leave(): void {
    const wasOpen = this.isOpen
    if (wasOpen && this.#context.now - this.#openedAt >= stableMs) {
      this.#failures = 0
      this.#wasDisplaced = false
    }
    this.#phase = 'waiting'
    this.#probedAt = 0
    this.#closing = undefined
    this.#context.cancel('link')
    if (wasOpen) this.#host.closed()
  }

  /** Waits for the next try: full jitter below a bound that doubles, or as long as the server says. */
  #retry(failure: Failure): void {
    const waitMs = Math.ceil(this.#notBefore - this.#context.now)
    const randomMs = backoff(this.#failures++, this.#context.random, backoffBounds)
    const ms = waitMs > 0 ? waitMs : randomMs
    this.#hasTried = true
    this.#become('waiting', { state: 'offline', retryInMs: ms, failure })
    this.#limit(ms, () => {
      // A timer that fired far too late has begun a try already.
      if (this.#phase === 'waiting') this.#try()
    })
  }

  #end(end: Failure): void {
    this.#context.cancel('link')
    this.#become('ended', { state: 'ended', end })
  }

  /** Sets the time limit of the phase; there is one at a time. */
  #limit(ms: number, run: () => void): void {
    this.#context.after('link', ms, run)
  }

  #tryStatus(): ConnectionStatus {
    return { state: this.#hasTried ? 'offline' : 'connecting' }
  }

  #become(phase: Phase, status: ConnectionStatus): void {
    this.#phase = phase
    this.#show(status)
  }

  #show(connection: ConnectionStatus): void {
    const shown = this.#context.live.connection
    const isPlain = Object.keys({ ...shown, ...connection }).length === 1
    if (shown.state !== connection.state || !isPlain) this.#context.setLive({ connection })
  }

  #send(frame: object): void {
    this.send(JSON.stringify(frame))
  }

  /** Sends a text on the connection. */
  send(text: string): void {
    this.#context.emit({ type: 'send', connection: this.#connection, text })
  }
}

function isOurs(code: number): boolean {
  return code >= 4000 && code <= 4999
}

function closeFailure(code: number, reason: string): Failure {
  const message = reason || `closed with ${code}`
  if (!isOurs(code)) return failureOf('not_connected', message, true)
  const name = closeNames[code as keyof typeof closeNames] ?? (`close_${code}` as const)
  return { code, name, message, retry: code < 4500 }
}
