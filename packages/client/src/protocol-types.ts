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
      ? { readonly [K in keyof T]: Plain<Entry<T[K]>> }
      : T

interface Violation {
  readonly violation: string
}
/** The type of an entry of a list, where the service has it with a violation as its other form. */
type Entry<T> = unknown extends T
  ? T
  : [Extract<T, Violation>] extends [never]
    ? T
    : Exclude<T, Violation> extends { readonly value: infer Value }
      ? Value
      : T

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
