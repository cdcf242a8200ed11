import type { ActingAs, CallOptions } from '../api.js'
import type { Answer } from '../core/inputs.js'
import type { CallParams, OperationId } from '../protocol-types.js'
import type { Session } from '../sessions/session.js'

/** Calls an operation of the contract. @throws ClientError */
export type Caller = <Id extends OperationId>(
  op: Id,
  data: CallParams<Id>,
  options?: CallOptions & ActingAs,
) => Promise<Answer>

/** Returns the caller of a session. */
export function createCaller(session: Session): Caller {
  return async (op, data, options = {}) => {
    const { userId, groupId } = options
    const command = {
      type: 'call',
      op,
      data: data as object,
      ...(userId !== undefined && { userId }),
      ...(groupId !== undefined && { groupId }),
    } as const
    return (await session.execute(command, signalOf(options))) as Answer
  }
}

/** Only the signal of options. */
export function signalOf(options: CallOptions | undefined): { readonly signal?: AbortSignal } {
  return options?.signal ? { signal: options.signal } : {}
}
