import type { MetricRegistry } from './metric-registry.js'
import type { Counter } from './prom-client.js'

/** The messages between the nodes that share a database. */
export class BusMetrics {
  readonly #sent: Counter
  readonly #bytes: Counter
  readonly #received: Counter
  readonly #lost: Counter<'reason'>
  readonly #reconnections: Counter

  constructor(private readonly registry: MetricRegistry) {
    this.#sent = registry.counter(
      'hermod_bus_sent_messages_total',
      'Messages that this node has sent to the others.',
    )
    this.#bytes = registry.counter('hermod_bus_sent_bytes_total', 'Bytes of these messages.')
    this.#received = registry.counter(
      'hermod_bus_received_messages_total',
      'Messages that other nodes have sent.',
    )
    this.#lost = registry.counter(
      'hermod_bus_lost_messages_total',
      'Messages that were not sent or not understood, by reason. What they announce is found by polling, except for events that are not stored.',
      ['reason'],
    )
    this.#reconnections = registry.counter(
      'hermod_bus_reconnections_total',
      'Times that messages of other nodes arrived again after an interruption.',
    )
  }

  sent(messages: number, bytes: number): void {
    this.#sent.inc(messages)
    this.#bytes.inc(bytes)
  }

  received(messages: number): void {
    this.#received.inc(messages)
  }

  lost(reason: string, messages: number): void {
    this.#lost.inc({ reason }, messages)
  }

  reconnected(): void {
    this.#reconnections.inc()
  }

  /** @param isConnected tells whether messages arrive now */
  watch(isConnected: () => boolean): void {
    this.registry.readGauges(isConnected, [
      ['hermod_bus_connected', '1 while messages of other nodes arrive.', Number],
    ])
  }
}
