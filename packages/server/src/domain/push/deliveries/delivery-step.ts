import type { PushChannel } from '@hermod/protocol'
import { cutText } from '../../../lib/cut-text.js'
import type { ReceiptKind } from '../../../push/receipts/receipt.js'
import type { ProbedDevice } from '../../../push/core-channel.js'
import type { PushOutcomeKind } from '../../../push/outcomes.js'
import type { Suppression } from '../audience/recipient.js'
import type { Delivery } from './delivery-model.js'

/** One step of what happened to a push on one device; `GET /push/trace` shows them in order. */
export interface DeliveryStep {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly step:
    | 'matched'
    | 'suppressed'
    | 'channel_chosen'
    | 'waiting'
    | 'tried'
    | 'token_cleared'
    | 'receipt'
    | 'expired'
    | 'cancelled'
    | 'left_out'
  readonly channel?: PushChannel
  /** Name of the certificate. */
  readonly certificate?: string
  /** The reason of a suppression, the outcome of a try, or the kind of a receipt. */
  readonly result?: Suppression | PushOutcomeKind | ReceiptKind | 'handed_over' | 'disconnected'
  /** The gateway's own code and words. */
  readonly code?: string
  readonly reason?: string
  /** Changes that the channel made to the content of an accepted try, as phrases. */
  readonly changes?: string
  /** Milliseconds since 1970. Of a step `tried`: the next try; of a step `waiting`: the end of the wait. */
  readonly nextAt?: number
  /** The session that was pinged, of a step `waiting`; see ProbedDevice. */
  readonly sessionId?: number
  readonly probedAt?: number
  /** The number of omitted steps, for `left_out`. */
  readonly count?: number
}

/** The maximum of all steps together, so that a row stays small. */
const maxLength = 4_000
const maxCodeLength = 100
const maxReasonLength = 300
const maxChangesLength = 300
/** Steps that are always kept: the beginning with its first try, and the end. */
const firstKept = 3
const lastKept = 2

/**
 * Adds steps to those of a delivery, which are one JSON text a line; when they become too many,
 * some amid them are left out.
 */
export function withSteps(steps: string, ...added: readonly DeliveryStep[]): string {
  const text = steps + stepsText(added.map(withShortWords))
  return text.length <= maxLength ? text : stepsText(withoutMiddle(readSteps(text)))
}

function stepsText(steps: readonly DeliveryStep[]): string {
  return steps.map((step) => `${JSON.stringify(step)}\n`).join('')
}

/** Words of gateways, and names of members of `ext`, may be of any length. */
function withShortWords(step: DeliveryStep): DeliveryStep {
  const { code, reason, changes } = step
  return {
    ...step,
    ...(code !== undefined && { code: shortened(code, maxCodeLength) }),
    ...(reason !== undefined && { reason: shortened(reason, maxReasonLength) }),
    ...(changes !== undefined && { changes: shortened(changes, maxChangesLength) }),
  }
}

function shortened(text: string, maxCodeUnits: number): string {
  return text.length <= maxCodeUnits ? text : `${cutText(text, maxCodeUnits - 1)}…`
}

/**
 * Leaves out as few as it can; receipts, by which repeated ones are known, only where there is
 * nothing else.
 */
function withoutMiddle(steps: readonly DeliveryStep[]): DeliveryStep[] {
  const first = steps.slice(0, firstKept)
  const others = steps.slice(firstKept)
  const leftOut = others[0]?.step === 'left_out' ? others.shift() : undefined
  let { at, count = 0 } = leftOut ?? { at: 0 }
  for (;;) {
    const kept = [...first, { at, step: 'left_out' as const, count }, ...others]
    if (others.length <= lastKept || stepsText(kept).length <= maxLength) return kept
    const tried = others.slice(0, -lastKept).findIndex(({ step }) => step !== 'receipt')
    const [left] = others.splice(Math.max(tried, 0), 1)
    at = Math.max(at, left?.at ?? 0)
    count++
  }
}

/** Reads what {@link withSteps} wrote. */
export function readSteps(steps: string): DeliveryStep[] {
  return steps
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as DeliveryStep)
}

/** The device whose answer an untried delivery waits for; null: it waits for none. */
export function probedDevice({
  userId,
  deviceSn,
  attempts,
  steps,
}: Pick<Delivery, 'userId' | 'deviceSn' | 'attempts' | 'steps'>): ProbedDevice | null {
  if (attempts > 0) return null
  const waiting = readSteps(steps).find(({ step }) => step === 'waiting')
  if (!waiting) return null
  const { sessionId = 0, probedAt = 0 } = waiting
  return { userId, deviceSn, sessionId, probedAt }
}

/**
 * When a delivery was sent last, else when its channel was chosen, milliseconds since 1970; null:
 * neither.
 */
export function lastSentAt({ steps }: { readonly steps: string }): number | null {
  const sent = readSteps(steps).filter(({ step }) => step === 'tried' || step === 'channel_chosen')
  return sent.at(-1)?.at ?? null
}
