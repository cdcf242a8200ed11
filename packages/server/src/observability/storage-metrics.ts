import type { BatchObserver } from '../lib/concurrency/batch-queue.js'
import type { MetricRegistry } from './metric-registry.js'

const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** Kinds of batches. */
export type BatchKind = 'messages' | 'chunks' | 'positions' | 'files' | 'devices' | 'sessions'

/** Figures of the checkpoints of the embedded database. */
export interface CheckpointFigures {
  readonly seconds: number
  readonly stoppedSeconds: number
  readonly failures: number
  readonly walBytes: number
  readonly walFileBytes: number
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

/** The database, the batches that are committed, the disk and the clock of IDs. */
export class StorageMetrics {
  #storedMessages = 0
  /** Observers of the batches that are committed. */
  readonly batches: Readonly<Record<BatchKind, BatchObserver>>

  /** @param queued the size that waits for a commit now */
  constructor(
    private readonly registry: MetricRegistry,
    queued: Readonly<Record<BatchKind | 'messageBytes', () => number>>,
  ) {
    registry.readGauges(queued.messageBytes, [
      [
        'hermod_message_queue_bytes',
        'Bytes of message text that wait for a commit or are being committed.',
        (bytes) => bytes,
      ],
    ])
    const messages = this.#watchBatches('message', 'messages', 'messages', queued.messages)
    this.batches = {
      messages: {
        ...messages,
        finished: (batch) => {
          messages.finished(batch)
          if (!batch.failed) this.#storedMessages += batch.size
        },
      },
      chunks: this.#watchBatches('chunk', 'chunks', 'chunks of streams', queued.chunks),
      positions: this.#watchBatches(
        'position',
        'moves',
        'moves of read and delivered positions, with the receipts that they make',
        queued.positions,
      ),
      files: this.#watchBatches('file', 'files', 'uploaded files', queued.files),
      devices: this.#watchBatches(
        'device',
        'devices',
        'devices that connect for the first time, after an hour, or with another client',
        queued.devices,
      ),
      sessions: this.#watchBatches(
        'session',
        'sessions',
        'sessions that open, on PostgreSQL',
        queued.sessions,
      ),
    }
  }

  /** The number of messages since the start. */
  get storedMessages(): number {
    return this.#storedMessages
  }

  #watchBatches(name: string, unit: string, text: string, queued: () => number): BatchObserver {
    const { registry } = this
    registry.readGauges(queued, [
      [`hermod_${name}_queue_${unit}`, `Waiting for a commit: ${text}.`, (size) => size],
    ])
    const commits = registry.histogram(
      `hermod_${name}_commit_duration_seconds`,
      `Time until a batch is durable: ${text}.`,
      commitBuckets,
    )
    const sizes = registry.histogram(
      `hermod_${name}_batch_${unit}`,
      `Size of a batch: ${text}.`,
      batchBuckets,
    )
    const failures = registry.counter(
      `hermod_${name}_commit_failures_total`,
      `Batches that could not be stored: ${text}.`,
    )
    const refusals = registry.counter(
      `hermod_${name}_queue_refusals_total`,
      `Calls that were answered 503 because too much waited for a commit: ${text}.`,
    )
    return {
      refused: () => refusals.inc(),
      finished({ size, seconds, failed }) {
        commits.observe(seconds)
        sizes.observe(size)
        if (failed) failures.inc()
      },
    }
  }

  /** @param read returns the figures of checkpoints since the start */
  watchCheckpoints(read: () => CheckpointFigures): void {
    this.registry.readCounters(read, [
      [
        'hermod_checkpoint_seconds_total',
        'Time of checkpoints that run in parallel with the writer.',
        ({ seconds }) => seconds,
      ],
      [
        'hermod_checkpoint_stopped_seconds_total',
        'Time for which the writer was paused for a checkpoint.',
        ({ stoppedSeconds }) => stoppedSeconds,
      ],
      [
        'hermod_checkpoint_failures_total',
        'Checkpoints that failed and were tried again.',
        ({ failures }) => failures,
      ],
    ])
    this.registry.readGauges(read, [
      [
        'hermod_wal_bytes',
        'Bytes in use of the write-ahead log at the last checkpoint.',
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
    this.registry.readGauges(read, [
      [
        'hermod_disk_free_bytes',
        'Free space on the disk of the files, and of uploads in progress to another store.',
        ({ free }) => free,
      ],
      [
        'hermod_disk_floor_bytes',
        'Free space below which uploads and thumbnails are refused.',
        ({ floor }) => floor,
      ],
    ])
  }

  /** @param read returns the names of all states, and the one of the service */
  watchState(read: () => { readonly states: readonly string[]; readonly current: string }): void {
    this.registry.gauge(
      'hermod_service_state',
      'State of the service: 1 for the one that it has.',
      ['state'],
      (gauge) => {
        const { states, current } = read()
        for (const state of states) gauge.set({ state }, state === current ? 1 : 0)
      },
    )
  }

  /** @param read returns the backups of the schedule; null: there are none */
  watchBackups(
    read: () => {
      readonly newestAt: number | null
      readonly verifiedAt: number | null
      readonly isEncrypted: boolean
    } | null,
  ): void {
    this.registry.readGauges(read, [
      [
        'hermod_backup_last_success_seconds',
        'Unix time of the newest complete backup in HERMOD_BACKUP_DIR; 0 = none.',
        (state) => (state?.newestAt ?? 0) / 1_000,
      ],
      [
        'hermod_backup_last_verified_seconds',
        'Unix time at which a backup in HERMOD_BACKUP_DIR was verified last; 0 = never.',
        (state) => (state?.verifiedAt ?? 0) / 1_000,
      ],
      [
        'hermod_backup_encrypted',
        '1 when the newest complete backup in HERMOD_BACKUP_DIR is encrypted.',
        (state) => (state?.isEncrypted ? 1 : 0),
      ],
    ])
  }

  /** @param lead returns the seconds by which the clock of IDs is ahead of the machine's */
  watchIds(lead: () => number): void {
    this.registry.readGauges(lead, [
      [
        'hermod_id_clock_ahead_seconds',
        'Seconds by which the next message ID is ahead of the clock of the machine; far above 0 after a clock was wrong.',
        (seconds) => seconds,
      ],
    ])
  }

  /** @param read returns the uses of the database since the start */
  watchDatabase(read: () => DatabaseFigures): void {
    this.registry.readCounters(read, [
      [
        'hermod_database_failed_reads_total',
        'Reads that failed in the database.',
        ({ failedReads }) => failedReads,
      ],
      [
        'hermod_database_failed_writes_total',
        'Transactions that failed in the database, or whose outcome it did not report.',
        ({ failedWrites }) => failedWrites,
      ],
      [
        'hermod_database_statements_given_up_total',
        'Statements that PostgreSQL did not answer in time.',
        ({ statementsGivenUp }) => statementsGivenUp,
      ],
    ])
    this.registry.readGauges(read, [
      [
        'hermod_database_failing',
        '1 from the first failure of the database until the next commit.',
        ({ isFailing }) => (isFailing ? 1 : 0),
      ],
      [
        'hermod_database_writes_in_progress',
        'Transactions that run or wait.',
        ({ writesInProgress }) => writesInProgress,
      ],
    ])
  }
}
