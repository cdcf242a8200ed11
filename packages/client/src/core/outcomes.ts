import { failureOf } from '../errors.js'
import type { CallOutcome } from './core-context.js'
import type { Failure } from './inputs.js'

/** Codes of a login that has ended: the call waits for another token. */
const isLoggedOut = ({ code }: Failure) => code === 402 || code === 10008

/** True: the same call may succeed later, or its answer says nothing. */
export const isRepeated = (failure: Failure) => failure.retry || isLoggedOut(failure)

/** False: the call was not sent, or was refused before it began. */
export function hasRun(outcome: CallOutcome, failure: Failure | undefined): boolean {
  if (outcome.type === 'lost') return outcome.isSent
  if (!failure) return true
  return !isLoggedOut(failure) && !['too_many_requests', 'too_many_calls'].includes(failure.name)
}

/** Returns why the outcome of a send is no success; undefined for one, and for no answer. */
export function refusalOf(outcome: CallOutcome): Failure | undefined {
  if (outcome.type === 'lost') return undefined
  if (outcome.type === 'failure') return outcome.failure
  const { data, fails } = outcome.answer
  const [refusal] = Array.isArray(fails) ? fails : []
  if (refusal)
    return { code: refusal.code, name: 'refused', message: String(refusal.reason), retry: false }
  return data === true
    ? undefined
    : failureOf('bad_answer', 'the answer to the send is not true', true)
}
