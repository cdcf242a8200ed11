import type { PushChannel } from '@hermod/protocol'
import type { ReceiptKind } from '../../../push/receipts/receipt.js'
import type { PushOutcomeKind } from '../../../push/sender.js'
import type { Suppression } from '../tasks/task-model.js'

/** One step of what happened to a push on one device; `GET /push/trace` shows them in order. */
export interface DeliveryStep {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly step:
    | 'matched'
    | 'suppressed'
    | 'channel_chosen'
    | 'tried'
    | 'token_cleared'
    | 'receipt'
    | 'expired'
    | 'cancelled'
  readonly channel?: PushChannel
  /** Name of the certificate. */
  readonly certificate?: string
  /** Why it was suppressed, what came of a try, or what a receipt says. */
  readonly result?: Suppression | PushOutcomeKind | ReceiptKind | 'handed_over' | 'disconnected'
  /** The gateway's own code and words. */
  readonly code?: string
  readonly reason?: string
  /** Milliseconds since 1970, of a step `tried`: the next try. */
  readonly nextAt?: number
}

/** Later steps are left out, so that a row stays small. */
const maxLength = 4_000

/** Adds steps to those of a delivery, which are one JSON text a line. */
export function withSteps(steps: string, ...added: readonly DeliveryStep[]): string {
  const lines = added.map((step) => `${JSON.stringify(step)}\n`).join('')
  return steps.length + lines.length > maxLength ? steps : steps + lines
}

/** Reads what {@link withSteps} wrote. */
export function readSteps(steps: string): DeliveryStep[] {
  return steps
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as DeliveryStep)
}

/** When a delivery was sent last, else when its channel was chosen, milliseconds since 1970; null: neither. */
export function lastSentAt({ steps }: { readonly steps: string }): number | null {
  const sent = readSteps(steps).filter(({ step }) => step === 'tried' || step === 'channel_chosen')
  return sent.at(-1)?.at ?? null
}
