import type { Int64 } from '@hermod/protocol'
import type { ThisNode } from '../../nodes/node.js'

/** A node under one of its leases. */
export type SessionNode = Pick<ThisNode, 'id' | 'lease'>

/** A session that is about to open. */
export interface SessionOpening {
  readonly appId: string
  readonly userId: Int64
  /** null: it has no device. */
  readonly deviceSn: number | null
  /** True for a session of an Admin token, which counts apart from those of the user. */
  readonly isReader: boolean
  /** The ID that it has unless the device had a greater one. */
  readonly ownId: number
}

/** Names the row of a session. */
export interface SessionKey {
  readonly appId: string
  readonly userId: Int64
  readonly id: number
}

/** An open session as this node has it. */
export interface HeldSession extends SessionKey {
  readonly deviceSn: number | null
  readonly isReader: boolean
}

/** A session of another node, which another one of its device has replaced. */
export interface DisplacedSession extends SessionKey {
  readonly nodeId: string
}

/** The row of a session with a device. */
export interface DeviceSessionRow extends SessionKey {
  readonly deviceSn: number
  readonly nodeId: string
  readonly lease: number
  /** Milliseconds since it closed, by the clock of the database; null: it is open. */
  readonly closedForMs: number | null
}

/** A part of the table of sessions. */
export interface SessionPage {
  readonly rows: readonly DeviceSessionRow[]
  /** Start of the next page; null: there is none. */
  readonly next: SessionKey | null
}

/** The count and the sum of the IDs of sessions, by which two lists of them are compared. */
export interface SessionFigures {
  readonly count: number
  readonly sum: bigint
}
