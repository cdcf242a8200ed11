import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from './prom-client.js'

/** A metric whose value is read at each collection: name, help, value. */
type ReadMetric<Figures> = readonly [string, string, (figures: Figures) => number]

/** Registers the metrics of one process. */
export class MetricRegistry {
  readonly #registry = new Registry()
  readonly #registers = [this.#registry]

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
  }

  counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: this.#registers })
  }

  /** @param set called at each collection, for gauges that are read then */
  gauge<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    set?: (gauge: Gauge<Label>) => void | Promise<void>,
  ): Gauge<Label> {
    return new Gauge({
      name,
      help,
      labelNames,
      registers: this.#registers,
      ...(set && {
        collect() {
          return set(this as Gauge<Label>)
        },
      }),
    })
  }

  /** @param buckets upper bounds, seconds in a histogram of times */
  histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly Label[] = [],
  ): Histogram<Label> {
    return new Histogram({
      name,
      help,
      labelNames,
      buckets: [...buckets],
      registers: this.#registers,
    })
  }

  /** Registers gauges of the same figures. */
  readGauges<Figures>(read: () => Figures, gauges: readonly ReadMetric<Figures>[]): void {
    for (const [name, help, value] of gauges)
      this.gauge(name, help, [], (gauge) => gauge.set(value(read())))
  }

  /**
   * Registers a counter with one label: values that count from the start, by label; equal labels
   * are added up.
   */
  readLabelled<Label extends string>(
    name: string,
    help: string,
    label: Label,
    read: () => readonly (readonly [string, number])[],
  ): void {
    new Counter<Label>({
      name,
      help,
      labelNames: [label],
      registers: this.#registers,
      collect() {
        this.reset()
        for (const [key, count] of read()) this.labels(key).inc(count)
      },
    })
  }

  /** Registers counters of the same figures, which count from the start of the process. */
  readCounters<Figures>(read: () => Figures, counters: readonly ReadMetric<Figures>[]): void {
    for (const [name, help, value] of counters)
      new Counter({
        name,
        help,
        registers: this.#registers,
        collect() {
          this.reset()
          this.inc(value(read()))
        },
      })
  }

  /** Returns the text in the Prometheus format and its content type. */
  async render(): Promise<{ readonly contentType: string; readonly text: string }> {
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() }
  }
}
