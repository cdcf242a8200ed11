import type { Failure } from '../errors.js'

/**
 * - `idle`: the app wants no connection
 * - `connecting`: the first try
 * - `syncing`: connected, but not everything that was missed is stored yet
 * - `online`: connected and current
 * - `offline`: not connected; another try follows
 * - `ended`: the client does not come back by itself: the server has said so, or the user has logged out;
 *   see `end`
 */
export type ConnectionState = 'idle' | 'connecting' | 'syncing' | 'online' | 'offline' | 'ended'

/** The connection of the tab that leads, as it is shown in all tabs. */
export interface ConnectionStatus {
  readonly state: ConnectionState
  /** When offline: until the next try, milliseconds. */
  readonly retryInMs?: number
  /** When offline: why the last try failed, if it is known. */
  readonly failure?: Failure
  /**
   * When ended: the close code, its name in snake case, such as `kicked` or `replaced`, and the reason;
   * or why the session or the token was refused; or `closed`, when the user has logged out in any tab.
   */
  readonly end?: Failure
}

/** State that is shown and never stored; each member is replaced when it changes. */
export interface LiveState {
  readonly connection: ConnectionStatus
  /** The user of the session; 0: not known yet. */
  readonly userId: number
  /** The device of the session; absent without one. */
  readonly deviceSn?: number
  /**
   * The access token, for addresses of files; '' until the app has returned one. Kept in memory, and
   * shared with the other tabs of this origin.
   */
  readonly token: string
  /** The watched users who are online. */
  readonly online: readonly number[]
  readonly typing: readonly { readonly conversationId: number; readonly userId: number }[]
  /** The text so far of messages on screen that are being written, by ID. */
  readonly streams: Readonly<Record<number, string>>
  /** Sent bytes by transaction ID. */
  readonly uploads: Readonly<Record<number, { readonly sent: number; readonly total: number }>>
  /** False: the store has failed; everything is in memory until the page ends. */
  readonly isDurable: boolean
}
