import type { webhookOutcomes } from '@hermod/protocol'
import type { LoggedEvent } from '../domain/events/logged-event.js'
import type { Clock } from '../lib/clock.js'
import {
  ForbiddenAddressError,
  type OutboundAnswer,
  type OutboundClient,
} from '../lib/outbound/outbound-client.js'
import { signatureHeaders } from '../lib/secrets/webhook-signature.js'
import { callbackBody, standardBody } from './bodies.js'
import { maxPauseMs } from './dispatcher/retry-rules.js'
import type { SendResult, SendTarget, WebhookSender } from '../domain/webhooks/webhook-sender.js'

interface HttpSenderOptions {
  readonly client: Pick<OutboundClient, 'post'>
  readonly clock: Clock
  /** Returns the epoch of the database, for cursors. */
  readonly epoch: () => string
  readonly userAgent: string
}

const keptAnswerBytes = 1024

/** Sends requests over HTTP. */
export class HttpSender implements WebhookSender {
  constructor(private readonly options: HttpSenderOptions) {}

  async send(
    target: SendTarget,
    events: readonly LoggedEvent[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    if (target.secrets.length === 0)
      return { ...notSent, outcome: 'unavailable', error: 'no key decrypts the secret' }
    const request = this.#request(target, events)
    if (request === null) return notSent
    const startedAt = performance.now()
    const { url, timeoutMs } = target
    const share = events[0]?.appId ?? ''
    try {
      const sent = { url, ...request, timeoutMs, share, signal }
      const answer = await this.options.client.post(sent)
      return this.#resultOf(answer, performance.now() - startedAt)
    } catch (error) {
      return {
        ...notSent,
        outcome: error instanceof ForbiddenAddressError ? 'forbidden' : 'unavailable',
        durationMs: Math.round(performance.now() - startedAt),
        error: requestErrorText(error),
      }
    }
  }

  /** @returns null when the format has no body for the event */
  #request({ format, isBatch, secrets }: SendTarget, events: readonly LoggedEvent[]) {
    const { clock, epoch, userAgent } = this.options
    const [first] = events
    if (first === undefined) return null
    const headers = { 'content-type': 'application/json', 'user-agent': userAgent }
    if (format === 'callback') {
      const body = callbackBody(first)
      return body === null ? null : { headers: { ...headers, signature: secrets[0] ?? '' }, body }
    }
    const body = standardBody(events, { epoch: epoch(), isBatch })
    const timestamp = Math.floor(clock.now() / 1000)
    const signed = signatureHeaders({ id: first.id, timestamp, body }, secrets)
    return { headers: { ...headers, ...signed }, body }
  }

  #resultOf({ status, headers, body }: OutboundAnswer, durationMs: number): SendResult {
    return {
      outcome: outcomeOfStatus(status),
      status,
      durationMs: Math.round(durationMs),
      error: '',
      answer: body.subarray(0, keptAnswerBytes).toString().replaceAll('\u0000', ''),
      retryAfterMs: this.#retryAfter(headers['retry-after']),
    }
  }

  /** Reads seconds, or a date. */
  #retryAfter(value: string | string[] | undefined): number | null {
    const text = Array.isArray(value) ? value[0] : value
    if (text === undefined || text === '') return null
    const ms = /^\d{1,9}$/.test(text)
      ? Number(text) * 1000
      : Date.parse(text) - this.options.clock.now()
    return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), maxPauseMs)
  }
}

/** The format has nothing to send: the event counts as delivered. */
const notSent: SendResult = {
  outcome: 'delivered',
  status: 0,
  durationMs: 0,
  error: '',
  answer: '',
  retryAfterMs: null,
}

/** 4xx answers that say nothing about the events. */
const slowStatuses = [408, 425, 429]

/** Returns the outcome of an answer; redirects are not followed. */
export function outcomeOfStatus(status: number): (typeof webhookOutcomes)[number] {
  if (status >= 200 && status < 300) return 'delivered'
  if (status === 410) return 'gone'
  const isRefused = status >= 400 && status < 500 && !slowStatuses.includes(status)
  return isRefused ? 'refused' : 'unavailable'
}

function requestErrorText(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  if (error.name === 'AbortError') return 'the service ended the request'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && !error.message.includes(code)
    ? `${error.message} (${code})`
    : error.message
}
