import type { MetricRegistry } from './metric-registry.js'
import type { Counter, Histogram } from './prom-client.js'

/** Upper bounds of the times of calls and requests, seconds. */
export const requestBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** The calls of operations, over every transport. */
export class RequestMetrics {
  readonly #durations: Histogram<'operation'>
  readonly #answers: Counter<'operation' | 'code'>
  /** Children by label: a look-up through prom-client costs more than counting. */
  readonly #byOperation = new Map<
    string,
    { duration: { observe(value: number): void }; answers: Map<number, { inc(): void }> }
  >()

  constructor(registry: MetricRegistry) {
    this.#durations = registry.histogram(
      'hermod_request_duration_seconds',
      'Time from the arrival of a call, with its body, to its answer, by operation.',
      requestBuckets,
      ['operation'],
    )
    this.#answers = registry.counter(
      'hermod_request_answers_total',
      'Answers by operation and envelope code.',
      ['operation', 'code'],
    )
  }

  finished(operation: string, code: number, seconds: number): void {
    let known = this.#byOperation.get(operation)
    if (!known) {
      known = { duration: this.#durations.labels({ operation }), answers: new Map() }
      this.#byOperation.set(operation, known)
    }
    known.duration.observe(seconds)
    let answer = known.answers.get(code)
    if (!answer) {
      answer = this.#answers.labels({ operation, code: String(code) })
      known.answers.set(code, answer)
    }
    answer.inc()
  }
}
