import type { Socket } from 'node:net'
import { AppError, type CloseName, closeCodes } from '@hermod/protocol'
import { pingFrame, pongFrame, textFrame } from '../sessions/frames.js'
import type { ArrivingBody } from '../edge/bodies.js'
import type { Edge } from '../edge/edge.js'
import type { ClientConnection, Session } from '../sessions/session.js'
import {
  closeOfRefusal,
  closeReason,
  closingText,
  failureText,
  retryAfterMsOf,
} from './frames/answers.js'
import { type ReceivedCall, readFrame } from './frames/client-frame.js'
import type { ClientSocket, SocketEvents } from './client-socket.js'
import {
  idleFrameBytes,
  idleFrames,
  idleFramesMs,
  longPartBytes,
  maxUnopenedBytes,
  maxUnreadBytes,
  refusedShare,
} from './limits.js'
import type { GatewayObserver } from './observer.js'
import type { PendingCalls } from './calls/pending-calls.js'
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

/** The parts that all connections share; the gateway implements it. */
export interface ConnectionHost {
  readonly edge: Pick<Edge, 'bodies' | 'connections'>
  readonly observer: GatewayObserver
  /** Connections with bytes that the client has not read. */
  readonly unread: Set<Connection>
  /** Opens the session. */
  open(connection: Connection, frame: ReceivedCall): void
  /** Runs a call. */
  call(connection: Connection, frame: ReceivedCall): void
  /** The connection is corked: it is flushed at the end of the turn. */
  corked(connection: Connection): void
  /** The time after which the client of a connection comes back that is closed together with all others, milliseconds. */
  returnTime(): number
  /** The client has read what was unread. */
  drained(connection: Connection): void
  /** Answers the calls that have not begun. */
  refuseWaiting(connection: Connection): void
  /** The connection takes and sends no more frames. */
  closing(connection: Connection): void
  ended(connection: Connection, code: number): void
}

/**
 * One WebSocket: its state, its frames and its bytes. An idle one holds no timer, no closure and no promise, so many of them are cheap.
 */
export class Connection implements ClientConnection, SocketEvents, WheelEntry {
  /** Set once the handshake is answered. */
  websocket!: ClientSocket
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
  closeCode = 0
  #unreadBytes = 0
  #unopenedBytes = 0
  #idleFrames = 0
  #idleFramesFrom = 0
  /** The socket's writes wait for the end of the turn. */
  #isCorked = false
  #isPaused = false
  /** Bytes that have come since the last frame. */
  #partBytes = 0
  #part: ArrivingBody | null = null
  #resumedAt = 0

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

  fail(id: string, error: AppError): void {
    this.host.observer.refused(error.errorName)
    this.answer(failureText(id, error))
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

  /** Counts bytes as they arrive. */
  heard(bytes: number): void {
    this.heardAt = performance.now()
    if (this.state === 'open') {
      this.#partBytes += bytes
      if (this.#partBytes > longPartBytes) this.#holdPart()
      return
    }
    this.#unopenedBytes += bytes
    if (this.#unopenedBytes > maxUnopenedBytes)
      this.close('badFrame', `more than ${maxUnopenedBytes} bytes before the session is open`)
  }

  received(bytes: Buffer, isBinary: boolean): void {
    this.#endPart()
    if (this.state === 'closing') return
    this.host.observer.received()
    const frame = readFrame(bytes, isBinary)
    if (frame.kind === 'bad') this.close('badFrame', frame.reason)
    else if (frame.kind === 'idle') this.#countIdle(bytes.length)
    else if (this.state === 'waiting') this.#first(frame)
    else if (frame.op === 'session.open') this.#openedTwice(frame)
    else this.host.call(this, frame)
  }

  receivedIdle(bytes = 0): void {
    // A control frame may come between the fragments of a long frame.
    if (this.#part === null) this.#partBytes = 0
    if (this.state === 'closing') return
    this.host.observer.received()
    this.#countIdle(bytes)
  }

  /** Counts a call that was refused since too many wait: a flood of them ends the connection. */
  countRefused(bytes: number): void {
    this.#countIdle(bytes, refusedShare)
  }

  pinged(payload: Buffer): void {
    this.receivedIdle()
    // A client that does not read gets no more of them (RFC 6455, section 5.5.3).
    if (!this.isBehind) this.write(pongFrame(payload))
  }

  /** Reads nothing until {@link resume}. */
  pause(): void {
    this.#isPaused = true
    this.websocket.pause()
  }

  resume(): void {
    if (!this.#isPaused || this.isBehind) return
    this.#isPaused = false
    this.#resumedAt = performance.now()
    this.websocket.resume()
  }

  /**
   * Tells the bytes that the client has not read to the bounds of all connections.
   * @returns whether there are any
   */
  countUnread(): boolean {
    if (this.state === 'closing') return false
    const unread = this.socket.writableLength
    this.#holdUnread(unread)
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
    this.host.refuseWaiting(this)
    const retryAfterMs = after ?? (code === 'epochChanged' ? this.host.returnTime() : undefined)
    this.answer(closingText(code, reason, retryAfterMs))
    this.closeCode = closeCodes[code]
    this.#leave()
    // The closing handshake needs the frames of the client.
    this.websocket.resume()
    this.websocket.close(this.closeCode, closeReason(reason))
  }

  broken(): void {
    if (this.state !== 'closing') this.#leave()
  }

  /** The connection is gone. */
  ended(code: number): void {
    this.broken()
    this.host.ended(this, this.closeCode === 0 ? code : this.closeCode)
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
    this.fail(id, error)
    this.close(closeOfRefusal(error), error.message, retryAfterMsOf(error))
  }

  /** Bounds frames that no limit of calls counts. */
  #countIdle(bytes: number, share = 1): void {
    const now = this.heardAt
    if (now - this.#idleFramesFrom > idleFramesMs) {
      this.#idleFramesFrom = now
      this.#idleFrames = 0
    }
    // A long frame costs as much as many short ones.
    this.#idleFrames += share * (1 + Math.floor(bytes / idleFrameBytes))
    if (this.#idleFrames > idleFrames)
      this.close('tooManyRequests', 'too many frames that run no call')
  }

  #leave(): void {
    this.state = 'closing'
    this.#endPart()
    this.#holdUnread(0)
    this.host.closing(this)
  }

  #holdUnread(bytes: number): void {
    const added = bytes - this.#unreadBytes
    this.#unreadBytes = bytes
    const { connections } = this.host.edge
    if (added > 0) connections.hold(this.socket, added)
    else if (added < 0) connections.release(this.socket, -added)
  }

  /** Counts the memory of a long frame that arrives in parts, among all bodies. */
  #holdPart(): void {
    const { bodies } = this.host.edge
    this.#part ??= bodies.begin({
      socket: this.socket,
      refuse: () => this.close('overloaded', 'too many bodies are on their way'),
      stalled: () => this.close('noPong', 'a frame has stopped in the middle'),
    })
    this.#part.progress()
    this.#part.hold(this.#partBytes)
  }

  #endPart(): void {
    this.#partBytes = 0
    if (this.#part === null) return
    this.host.edge.bodies.end(this.#part)
    this.#part = null
  }

  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.socket.cork()
    this.host.corked(this)
  }
}
