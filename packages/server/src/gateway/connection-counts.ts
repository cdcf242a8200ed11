import type { Socket } from 'node:net'
import type { CloseName } from '@hermod/protocol'
import type { ArrivingBody } from '../edge/bodies.js'
import type { Edge } from '../edge/edge.js'
import type { Session } from '../sessions/session.js'
import type { BytesByUser } from './bytes-by-user.js'
import type { FrameReader } from './frames/frame-reader.js'
import {
  idleFrameBytes,
  idleFrames,
  idleFramesMs,
  maxUnopenedBytes,
  smallRead,
  smallReads,
  unfinishedUserBytes,
} from './limits.js'

/** The connection that is bounded; it is closed when it exceeds a bound. */
interface BoundedConnection {
  readonly socket: Socket
  readonly session: Session | null
  readonly state: string
  readonly host: {
    readonly edge: Pick<Edge, 'bodies' | 'connections'>
    /** The memory of unfinished messages. */
    readonly unfinishedBytes: BytesByUser
  }
  close(code: CloseName, reason: string): void
}

/**
 * Counts of one connection: bytes before its session, memory of an unfinished message, frames
 * without a call, and bytes that its client has not read.
 */
export class ConnectionCounts {
  #unreadBytes = 0
  #unopenedBytes = 0
  #idleFrames = 0
  #idleFramesFrom = 0
  /** The memory of the unfinished message. */
  #part: ArrivingBody | null = null
  /** The {@link FrameReader.steps} at which the unfinished message last made progress. */
  #steps = 0
  /** The part of its memory that its user is charged. */
  #userBytes = 0

  constructor(private readonly connection: BoundedConnection) {}

  /** Counts bytes as they arrive. */
  arrived(bytes: number): void {
    if (this.connection.state === 'open') return
    this.#unopenedBytes += bytes
    if (this.#unopenedBytes > maxUnopenedBytes)
      this.connection.close(
        'badFrame',
        `more than ${maxUnopenedBytes} bytes before the session is open`,
      )
  }

  /**
   * Counts the memory of the unfinished message.
   * @param reader null: the bytes ended together with a message
   */
  holdUnfinished(reader: FrameReader | null): void {
    if (reader === null) this.#endPart()
    else this.#holdPart(reader)
  }

  /**
   * Counts a frame that no limit of calls counts: a flood of them ends the connection.
   * @param share part of a frame that counts
   * @param now as performance.now()
   * @returns false when it has ended it
   */
  countIdle(bytes: number, share: number, now: number): boolean {
    if (now - this.#idleFramesFrom > idleFramesMs) {
      this.#idleFramesFrom = now
      this.#idleFrames = 0
    }
    // A long frame costs as much as many short ones.
    this.#idleFrames += share * (1 + Math.floor(bytes / idleFrameBytes))
    if (this.#idleFrames <= idleFrames) return true
    this.connection.close('tooManyRequests', 'too many frames that run no call')
    return false
  }

  /** Reports the bytes that the client has not read to the bounds of all connections. */
  holdUnread(bytes: number): void {
    const { host, socket } = this.connection
    const added = bytes - this.#unreadBytes
    this.#unreadBytes = bytes
    if (added > 0) host.edge.connections.hold(socket, added)
    else if (added < 0) host.edge.connections.release(socket, -added)
  }

  /** The connection is read again: the time of a stall begins anew. */
  resumed(): void {
    this.#part?.progress()
  }

  /** Releases what is counted among all connections. */
  end(): void {
    this.#endPart()
    this.holdUnread(0)
  }

  /** Counts the memory of an unfinished message, among all bodies and for its user. */
  #holdPart({ retained, bytes, reads, steps }: FrameReader): void {
    const { connection } = this
    this.#part ??= connection.host.edge.bodies.begin({
      socket: connection.socket,
      refuse: () => connection.close('overloaded', 'too many bodies are on their way'),
      stalled: () => connection.close('noPong', 'a frame has stopped in the middle'),
    })
    // A stall is measured by steps, since a byte now and then would keep a frame for ever.
    if (steps !== this.#steps) this.#part.progress()
    this.#steps = steps
    const ofUser = this.#chargeUser(retained)
    this.#part.hold(retained)
    if (reads > smallReads && bytes < reads * smallRead)
      connection.close('tooManyRequests', 'a frame comes in too many small parts')
    else if (ofUser > unfinishedUserBytes)
      connection.close('tooManyRequests', 'the unfinished frames of the user take too much memory')
  }

  #endPart(): void {
    if (this.#part === null) return
    this.connection.host.edge.bodies.end(this.#part)
    this.#part = null
    this.#chargeUser(0)
  }

  /** @returns the bytes of all unfinished messages of the user */
  #chargeUser(bytes: number): number {
    const { host, session } = this.connection
    if (session === null) return 0
    const added = bytes - this.#userBytes
    this.#userBytes = bytes
    return host.unfinishedBytes.add(session.userId, added)
  }
}
