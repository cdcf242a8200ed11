import type { CallOptions } from '../api.js'
import type { Answer } from '../core/inputs.js'
import type { CallParams, OperationId } from '../protocol-types.js'
import type { Session } from '../sessions/session.js'

/** Calls an operation of the contract. @throws ClientError */
export type Caller = <Id extends OperationId>(
  op: Id,
  data: CallParams<Id>,
  options: CallOptions | undefined,
) => Promise<Answer>

/** Returns the caller of a session. */
export function createCaller(session: Session): Caller {
  return async (op, data, options) =>
    (await session.execute({ type: 'call', op, data: data as object }, signalOf(options))) as Answer
}

/** Only the signal of options. */
export function signalOf(options: CallOptions | undefined): { readonly signal?: AbortSignal } {
  return options?.signal ? { signal: options.signal } : {}
}
