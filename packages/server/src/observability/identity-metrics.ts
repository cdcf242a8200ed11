import type { MetricRegistry } from './metric-registry.js'
import type { Counter } from './prom-client.js'

/** Assertions that other systems give for their users. */
export class IdentityMetrics {
  readonly #refusals: Counter<'reason'>

  constructor(registry: MetricRegistry) {
    this.#refusals = registry.counter(
      'hermod_assertion_refusals_total',
      'Assertions that were refused, by reason: the words of hermod identity test.',
      ['reason'],
    )
  }

  refused(reason: string): void {
    this.#refusals.inc({ reason })
  }
}
