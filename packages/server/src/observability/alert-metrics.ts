import type { MetricRegistry } from './metric-registry.js'
import type { Counter } from './prom-client.js'

/** Alerts to the operator. */
export class AlertMetrics {
  readonly #raised: Counter<'kind'>
  readonly #sent: Counter<'outcome'>

  constructor(registry: MetricRegistry) {
    this.#raised = registry.counter(
      'hermod_alerts_total',
      'Alerts that this node raised, by kind.',
      ['kind'],
    )
    this.#sent = registry.counter(
      'hermod_alert_requests_total',
      'Requests to the receiver of alerts, by outcome: delivered, failed.',
      ['outcome'],
    )
  }

  raised(kind: string): void {
    this.#raised.inc({ kind })
  }

  sent(outcome: string): void {
    this.#sent.inc({ outcome })
  }
}
