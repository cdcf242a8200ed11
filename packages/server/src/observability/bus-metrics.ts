import type { MetricRegistry } from './metric-registry.js'
import type { Counter } from './prom-client.js'

/** The messages between the nodes that share a database. */
export class BusMetrics {
  readonly #sent: Counter<'topic'>
  readonly #bytes: Counter
  readonly #received: Counter<'topic'>
  readonly #lost: Counter<'reason' | 'topic'>
  readonly #reconnections: Counter
  readonly #interrupted: Counter

  constructor(private readonly registry: MetricRegistry) {
    this.#sent = registry.counter(
      'hermod_bus_sent_messages_total',
      'Messages that this node has sent to the others; equal ones of a few milliseconds count once.',
      ['topic'],
    )
    this.#bytes = registry.counter(
      'hermod_bus_sent_bytes_total',
      'Bytes of these messages, as sent.',
    )
    this.#received = registry.counter(
      'hermod_bus_received_messages_total',
      'Messages that other nodes have sent.',
      ['topic'],
    )
    this.#lost = registry.counter(
      'hermod_bus_lost_messages_total',
      'Messages that were not sent or not understood, by reason. What they announce is found by polling, except for events that are not stored.',
      ['reason', 'topic'],
    )
    this.#reconnections = registry.counter(
      'hermod_bus_reconnections_total',
      'Times that messages of other nodes arrived again after an interruption.',
    )
    this.#interrupted = registry.counter(
      'hermod_bus_interrupted_seconds_total',
      'Seconds without messages of other nodes, counted when they arrive again.',
    )
  }

  sent(topics: readonly string[], bytes: number): void {
    for (const topic of topics) this.#sent.inc({ topic })
    this.#bytes.inc(bytes)
  }

  received(topic: string): void {
    this.#received.inc({ topic })
  }

  /** @param topic unknown: of a message that is not understood */
  lost(reason: string, topic: string): void {
    this.#lost.inc({ reason, topic })
  }

  /** @param seconds of the interruption */
  reconnected(seconds: number): void {
    this.#reconnections.inc()
    this.#interrupted.inc(seconds)
  }

  /** @param isConnected tells whether messages arrive now */
  watch(isConnected: () => boolean): void {
    this.registry.readGauges(isConnected, [
      ['hermod_bus_connected', '1 while messages of other nodes arrive.', Number],
    ])
  }
}
