import type { MetricRegistry } from './metric-registry.js'
import type { Counter, Histogram } from './prom-client.js'

const lagBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const fanOutBuckets = [0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

/** The figures of delivery to connected sessions. */
export class DeliveryMetrics {
  readonly #begun: Counter
  readonly #written: Counter
  readonly #skips: Counter
  readonly #missed: Counter
  readonly #lag: Histogram
  readonly #fanOuts: Histogram

  constructor(registry: MetricRegistry) {
    this.#begun = registry.counter(
      'hermod_delivery_events_total',
      'Committed events that delivery has sent to their sessions.',
    )
    this.#written = registry.counter(
      'hermod_delivery_receivers_total',
      'Sessions that events were written to, counted for each write.',
    )
    this.#skips = registry.counter(
      'hermod_delivery_skipped_sessions_total',
      'Times that events of a session were skipped until it synced, because it had too many unread bytes.',
    )
    this.#missed = registry.counter(
      'hermod_delivery_missed_total',
      'Times that events were purged before delivery had sent them, so that all sessions of an app had to sync.',
    )
    this.#lag = registry.histogram(
      'hermod_delivery_lag_seconds',
      'Time from the commit of an event to its first write.',
      lagBuckets,
    )
    this.#fanOuts = registry.histogram(
      'hermod_delivery_fan_out_seconds',
      'Time from the first write of an event to its last one.',
      fanOutBuckets,
    )
  }

  began(events: number, lagMs: number): void {
    this.#begun.inc(events)
    this.#lag.observe(Math.max(0, lagMs) / 1_000)
  }

  fannedOut(receivers: number, seconds: number): void {
    this.#written.inc(receivers)
    this.#fanOuts.observe(seconds)
  }

  skipped(): void {
    this.#skips.inc()
  }

  missed(): void {
    this.#missed.inc()
  }
}
