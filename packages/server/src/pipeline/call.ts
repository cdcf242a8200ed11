import type { AppCaller, Caller, Operation } from '@hermod/protocol'
import type { ParameterSource } from './parameters.js'

/** The four headers of every operation, as they arrived. */
export interface Credentials {
  readonly appId: string | undefined
  readonly accessToken: string | undefined
  readonly userId: string | undefined
  readonly groupId: string | undefined
}

/** One call on any transport. */
export interface Call extends ParameterSource {
  readonly requestId: string
  /** The client's network address, for limits. */
  readonly address: string
  readonly userAgent: string
  readonly credentials: Credentials
  /** The transport has proved that the caller is the operator, for example by the rights on a socket file. */
  readonly isOperator: boolean
}

/** The answer to a call; the transport adds nothing to it. */
export interface Answer {
  /** HTTP status; a transport without one leaves it out. */
  readonly status: number
  readonly code: number
  readonly retryAfterSeconds: number | undefined
  /** The envelope as JSON text. */
  readonly body: string
}

export interface CallContext<C extends Caller = AppCaller> {
  readonly caller: C
  readonly requestId: string
  readonly address: string
  readonly userAgent: string
}

/** What a handler gives back: `data` and, beside it, top-level members. */
export interface Result<Data, Extras> {
  readonly data: Data
  readonly extras?: Extras
}

export interface Handler {
  readonly operation: Operation
  readonly run: (params: never, context: never) => Promise<Result<unknown, unknown>>
}

/** Binds the code that answers an operation to its definition; the types of both must agree. */
export function handle<P, D, X>(
  operation: Operation<P, D, X>,
  run: (params: P, context: CallContext) => Promise<Result<D, X>>,
): Handler {
  return { operation: operation as Operation, run: run as Handler['run'] }
}

/** The answer of an operation without extras. */
export function data<D>(value: D): Result<D, never> {
  return { data: value }
}
