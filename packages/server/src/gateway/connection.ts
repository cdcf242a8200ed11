import type { Socket } from 'node:net'
import { AppError, type CloseName, closeCodes } from '@hermod/protocol'
import type { Edge } from '../edge/edge.js'
import { closeFrame, pingFrame, pongFrame, textFrame } from '../sessions/frames.js'
import type { ClientConnection, Session } from '../sessions/session.js'
import type { BytesByUser } from './bytes-by-user.js'
import type { PendingCalls } from './calls/pending-calls.js'
import type { SocketEvents } from './client-socket.js'
import { ConnectionCounts } from './connection-counts.js'
import {
  closeOfRefusal,
  closeReason,
  closingText,
  failureText,
  retryAfterMsOf,
} from './frames/answers.js'
import { type ReceivedCall, readFrame } from './frames/client-frame.js'
import { closedWithoutCode, type FrameEvents, FrameReader } from './frames/frame-reader.js'
import { closeTimeoutMs, maxUnreadBytes, refusedShare } from './limits.js'
import type { GatewayObserver } from './observer.js'
import type { WheelEntry } from './time/timer-wheel.js'

/** The credentials of session.open, with which every call is checked again. */
export interface ConnectionCredentials {
  readonly appId: string | undefined
  readonly accessToken: string | undefined
  readonly userId: string | undefined
}

/** The client as its upgrade request describes it. */
export interface ConnectionSource {
  readonly address: string
  /** The unit that limits by address count. */
  readonly network: string
  readonly baseUrl: string
}

/** `waiting`: for session.open; `opening`: it is in progress. */
export type ConnectionState = 'waiting' | 'opening' | 'open' | 'closing'

const endedWithoutClose = 1006

/** The parts that all connections share; the gateway implements it. */
export interface ConnectionHost {
  readonly edge: Pick<Edge, 'bodies' | 'connections'>
  readonly observer: GatewayObserver
  /** Connections with bytes that the client has not read. */
  readonly unread: Set<Connection>
  /** The memory of unfinished messages. */
  readonly unfinishedBytes: BytesByUser
  /** Opens the session. */
  open(connection: Connection, frame: ReceivedCall): void
  /** Runs a call. */
  call(connection: Connection, frame: ReceivedCall): void
  /** A frame of so many bytes has run no call. */
  countedIdle(connection: Connection, bytes: number): void
  /** The connection is corked: it is flushed at the end of the turn. */
  corked(connection: Connection): void
  /** Milliseconds after which a client reconnects when all connections are closed at once. */
  returnTime(): number
  /** The client has read what was unread. */
  drained(connection: Connection): void
  /** The connection closes: calls that have not begun are answered, as far as it still sends. */
  closing(connection: Connection): void
  ended(connection: Connection, code: number): void
}

/**
 * One WebSocket: its state, its frames and its bytes. An idle one holds no timer, no closure and no
 * promise, so many of them are cheap.
 */
export class Connection implements ClientConnection, SocketEvents, FrameEvents, WheelEntry {
  state: ConnectionState = 'waiting'
  session: Session | null = null
  credentials: ConnectionCredentials | null = null
  userAgent = ''
  /** null while no call is in progress. */
  calls: PendingCalls | null = null
  wheelSlot = 0
  heardAt: number
  /** When the connection was made, as performance.now(). */
  readonly connectedAt: number
  /** When the token ends, milliseconds since 1970; null: not known. */
  expiresAt: number | null = null
  /** The close code of credentials that were refused in a call; the next heartbeat closes with it. */
  refusedWith: CloseName | null = null
  /**
   * The code that is counted when the connection ends: that of the first close frame; 1006 without
   * one, and after a violation of RFC 6455 by the client.
   */
  #closeCode = endedWithoutClose
  #closeTimer: NodeJS.Timeout | undefined
  /** null: the last bytes ended together with a message. */
  #reader: FrameReader | null = null
  /** The socket's writes wait for the end of the turn. */
  #isCorked = false
  #isPaused = false
  #resumedAt = 0
  readonly #counts = new ConnectionCounts(this)

  constructor(
    readonly host: ConnectionHost,
    readonly socket: Socket,
    readonly source: ConnectionSource,
  ) {
    this.connectedAt = performance.now()
    this.heardAt = this.connectedAt
  }

  get isClosing(): boolean {
    return this.state === 'closing'
  }

  get isBehind(): boolean {
    return this.socket.writableLength > maxUnreadBytes
  }

  /** The time for which nothing has come while the gateway was reading. @param now as performance.now() */
  silentMs(now: number): number {
    return this.#isPaused ? 0 : now - Math.max(this.heardAt, this.#resumedAt)
  }

  write(frames: Buffer): void {
    if (this.state === 'closing') return
    this.socket.write(frames)
    if (!this.#isCorked && this.socket.writableLength > 0) this.host.unread.add(this)
  }

  /** Writes an answer; all answers of a turn go out in one write. */
  answer(text: string): void {
    this.#cork()
    this.write(textFrame(text))
  }

  /** @param retryAfterMs default: the time of the error */
  fail(id: string, error: AppError, retryAfterMs = retryAfterMsOf(error)): void {
    this.host.observer.refused(error.errorName)
    this.answer(failureText(id, error, retryAfterMs))
  }

  ping(): void {
    this.write(pingFrame)
  }

  /** Writes a ping and a frame together. */
  beat(frame: Buffer): void {
    this.#cork()
    this.write(pingFrame)
    this.write(frame)
  }

  /** Sends what {@link answer} has kept. */
  flush(): void {
    this.#isCorked = false
    this.socket.uncork()
    if (this.socket.writableLength > 0) this.host.unread.add(this)
    // The corked bytes may have made the connection look behind.
    else if (this.state === 'open') this.host.drained(this)
  }

  bind(session: Session, expiresAt: number | null): void {
    if (this.state === 'closing') throw new AppError('unavailable', 'the connection is closed')
    this.session = session
    this.expiresAt = expiresAt
  }

  heard(chunk: Buffer): void {
    this.heardAt = performance.now()
    if (!this.isClosing) this.#counts.arrived(chunk.length)
    this.#reader ??= new FrameReader(this)
    if (!this.#reader.add(chunk)) this.#reader = null
    if (!this.isClosing) this.#counts.holdUnfinished(this.#reader)
  }

  received(bytes: Buffer, isBinary: boolean): void {
    if (this.state === 'closing') return
    this.host.observer.received()
    const frame = readFrame(bytes, isBinary)
    if (frame.kind === 'bad') this.close('badFrame', frame.reason)
    else if (frame.kind === 'idle') this.countIdle(bytes.length)
    else if (frame.kind === 'refused') this.#refuseFrame(frame, bytes.length)
    else if (this.state === 'waiting') this.#first(frame)
    else if (frame.op === 'session.open') this.#openedTwice(frame)
    else this.host.call(this, frame)
  }

  receivedIdle(): void {
    if (this.state === 'closing') return
    this.host.observer.received()
    this.countIdle(0)
  }

  /** Counts a call that was refused since too many wait: a flood of them ends the connection. */
  countRefused(bytes: number): void {
    this.countIdle(bytes, refusedShare)
  }

  #refuseFrame(frame: { readonly id: string; readonly error: AppError }, bytes: number): void {
    this.countIdle(bytes)
    if (this.state === 'waiting') this.refuse(frame.id, frame.error)
    else this.fail(frame.id, frame.error)
  }

  pinged(payload: Buffer): void {
    this.receivedIdle()
    // A client that does not read gets no more of them (RFC 6455, section 5.5.3).
    if (!this.isBehind) this.write(pongFrame(payload))
  }

  /** Reads nothing until {@link resume}. */
  pause(): void {
    this.#isPaused = true
    this.socket.pause()
  }

  resume(): void {
    if (!this.#isPaused || this.isBehind) return
    this.#isPaused = false
    this.#resumedAt = performance.now()
    this.#counts.resumed()
    this.socket.resume()
  }

  /**
   * Reports the bytes that the client has not read to the bounds of all connections.
   * @returns whether there are any
   */
  countUnread(): boolean {
    if (this.state === 'closing') return false
    const unread = this.socket.writableLength
    this.#counts.holdUnread(unread)
    // The bounds may have closed it.
    if (this.isClosing) return false
    if (this.isBehind) this.pause()
    else this.host.drained(this)
    return unread > 0
  }

  /** The client reads too slowly; see {@link LongUse}. */
  closeAtBound(): void {
    this.close('slowReader', 'the client does not read')
  }

  close(code: CloseName, reason: string, after?: number): void {
    if (this.state === 'closing') return
    this.host.closing(this)
    const retryAfterMs = after ?? (code === 'epochChanged' ? this.host.returnTime() : undefined)
    this.answer(closingText(code, reason, retryAfterMs))
    this.#end()
    this.#beginClosing(closeCodes[code], closeReason(reason))
  }

  concluded(code: number): void {
    this.#answerClose(code, code)
  }

  violated(code: number): void {
    this.#answerClose(code, endedWithoutClose)
  }

  left(): void {
    this.#break()
    this.#limitClosing()
    this.socket.end()
  }

  ended(): void {
    this.#break()
    clearTimeout(this.#closeTimer)
    this.host.ended(this, this.#closeCode)
  }

  /** @param counted the code with which the connection has ended */
  #answerClose(code: number, counted: number): void {
    if (!this.isClosing) {
      this.#break()
      this.#beginClosing(code)
      this.#closeCode = counted
    }
    this.socket.end()
  }

  #beginClosing(code: number, reason = ''): void {
    this.#closeCode = code
    this.socket.write(closeFrame(code === closedWithoutCode ? null : code, reason))
    this.#limitClosing()
  }

  /** The client has a second to read the rest, and to end its side: its frames are read for it. */
  #limitClosing(): void {
    this.#closeTimer ??= setTimeout(() => this.socket.destroy(), closeTimeoutMs)
    this.socket.resume()
  }

  #break(): void {
    if (this.isClosing) return
    this.#end()
    this.host.closing(this)
  }

  #first(frame: ReceivedCall): void {
    if (frame.op === 'session.open') {
      this.host.open(this, frame)
      return
    }
    this.fail(frame.id, new AppError('token_missing', 'the first call is session.open'))
    this.close('notOpened', 'the first call is session.open')
  }

  #openedTwice(frame: ReceivedCall): void {
    this.fail(frame.id, new AppError('no_permission', 'the session is open'))
    this.close('openedTwice', 'session.open came twice')
  }

  /** Answers a session.open that failed, and closes. */
  refuse(id: string, error: AppError): void {
    // Many wait for the database; they do not come back in the same second.
    const isDatabase = error.errorName === 'storage_failed'
    const retryAfterMs = isDatabase ? this.host.returnTime() : retryAfterMsOf(error)
    this.fail(id, error, retryAfterMs)
    this.close(closeOfRefusal(error), error.message, retryAfterMs)
  }

  /** Counts a frame that no limit of calls counts. */
  countIdle(bytes: number, share = 1): void {
    if (this.#counts.countIdle(bytes, share, this.heardAt)) this.host.countedIdle(this, bytes)
  }

  #end(): void {
    this.state = 'closing'
    this.#counts.end()
  }

  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.socket.cork()
    this.host.corked(this)
  }
}
