/**
 * Types of the contract: those of its operations, for `client.call`, and of its events. No code of the
 * protocol is loaded.
 */
import type * as protocol from '@hermod/protocol'

export type * from './contract.js'

/** The type with numbers where the wire has int64: every ID of the service is a safe integer. */
export type Plain<T> = unknown extends T
  ? T
  : T extends bigint
    ? never
    : T extends object
      ? { readonly [K in keyof T]: Plain<Written<T[K]>> }
      : T

/** The type of a member; an entry that the service may also hold as a violation is what callers write. */
export type Written<T> = unknown extends T
  ? T
  : [Extract<T, { readonly violation: string }>] extends [never]
    ? T
    : T extends { readonly value: infer Value }
      ? Value
      : never

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
