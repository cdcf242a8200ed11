import type { Int64 } from '@hermod/protocol'
import type { Session } from './session.js'

/** A listener to users whose first session with a device opened, or whose last one closed. */
export interface OnlineListener {
  wentOnline(appId: string, userId: Int64): void
  /** @param agoMs how long ago the last session closed; default 0 */
  wentOffline(appId: string, userId: Int64, agoMs?: number): void
  /** Called for each session of this node that leaves, also one without a device. */
  sessionClosed?(session: Session): void
}

/** The session of a connected device. */
export interface ConnectedDevice {
  readonly userId: Int64
  readonly deviceSn: number
  /** The ID of the session. */
  readonly id: number
  /** The node that has the session; absent: this one. */
  readonly nodeId?: string
}

/** The connected devices of all nodes, of which the sessions of this one are known at once. */
export interface SessionDirectory {
  /** Tests whether a device of the user is connected. */
  isOnline(appId: string, userId: Int64): boolean
  /** The connected devices of a user, each once. */
  devicesOf(appId: string, userId: Int64): readonly ConnectedDevice[]
  /** The users of an app with a connected device, each once and in no order. */
  onlineUsers(appId: string): Iterable<Int64>
  listen(listener: OnlineListener): void
}
