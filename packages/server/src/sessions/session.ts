import type { CloseName, Feature, Int64, Scopes } from '@hermod/protocol'

/**
 * - `entering`: delivery does not know yet which events concern the session
 * - `ready`: it is known, and the answer to `session.open` is not written yet
 * - `live`: events are written
 * - `behind`: too much is unread, so events are skipped
 * - `ended`: it has left
 */
export type SessionPhase = 'entering' | 'ready' | 'live' | 'behind' | 'ended'

/** An open session of the gateway: a connected client of a user. */
export interface Session {
  /** The greater ID of two sessions of one device stays. */
  readonly id: number
  readonly appId: string
  readonly userId: Int64
  /** null: the session has no device, displaces none and is never online. */
  readonly deviceSn: number | null
  /** The hash of its token; null = an Admin token for the user. */
  readonly tokenHash: string | null
  /** The scopes of the Admin token when the session was opened. */
  readonly scopes: Scopes
  /** The additions to the contract that the client knows. */
  readonly features: ReadonlySet<Feature>
  readonly link: SessionLink
  /** Only delivery changes it. A session begins as `entering`. */
  phase: SessionPhase
  /**
   * True from when the session needs to sync, because an event that concerns it was skipped or
   * history was imported, until it is asked to. Only delivery changes it.
   */
  hasMissed: boolean
}

/** The way to the client of a session; the gateway implements it. */
export interface SessionLink {
  /** Writes whole WebSocket frames. Buffers may be shared between links. */
  write(frames: Buffer): void
  /** More bytes are unread than a session may leave unread: only answers and heartbeats may be written. */
  readonly isBehind: boolean
  /** When the last byte of the client arrived, as performance.now(). */
  readonly heardAt: number
  /** Sends a WebSocket ping. */
  ping(): void
  /**
   * Names the reason in `session.closing` and closes the connection.
   * @param reason a word such as `kicked` or `device_removed`
   */
  close(code: CloseName, reason: string): void
}

/** A connection of the gateway, before and after its session is open. */
export interface ClientConnection extends SessionLink {
  /** null until session.open has succeeded. */
  readonly session: Session | null
  readonly isClosing: boolean
  /**
   * Gives the connection its session, which leaves delivery with the connection.
   * @param expiresAt when its token ends, milliseconds since 1970; null: not known
   * @throws AppError unavailable when the connection is closed
   */
  bind(session: Session, expiresAt: number | null): void
}
