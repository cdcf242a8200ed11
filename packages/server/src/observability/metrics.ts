import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** What checkpoints of the embedded database did. */
export interface CheckpointFigures {
  readonly seconds: number
  readonly stoppedSeconds: number
  readonly failures: number
  readonly walBytes: number
}

/** The figures of one process, in the Prometheus format. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new Histogram({
    name: 'hermod_request_duration_seconds',
    help: 'Time from the arrival of a call to its answer, by operation.',
    labelNames: ['operation'] as const,
    buckets: requestBuckets,
    registers: [this.#registry],
  })
  readonly #answers = new Counter({
    name: 'hermod_request_answers_total',
    help: 'Answers by operation and envelope code.',
    labelNames: ['operation', 'code'] as const,
    registers: [this.#registry],
  })
  readonly #commits = new Histogram({
    name: 'hermod_message_commit_duration_seconds',
    help: 'Time that a batch of messages takes to become durable.',
    buckets: commitBuckets,
    registers: [this.#registry],
  })
  readonly #batches = new Histogram({
    name: 'hermod_message_batch_messages',
    help: 'Messages that were committed together.',
    buckets: batchBuckets,
    registers: [this.#registry],
  })
  readonly #failedCommits = new Counter({
    name: 'hermod_message_commit_failures_total',
    help: 'Batches of messages that could not be stored.',
    registers: [this.#registry],
  })
  /** Children by label, because looking them up through prom-client costs more than counting. */
  readonly #byOperation = new Map<
    string,
    { duration: { observe(value: number): void }; answers: Map<number, { inc(): void }> }
  >()

  /** @param queuedMessages how many messages wait for a commit now */
  constructor(queuedMessages: () => number) {
    collectDefaultMetrics({ register: this.#registry })
    new Gauge({
      name: 'hermod_message_queue_messages',
      help: 'Messages that wait for a commit.',
      registers: [this.#registry],
      collect() {
        this.set(queuedMessages())
      },
    })
  }

  /** @param read what the checkpoints of the embedded database did since the start */
  watchCheckpoints(read: () => CheckpointFigures): void {
    const counters: [string, string, (figures: CheckpointFigures) => number][] = [
      [
        'hermod_checkpoint_seconds_total',
        'Time of checkpoints beside the writer.',
        ({ seconds }) => seconds,
      ],
      [
        'hermod_checkpoint_stopped_seconds_total',
        'Time in which the writer stood still for a checkpoint.',
        ({ stoppedSeconds }) => stoppedSeconds,
      ],
      [
        'hermod_checkpoint_failures_total',
        'Checkpoints that failed and were tried again.',
        ({ failures }) => failures,
      ],
    ]
    for (const [name, help, value] of counters)
      new Counter({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.reset()
          this.inc(value(read()))
        },
      })
    new Gauge({
      name: 'hermod_wal_bytes',
      help: 'What the write-ahead log held at the last checkpoint.',
      registers: [this.#registry],
      collect() {
        this.set(read().walBytes)
      },
    })
  }

  requestFinished(operation: string, code: number, seconds: number): void {
    let known = this.#byOperation.get(operation)
    if (!known) {
      known = { duration: this.#requests.labels({ operation }), answers: new Map() }
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

  batchCommitted({
    messages,
    seconds,
    failed,
  }: {
    readonly messages: number
    readonly seconds: number
    readonly failed: boolean
  }): void {
    this.#commits.observe(seconds)
    this.#batches.observe(messages)
    if (failed) this.#failedCommits.inc()
  }

  /** The text of /metrics and its content type. */
  async render(): Promise<{ readonly contentType: string; readonly text: string }> {
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() }
  }
}
