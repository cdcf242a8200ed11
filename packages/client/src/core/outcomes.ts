import type { CoreContext } from './core-context.js'
import type { Answer } from './inputs.js'
import type { Failure } from '../errors.js'

/** Timers with this prefix end with the session. */
export const repeatTimer = 'repeat '

/** Codes of a login that has ended: the call waits for another token. */
export const isLoggedOut = ({ code }: Failure) => code === 402 || code === 10008

/** True: the same call may succeed later, or its answer says nothing. */
export const isRepeated = (failure: Failure) => failure.retry || isLoggedOut(failure)

/**
 * Returns a random time before the next try, below a bound that doubles with each failure.
 * @param least the shortest time; `first` and `most` bound the random one on top of it
 */
export function backoff(
  failures: number,
  random: () => number,
  [least, first, most]: readonly [least: number, first: number, most: number] = [
    250, 1_000, 60_000,
  ],
): number {
  return least + Math.ceil(random() * Math.min(most, first * 2 ** failures))
}

const firstSpreadMs = 100
const spreadMsPerMember = 2
const maxSpreadMs = 30_000

/** Returns a random time before a read that all members of a group may need at once. */
export function spreadMs({ random }: Pick<CoreContext, 'random'>, members: number): number {
  return Math.min(firstSpreadMs + random() * members * spreadMsPerMember, maxSpreadMs)
}

/** The longest wait before a repeat that the server may order. */
const maxWaitMs = 600_000

/** Returns the time before a repeat: that of the server, else a random one that grows. */
export function waitMsOf(
  context: Pick<CoreContext, 'random'>,
  failure: Failure | undefined,
  failures: number,
): number {
  const { retryAfterMs } = failure ?? {}
  return retryAfterMs === undefined
    ? backoff(failures, context.random)
    : Math.min(retryAfterMs, maxWaitMs)
}

/**
 * Calls an operation, and repeats it after failures that may pass. When the session ends, the
 * repeats end with it.
 * @param done takes the answer; undefined: the server refuses
 */
export function callUntilAnswered(
  context: CoreContext,
  op: string,
  data: object,
  done: (answer: Answer | undefined) => void,
  failures = 0,
): void {
  context.call(op, data, (outcome) => {
    if (outcome.type === 'answer') done(outcome.answer)
    else if (outcome.type === 'failure') {
      const { failure } = outcome
      const repeat = () => callUntilAnswered(context, op, data, done, failures + 1)
      if (isRepeated(failure))
        context.after(
          repeatTimer + op + JSON.stringify(data),
          waitMsOf(context, failure, failures),
          repeat,
        )
      else done(undefined)
    }
  })
}
