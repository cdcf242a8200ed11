/** The health of an endpoint: failures in a row, back-offs, probing, and the return. Pure. */
import { type EndpointHealth, newHealth } from '../../domain/webhooks/endpoints/endpoint-model.js'
import type { RetryAfter } from '../../domain/webhooks/waiting/waiting-event.js'
import type { SendResult } from '../../domain/webhooks/webhook-sender.js'
import {
  askedPause,
  endpointDelay,
  failureGapMs,
  maxFailingMs,
  type Random,
} from './retry-rules.js'

/** Keys whose requests must fail in a row before the endpoint counts as down, if so many are active. */
const failingKeys = 3

/** The health of an endpoint. Only a part of it is stored. */
export interface HealthState {
  readonly stored: EndpointHealth
  /** First keys of the requests that have failed since the last answer. */
  readonly failing: ReadonlySet<string>
  /** The last pause of all keys that the receiver asked for. */
  readonly retryAfter: RetryAfter | undefined
}

interface CountedRequest {
  readonly result: Pick<SendResult, 'outcome' | 'retryAfterMs'>
  /** First key of the request. */
  readonly key: string
  /** Number of keys with events that are being sent, or could be. */
  readonly active: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly random: Random
}

/** Returns the state of an endpoint whose queue starts. */
export function startingHealth(stored: EndpointHealth): HealthState {
  return { stored, failing: new Set(), retryAfter: undefined }
}

/** Tests whether the endpoint is in a back-off. */
export function isDown({ retryAt }: EndpointHealth, now: number): boolean {
  return retryAt > now
}

/**
 * Returns the bounds of requests. Until an endpoint has answered after a back-off, a few requests of
 * one event show whether it is up.
 */
export function requestBounds(
  { failures }: EndpointHealth,
  { concurrency, batchSize }: { readonly concurrency: number; readonly batchSize: number },
): { readonly requests: number; readonly events: number } {
  return failures > 0
    ? { requests: Math.min(failingKeys, concurrency), events: 1 }
    : { requests: concurrency, events: batchSize }
}

/** Returns the state after a request. `gone` and `failing` are reasons to disable the endpoint. */
export function afterRequest(
  state: HealthState,
  request: CountedRequest,
): { readonly state: HealthState; readonly verdict: 'up' | 'down' | 'gone' | 'failing' } {
  const { key, active, now } = request
  const { outcome, retryAfterMs } = request.result
  if (outcome === 'delivered')
    return { state: startingHealth({ ...newHealth, lastSuccessAt: now }), verdict: 'up' }
  const stored = withFailure(state.stored, now)
  const failed = { ...state, stored, failing: new Set(state.failing).add(key) }
  if (outcome === 'gone') return { state: failed, verdict: 'gone' }
  if (now - stored.failingSince >= maxFailingMs) return { state: failed, verdict: 'failing' }
  if (outcome === 'refused')
    return { state: startingHealth({ ...stored, failures: 0, retryAt: 0 }), verdict: 'up' }
  // A pause that is asked for few keys holds these, so that events of other keys are still tried.
  const keys = retryAfterMs === null ? active : failingKeys
  if (failed.failing.size < Math.min(failingKeys, keys)) return { state: failed, verdict: 'up' }
  // Requests that were sent before it was down show nothing new.
  return { state: isDown(stored, now) ? failed : backedOff(failed, request), verdict: 'down' }
}

function withFailure(stored: EndpointHealth, now: number): EndpointHealth {
  const { lastFailureAt } = stored
  const isFirst = lastFailureAt === 0 || now - lastFailureAt > failureGapMs
  return { ...stored, failingSince: isFirst ? now : stored.failingSince, lastFailureAt: now }
}

/** Begins a back-off. A pause that the receiver asks for does not lengthen the next one. */
function backedOff(
  { stored, failing, retryAfter: before }: HealthState,
  { result: { retryAfterMs }, now, random }: CountedRequest,
): HealthState {
  const failures = retryAfterMs === null ? stored.failures + 1 : stored.failures || 1
  const isDoubtful = failing.size < failingKeys
  const delay = endpointDelay(failures, { isDoubtful, random })
  const retryAfter = retryAfterMs === null ? undefined : askedPause(retryAfterMs, before)
  const retryAt = now + (retryAfter?.pauseMs ?? delay)
  return { stored: { ...stored, failures, retryAt }, failing: new Set(), retryAfter }
}
