import { Counter, Histogram, type Registry } from './prom-client.js'

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

  constructor(registry: Registry) {
    const registers = [registry]
    this.#begun = new Counter({
      name: 'hermod_delivery_events_total',
      help: 'Committed events that delivery has sent to the sessions concerned.',
      registers,
    })
    this.#written = new Counter({
      name: 'hermod_delivery_receivers_total',
      help: 'Sessions that events were written to, counted for each write.',
      registers,
    })
    this.#skips = new Counter({
      name: 'hermod_delivery_skipped_sessions_total',
      help: 'How often a session had too much unread, so that its events were skipped until it synced.',
      registers,
    })
    this.#missed = new Counter({
      name: 'hermod_delivery_missed_total',
      help: 'How often events were purged before delivery had sent them, so that all sessions of an app had to sync.',
      registers,
    })
    this.#lag = new Histogram({
      name: 'hermod_delivery_lag_seconds',
      help: 'Time from the commit of an event to its first write.',
      buckets: lagBuckets,
      registers,
    })
    this.#fanOuts = new Histogram({
      name: 'hermod_delivery_fan_out_seconds',
      help: 'Time from the first write of an event to its last one.',
      buckets: fanOutBuckets,
      registers,
    })
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
