import type { MetricRegistry } from './metric-registry.js'
import type { Counter, Histogram } from './prom-client.js'
import { requestBuckets } from './request-metrics.js'

/** Requests to endpoints of webhooks. */
export class WebhookMetrics {
  readonly #requests: Histogram<'outcome'>
  readonly #events: Counter<'outcome'>
  readonly #disabled: Counter<'reason'>

  constructor(registry: MetricRegistry) {
    this.#requests = registry.histogram(
      'hermod_webhook_request_duration_seconds',
      'Time from sending a request to an endpoint of webhooks to its answer or failure, by outcome.',
      requestBuckets,
      ['outcome'],
    )
    this.#events = registry.counter(
      'hermod_webhook_events_total',
      'Events in requests to endpoints of webhooks, by outcome.',
      ['outcome'],
    )
    this.#disabled = registry.counter(
      'hermod_webhooks_disabled_total',
      'Endpoints of webhooks that the service disabled, by reason: gone, failing.',
      ['reason'],
    )
  }

  sent(outcome: string, durationMs: number, events: number): void {
    this.#requests.observe({ outcome }, durationMs / 1_000)
    this.#events.inc({ outcome }, events)
  }

  disabled(reason: string): void {
    this.#disabled.inc({ reason })
  }
}
