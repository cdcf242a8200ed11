/** The types of the contract that the client shows to apps. No code of the protocol is loaded. */
import type * as protocol from '@hermod/protocol'
import type { DeviceEventPayloads } from '@hermod/protocol/gateway'

/** The type with numbers where the wire has int64: every ID of the service is a safe integer. */
export type Plain<T> = unknown extends T
  ? T
  : T extends bigint
    ? never
    : T extends object
      ? { readonly [K in keyof T]: Plain<T[K]> }
      : T

/** A group with its settings. */
export type GroupRecord = Plain<protocol.GroupRecord>
/** The short form of a group. */
export type GroupSummary = Plain<protocol.GroupSummary>
/** A member of a group with its role. */
export type GroupMemberInfo = Plain<protocol.GroupMemberInfo>
/** A request to become a contact. */
export type RosterApplication = Plain<protocol.RosterApplication>
/** A user as the caller sees them. */
export type RosterEntry = Plain<protocol.RosterEntry>
/** The own profile. */
export type UserProfile = Plain<protocol.UserProfile>

/** Payload of each kind of event that devices get. */
export type ClientEvents = {
  readonly [K in keyof DeviceEventPayloads]: Plain<DeviceEventPayloads[K]>
}

/** IDs of the operations that the socket takes. */
export type OperationId = keyof protocol.OperationTypes
/** Parameters of an operation. */
export type CallParams<Id extends OperationId> = Plain<
  protocol.ParamsOf<protocol.OperationTypes[Id]>
>
/** Answer of an operation: `data` and what stands next to it. */
export type CallAnswer<Id extends OperationId> = {
  readonly data: Plain<protocol.DataOf<protocol.OperationTypes[Id]>>
} & Plain<protocol.ExtrasOf<protocol.OperationTypes[Id]>>
