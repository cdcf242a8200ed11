/** The port of the HTTP sender: some events to an endpoint, and what came of it. */
import type { webhookFormats, webhookOutcomes } from '@hermod/protocol'
import type { LoggedEvent } from '../events/logged-event.js'
import type { Endpoint } from './endpoints/endpoint-model.js'

/** The address of a request, and how it is made. */
export interface SendTarget {
  readonly url: string
  readonly format: (typeof webhookFormats)[number]
  /** True: the body is a list, also of one event. */
  readonly isBatch: boolean
  /** The secrets that sign, the newest first. */
  readonly secrets: readonly string[]
  readonly timeoutMs: number
}

/** Returns the target of the requests to an endpoint. @param secrets see {@link SendTarget} */
export function targetOf(
  { url, format, batchSize, timeoutMs }: Endpoint,
  secrets: readonly string[],
): SendTarget {
  return { url, format, isBatch: batchSize > 1, secrets, timeoutMs }
}

/** The answer to a request. */
export interface SendResult {
  readonly outcome: (typeof webhookOutcomes)[number]
  /** 0 = no answer. */
  readonly status: number
  readonly durationMs: number
  /** Reason why there is no answer; "" = there is one. */
  readonly error: string
  /** The first KiB of the body. */
  readonly answer: string
  /** Stated by the receiver; null = not stated. */
  readonly retryAfterMs: number | null
}

/** Sends signed requests. Throws only for bugs; every behaviour of a receiver is a result. */
export interface WebhookSender {
  /** @param events in the order of their keys; at least one */
  send(target: SendTarget, events: readonly LoggedEvent[], signal: AbortSignal): Promise<SendResult>
}
