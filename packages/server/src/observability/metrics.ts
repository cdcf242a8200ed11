import type { BatchObserver } from '../lib/concurrency/batch-queue.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { DeliveryMetrics } from './delivery-metrics.js'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from './prom-client.js'

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const taskBuckets = [0.01, 0.1, 1, 10, 60, 300]
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** Kinds of batches. */
type BatchKind = 'messages' | 'positions' | 'files'

interface BatchFigures {
  readonly name: string
  readonly unit: string
  readonly text: string
  readonly queued: () => number
}

/** Figures of the checkpoints of the embedded database. */
export interface CheckpointFigures {
  readonly seconds: number
  readonly stoppedSeconds: number
  readonly failures: number
  readonly walBytes: number
  readonly walFileBytes: number
}

/** Figures of one queue of logins or registrations. */
export interface LoginFigures {
  /** The purpose of the queue; queues of the same purpose are added up. */
  readonly purpose: string
  readonly waiting: number
  /** Counted since the start. */
  readonly refused: number
}

/** Figures of what the service holds for its clients. */
export interface ConnectionFigures {
  readonly connections: number
  readonly waitingRequests: number
  readonly unreadBytes: number
  readonly bodyBytes: number
}

/** Uses of the database since the start, by outcome. */
export interface DatabaseFigures {
  readonly failedReads: number
  readonly failedWrites: number
  readonly statementsGivenUp: number
  /** Transactions that run or wait. */
  readonly writesInProgress: number
  readonly isFailing: boolean
}

/** Rows of the history that retention has removed. */
export interface HistoryFigures {
  readonly messages: number
  readonly recalled: number
  readonly changes: number
}

/** The expiry of a push certificate. */
export interface CertificateFigures {
  readonly appId: string
  readonly name: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The figures of one process, in the Prometheus format. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new Histogram({
    name: 'hermod_request_duration_seconds',
    help: 'Time from the arrival of a call, with its body, to its answer, by operation.',
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
  readonly #consumerLag = new Gauge({
    name: 'hermod_outbox_consumer_lag_rows',
    help: 'Rows of the outbox that a consumer has not handled yet, said by the node that runs it.',
    labelNames: ['consumer'] as const,
    registers: [this.#registry],
  })
  readonly #consumersLeftBehind = new Counter({
    name: 'hermod_outbox_consumers_left_behind_total',
    help: 'How often events were deleted before a consumer had handled them.',
    labelNames: ['consumer'] as const,
    registers: [this.#registry],
  })
  readonly #jobs = new Counter({
    name: 'hermod_jobs_total',
    help: 'Runs of durable jobs by kind and outcome: done, retried, failed, expired, interrupted or lost.',
    labelNames: ['kind', 'outcome'] as const,
    registers: [this.#registry],
  })
  readonly #jobSeconds = new Histogram({
    name: 'hermod_job_duration_seconds',
    help: 'Time that a run of durable jobs takes, by kind.',
    labelNames: ['kind'] as const,
    buckets: taskBuckets,
    registers: [this.#registry],
  })
  readonly #overdueJobs = new Gauge({
    name: 'hermod_jobs_overdue_seconds',
    help: 'For how long the durable job that waits for longest could have been run, by kind.',
    labelNames: ['kind'] as const,
    registers: [this.#registry],
  })
  readonly #maintenance = new Counter({
    name: 'hermod_maintenance_runs_total',
    help: 'Runs of maintenance tasks on this node by task and outcome: done or failed.',
    labelNames: ['task', 'outcome'] as const,
    registers: [this.#registry],
  })
  readonly #maintenanceSeconds = new Histogram({
    name: 'hermod_maintenance_duration_seconds',
    help: 'Time that a run of a maintenance task takes, by task.',
    labelNames: ['task'] as const,
    buckets: taskBuckets,
    registers: [this.#registry],
  })
  readonly #historyRemoved = new Counter({
    name: 'hermod_history_removed_total',
    help: 'Rows of the history that were removed because of their age: messages, recalled (what was left of recalled messages) or changes.',
    labelNames: ['rows'] as const,
    registers: [this.#registry],
  })
  readonly #pushOutcomes = new Counter({
    name: 'hermod_push_outcomes_total',
    help: 'What came of tries to push to devices, by channel and kind: accepted, invalid_token, throttled, quota, server_error, network, payload, config, suppressed, held_back.',
    labelNames: ['channel', 'kind'] as const,
    registers: [this.#registry],
  })
  readonly #receipts = new Counter({
    name: 'hermod_push_receipts_total',
    help: 'Receipts of push gateways by channel and result: received (counts a device), noted, repeated, unknown; requests that were refused or malformed.',
    labelNames: ['channel', 'result'] as const,
    registers: [this.#registry],
  })
  readonly #webhookRequests = new Histogram({
    name: 'hermod_webhook_request_duration_seconds',
    help: 'Time from sending a request to an endpoint of webhooks to its answer or failure, by outcome.',
    labelNames: ['outcome'] as const,
    buckets: requestBuckets,
    registers: [this.#registry],
  })
  readonly #webhookEvents = new Counter({
    name: 'hermod_webhook_events_total',
    help: 'Events in requests to endpoints of webhooks, by outcome.',
    labelNames: ['outcome'] as const,
    registers: [this.#registry],
  })
  readonly #webhooksDisabled = new Counter({
    name: 'hermod_webhooks_disabled_total',
    help: 'Endpoints of webhooks that the service disabled, by reason: gone, failing.',
    labelNames: ['reason'] as const,
    registers: [this.#registry],
  })
  readonly #closedConnections = new Counter({
    name: 'hermod_connections_closed_total',
    help: 'Connections that were closed at a bound, by reason: connections, address_connections, waiting_requests, unread_bytes, unread_stalled, body_stalled.',
    labelNames: ['reason'] as const,
    registers: [this.#registry],
  })
  readonly #refusedRequests = new Counter({
    name: 'hermod_requests_refused_total',
    help: 'Requests that were answered 503 at a bound, by reason: unread_bytes, body_bytes, files.',
    labelNames: ['reason'] as const,
    registers: [this.#registry],
  })
  readonly delivery = new DeliveryMetrics(this.#registry)
  /** Observes the bounds of connections and requests. */
  readonly bounds = {
    closed: (reason: string) => this.#closedConnections.inc({ reason }),
    refused: (reason: string) => this.#refusedRequests.inc({ reason }),
  }
  readonly #gatewayFrames = new Counter({
    name: 'hermod_gateway_frames_total',
    help: 'Frames of WebSocket clients, pings and pongs included.',
    registers: [this.#registry],
  })
  readonly #gatewayRefusals = new Counter({
    name: 'hermod_gateway_refused_total',
    help: 'Handshakes and frames of WebSocket clients that were refused before a call began, by the name of the error.',
    labelNames: ['error'] as const,
    registers: [this.#registry],
  })
  readonly #gatewayOpens = new Histogram({
    name: 'hermod_gateway_open_duration_seconds',
    help: 'Time from the frame session.open to its answer, of sessions that were opened.',
    buckets: requestBuckets,
    registers: [this.#registry],
  })
  readonly #gatewayCloses = new Counter({
    name: 'hermod_gateway_closed_total',
    help: 'WebSocket connections that have ended, by close code; 1006: the connection was cut.',
    labelNames: ['code'] as const,
    registers: [this.#registry],
  })
  /** Observes the connections of the gateway. */
  readonly gateway = {
    received: () => this.#gatewayFrames.inc(),
    refused: (error: string) => this.#gatewayRefusals.inc({ error }),
    opened: (seconds: number) => this.#gatewayOpens.observe(seconds),
    closed: (code: number) => this.#gatewayCloses.inc({ code }),
  }
  /** Children by label: a look-up through prom-client costs more than counting. */
  readonly #byOperation = new Map<
    string,
    { duration: { observe(value: number): void }; answers: Map<number, { inc(): void }> }
  >()

  /** Observers of the batches that are committed. */
  readonly batches: Readonly<Record<BatchKind, BatchObserver>>

  /** @param queued the size that waits for a commit now */
  constructor(queued: Readonly<Record<BatchKind | 'messageBytes', () => number>>) {
    collectDefaultMetrics({ register: this.#registry })
    new Gauge({
      name: 'hermod_message_queue_bytes',
      help: 'Text of messages that waits for a commit or is being committed.',
      registers: [this.#registry],
      collect() {
        this.set(queued.messageBytes())
      },
    })
    this.batches = {
      messages: this.#watchBatches({
        name: 'message',
        unit: 'messages',
        text: 'messages',
        queued: queued.messages,
      }),
      positions: this.#watchBatches({
        name: 'mark',
        unit: 'moves',
        text: 'moves of marks, with the receipts that they make',
        queued: queued.positions,
      }),
      files: this.#watchBatches({
        name: 'file',
        unit: 'files',
        text: 'uploaded files',
        queued: queued.files,
      }),
    }
  }

  #watchBatches({ name, unit, text, queued }: BatchFigures): BatchObserver {
    const registers = [this.#registry]
    new Gauge({
      name: `hermod_${name}_queue_${unit}`,
      help: `What waits for a commit: ${text}.`,
      registers,
      collect() {
        this.set(queued())
      },
    })
    const commits = new Histogram({
      name: `hermod_${name}_commit_duration_seconds`,
      help: `Time that a batch takes to become durable: ${text}.`,
      buckets: commitBuckets,
      registers,
    })
    const sizes = new Histogram({
      name: `hermod_${name}_batch_${unit}`,
      help: `What was committed together: ${text}.`,
      buckets: batchBuckets,
      registers,
    })
    const failures = new Counter({
      name: `hermod_${name}_commit_failures_total`,
      help: `Batches that could not be stored: ${text}.`,
      registers,
    })
    const refusals = new Counter({
      name: `hermod_${name}_queue_refusals_total`,
      help: `Calls that were answered 503 because too much waited for a commit: ${text}.`,
      registers,
    })
    return {
      refused: () => refusals.inc(),
      finished({ size, seconds, failed }) {
        commits.observe(seconds)
        sizes.observe(size)
        if (failed) failures.inc()
      },
    }
  }

  /** @param read returns the current figures */
  watchConnections(read: () => ConnectionFigures): void {
    this.#gaugesOf(read, [
      ['hermod_connections', 'Open connections.', ({ connections }) => connections],
      [
        'hermod_waiting_requests',
        'Requests that wait on their connection for the answers before them.',
        ({ waitingRequests }) => waitingRequests,
      ],
      [
        'hermod_unread_answer_bytes',
        'Bytes of answers that clients have not taken.',
        ({ unreadBytes }) => unreadBytes,
      ],
      [
        'hermod_arriving_body_bytes',
        'Memory of request bodies that are on their way.',
        ({ bodyBytes }) => bodyBytes,
      ],
    ])
  }

  /** @param read returns the current figures */
  watchGateway(
    read: () => {
      readonly connections: number
      readonly unopened: number
      readonly waitingCallBytes: number
      readonly sessions: number
      readonly memberships: number
      readonly followedUsers: number
    },
  ): void {
    this.#gaugesOf(read, [
      [
        'hermod_gateway_connections',
        'Open WebSocket connections.',
        ({ connections }) => connections,
      ],
      [
        'hermod_gateway_unopened_connections',
        'WebSocket connections that have not sent session.open.',
        ({ unopened }) => unopened,
      ],
      ['hermod_gateway_sessions', 'Open sessions.', ({ sessions }) => sessions],
      [
        'hermod_gateway_waiting_call_bytes',
        'Bytes of frames whose calls wait for other calls of their connection.',
        ({ waitingCallBytes }) => waitingCallBytes,
      ],
      [
        'hermod_delivery_memberships',
        'Memberships in groups that delivery knows of connected users.',
        ({ memberships }) => memberships,
      ],
      [
        'hermod_presence_followed_users',
        'Users in presence lists; one counts once for each user who follows it.',
        ({ followedUsers }) => followedUsers,
      ],
    ])
  }

  /** @param read returns the figures of checkpoints since the start */
  watchCheckpoints(read: () => CheckpointFigures): void {
    this.#countersOf(read, [
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
    ])
    this.#gaugesOf(read, [
      [
        'hermod_wal_bytes',
        'What the write-ahead log held at the last checkpoint.',
        ({ walBytes }) => walBytes,
      ],
      [
        'hermod_wal_file_bytes',
        'Size of the file of the write-ahead log.',
        ({ walFileBytes }) => walFileBytes,
      ],
    ])
  }

  /** @param read returns the space of the disk of the files now */
  watchDisk(read: () => { readonly free: number; readonly floor: number }): void {
    this.#gaugesOf(read, [
      [
        'hermod_disk_free_bytes',
        'Free space on the disk of the files, and of uploads on their way to another store.',
        ({ free }) => free,
      ],
      [
        'hermod_disk_floor_bytes',
        'Free space below which uploads and thumbnails are refused.',
        ({ floor }) => floor,
      ],
    ])
  }

  /** @param lead returns the seconds by which the clock of IDs is ahead of the machine's */
  watchIds(lead: () => number): void {
    this.#gaugesOf(lead, [
      [
        'hermod_id_clock_ahead_seconds',
        'Seconds by which the next message ID is ahead of the clock of the machine; far above 0 after a clock was wrong.',
        (seconds) => seconds,
      ],
    ])
  }

  /** @param read returns the uses of the database since the start */
  watchDatabase(read: () => DatabaseFigures): void {
    this.#countersOf(read, [
      [
        'hermod_database_failed_reads_total',
        'Reads that the database could not do.',
        ({ failedReads }) => failedReads,
      ],
      [
        'hermod_database_failed_writes_total',
        'Transactions that the database could not do, or of which it did not say whether it had.',
        ({ failedWrites }) => failedWrites,
      ],
      [
        'hermod_database_statements_given_up_total',
        'Statements that PostgreSQL did not answer in time.',
        ({ statementsGivenUp }) => statementsGivenUp,
      ],
    ])
    this.#gaugesOf(read, [
      [
        'hermod_database_failing',
        '1 from the first failure of the database until the next commit.',
        ({ isFailing }) => (isFailing ? 1 : 0),
      ],
      [
        'hermod_database_writes_under_way',
        'Transactions that run or wait for their turn.',
        ({ writesInProgress }) => writesInProgress,
      ],
    ])
  }

  /** Registers gauges whose values are read at each collection: name, help, value. */
  #gaugesOf<Figures>(
    read: () => Figures,
    gauges: readonly (readonly [string, string, (figures: Figures) => number])[],
  ): void {
    for (const [name, help, value] of gauges)
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.set(value(read()))
        },
      })
  }

  /** Registers counters whose values are read at each collection: name, help, value. */
  #countersOf<Figures>(
    read: () => Figures,
    counters: readonly (readonly [string, string, (figures: Figures) => number])[],
  ): void {
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
  }

  /** @param read returns the queues of logins and registrations */
  watchLogins(read: () => readonly LoginFigures[]): void {
    const labelNames = ['purpose'] as const
    const registers = [this.#registry]
    new Gauge({
      name: 'hermod_password_queue_passwords',
      help: 'Logins, changes of accounts and registrations that wait for their password or for the database, by purpose: login, registration, or admin for all with an Admin token.',
      labelNames,
      registers,
      collect() {
        this.reset()
        for (const { purpose, waiting } of read()) this.inc({ purpose }, waiting)
      },
    })
    new Counter({
      name: 'hermod_password_refusals_total',
      help: 'Logins, changes of accounts and registrations that were refused because too many waited, by purpose.',
      labelNames,
      registers,
      collect() {
        this.reset()
        for (const { purpose, refused } of read()) this.inc({ purpose }, refused)
      },
    })
  }

  /** @param list returns push certificates that expire; called at every collection */
  watchCertificates(list: () => MaybePromise<readonly CertificateFigures[]>): void {
    new Gauge({
      name: 'hermod_push_certificate_expiry_timestamp_seconds',
      help: 'When a push certificate expires, by application and name; those that do not are left out.',
      labelNames: ['app', 'certificate'] as const,
      registers: [this.#registry],
      async collect() {
        // Without the database, the values of the last collection stay.
        const certificates = await Promise.resolve(list()).catch(() => null)
        if (certificates === null) return
        this.reset()
        for (const { appId: app, name: certificate, expiresAt } of certificates)
          this.set({ app, certificate }, expiresAt / 1_000)
      },
    })
  }

  /** @param read returns the number of paused certificates, by channel */
  watchCircuits(read: () => Readonly<Record<string, number>>): void {
    new Gauge({
      name: 'hermod_push_open_circuits',
      help: 'Push certificates that nothing is sent with for now, since their gateway refuses the set-up or is down, by channel.',
      labelNames: ['channel'] as const,
      registers: [this.#registry],
      collect() {
        for (const [channel, count] of Object.entries(read())) this.set({ channel }, count)
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

  consumerLags(consumer: string, rows: number): void {
    this.#consumerLag.set({ consumer }, rows)
  }

  consumerLeftBehind(consumer: string): void {
    this.#consumersLeftBehind.inc({ consumer })
  }

  jobFinished(kind: string, outcome: string, jobs: number, seconds: number): void {
    this.#jobs.inc({ kind, outcome }, jobs)
    this.#jobSeconds.observe({ kind }, seconds)
  }

  jobsOverdue(kind: string, ms: number): void {
    this.#overdueJobs.set({ kind }, ms / 1_000)
  }

  maintenanceFinished(task: string, outcome: string, seconds: number): void {
    this.#maintenance.inc({ task, outcome })
    this.#maintenanceSeconds.observe({ task }, seconds)
  }

  historyRemoved(removed: HistoryFigures): void {
    for (const [rows, count] of Object.entries(removed))
      if (count > 0) this.#historyRemoved.inc({ rows }, count)
  }

  pushOutcomes(channel: string, kind: string, count: number): void {
    this.#pushOutcomes.inc({ channel, kind }, count)
  }

  receiptsCounted(channel: string, result: string, count: number): void {
    if (count > 0) this.#receipts.inc({ channel, result }, count)
  }

  webhookSent(outcome: string, durationMs: number, events: number): void {
    this.#webhookRequests.observe({ outcome }, durationMs / 1000)
    this.#webhookEvents.inc({ outcome }, events)
  }

  webhookDisabled(reason: string): void {
    this.#webhooksDisabled.inc({ reason })
  }

  /** The text of /metrics and its content type. */
  async render(): Promise<{ readonly contentType: string; readonly text: string }> {
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() }
  }
}
