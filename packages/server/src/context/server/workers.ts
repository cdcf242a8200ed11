import type { Bus } from '../../bus/bus.js'
import type { Database } from '../../db/database.js'
import { blobRemoval } from '../../domain/files/removal/file-removal.js'
import { ExpansionPace } from '../../domain/push/audience/expansion-pace.js'
import { AudiencePace, type SendPace, unhurried } from '../../domain/push/sending/send-pace.js'
import {
  type BatchToSend,
  expandTask,
  type SendJob,
  sendAudienceBatch,
  sendBatch,
} from '../../domain/push/tasks/push-jobs.js'
import { jobPurge } from '../../jobs/job-purge.js'
import { type JobRun, JobWorker, jobHandler } from '../../jobs/job-worker.js'
import { MaintenanceScheduler } from '../../jobs/maintenance-scheduler.js'
import type { Clock } from '../../lib/clock.js'
import { Lifecycle } from '../../lib/lifecycle.js'
import { BackgroundPause } from '../../lib/limits/background-pause.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import { isDatabaseFailure } from '../database/database-log.js'
import type { Services } from '../services.js'
import type { Stores } from '../stores.js'
import { textErasureHandler } from '../text-erasures.js'
import { expiryObserver } from './expiry.js'
import { createRelay, outboxObserver } from './outbox.js'

export interface WorkersOptions {
  readonly database: Database
  readonly bus: Bus
  readonly stores: Pick<Stores, 'jobs' | 'leases' | 'outbox' | 'storedMessages'>
  /** How far a consumer may fall behind before events are removed all the same. */
  readonly maxLagMs: number
  readonly services: Pick<
    Services,
    | 'batchOpener'
    | 'batchSender'
    | 'pushPurge'
    | 'certificateExpiry'
    | 'endedBans'
    | 'fileReferences'
    | 'fileRemoval'
    | 'historyRetention'
    | 'messagePushes'
    | 'strayBlobs'
    | 'sweeper'
    | 'taskExpander'
    | 'textErasures'
    | 'tokens'
    | 'unnamedFiles'
    | 'writer'
  >
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
}

/** What the service does without being called. */
export interface Workers {
  start(): Promise<void>
  stop(): Promise<void>
}

const minuteMs = 60_000
/** A task to a million devices takes minutes; killed nodes count as attempts too. */
const expansion = { maxAttempts: 1_000, timeLimitMs: 3_600_000 }
/** A store may be away for a day. */
const removing = { maxAttempts: 1_000 }
/** Gateways answer after seconds, and a batch may wait a second for their rate; the others go on meanwhile. */
const sending = { maxAttempts: 1_000, concurrency: 16 }
/** Of 240 deliveries each: more than most channels take in a second, so that the others are told to come later. */
const sendingAudiences = { maxAttempts: 1_000, concurrency: 8 }

export function createWorkers({
  database,
  bus,
  stores,
  maxLagMs,
  services: {
    batchOpener,
    batchSender,
    pushPurge,
    certificateExpiry,
    endedBans,
    fileReferences,
    fileRemoval,
    historyRetention,
    messagePushes,
    strayBlobs,
    sweeper,
    taskExpander,
    textErasures,
    tokens,
    unnamedFiles,
    writer,
  },
  metrics,
  log,
  clock,
}: WorkersOptions): Workers {
  const jobStore = stores.jobs
  const besideMessages = new BackgroundPause({ count: () => writer.writes })
  const expansionPace = new ExpansionPace(besideMessages, clock, database.dialect.afterCheckpoint)
  const audiencePace = new AudiencePace(taskExpander, besideMessages)
  const { relay, purge } = createRelay({
    database,
    bus,
    stores,
    clock,
    maxLagMs,
    consumers: [messagePushes, fileReferences],
    observer: outboxObserver(log, metrics),
  })
  const sendBatches =
    (job: SendJob, pace: SendPace) =>
    async ({ appId, payloads, signal }: JobRun<BatchToSend>) => {
      for (const { batchId } of payloads) {
        await pace.begin(signal)
        await batchOpener.open({ appId, batchId }, signal)
        await batchSender.send({ appId, batchId, job, signal, pace })
      }
    }
  const jobs = new JobWorker({
    database,
    store: jobStore,
    handlers: [
      textErasureHandler(textErasures),
      jobHandler(
        blobRemoval,
        async ({ appId, payloads, signal }) => {
          for (const removed of payloads) await fileRemoval.removeBlobs(appId, removed, signal)
        },
        removing,
      ),
      jobHandler(
        expandTask,
        async ({ appId, payloads, signal }) => {
          for (const { taskId } of payloads)
            await taskExpander.expand({ appId, taskId }, signal, expansionPace)
        },
        expansion,
      ),
      jobHandler(sendBatch, sendBatches(sendBatch, unhurried), sending),
      jobHandler(sendAudienceBatch, sendBatches(sendAudienceBatch, audiencePace), sendingAudiences),
    ],
    observer: {
      finished: metrics.jobFinished.bind(metrics),
      failed(kind, error) {
        if (!isDatabaseFailure(error)) log.warn({ kind, err: error }, 'job failed')
      },
      overdue: metrics.jobsOverdue.bind(metrics),
    },
    clock,
  })
  const maintenance = new MaintenanceScheduler({
    tasks: [
      { name: 'expired tokens', intervalMs: minuteMs, run: () => tokens.purge() },
      { name: 'ended bans', intervalMs: minuteMs, run: (signal) => endedBans.clear(signal) },
      {
        name: 'old messages',
        intervalMs: 10 * minuteMs,
        run: (signal) =>
          historyRetention.run(signal, {
            removed: metrics.historyRemoved.bind(metrics),
            walked: (walk) => log.info(walk, 'old messages removed'),
          }),
      },
      { name: 'old transaction IDs', intervalMs: minuteMs, run: () => sweeper.run() },
      { name: 'old pushes', intervalMs: 10 * minuteMs, run: (signal) => pushPurge.run(signal) },
      { name: 'unnamed files', intervalMs: minuteMs, run: (signal) => unnamedFiles.run(signal) },
      { name: 'stray blobs', intervalMs: minuteMs, run: (signal) => strayBlobs.run(signal) },
      { name: 'old events', intervalMs: minuteMs, run: (signal) => purge.run(signal) },
      {
        name: 'finished jobs',
        intervalMs: 10 * minuteMs,
        run: jobPurge({ database, store: jobStore, clock }),
      },
      {
        name: 'certificate expiry',
        intervalMs: 10 * minuteMs,
        run: () => certificateExpiry.tell(expiryObserver(log)),
      },
    ],
    leases: stores.leases,
    observer: {
      finished: metrics.maintenanceFinished.bind(metrics),
      failed(task, error) {
        if (!isDatabaseFailure(error)) log.warn({ task, err: error }, 'maintenance failed')
      },
    },
  })
  const parts = new Lifecycle()
  return {
    async start() {
      // Before they start, so that one that has begun in part is stopped too.
      parts.addTogether([jobs, maintenance, relay])
      jobs.start()
      const wake = bus.subscribe('jobs.enqueued', ({ kind }) => jobs.wake(kind))
      parts.add(wake, (unsubscribe) => unsubscribe())
      maintenance.start()
      await relay.start()
    },
    stop: () => parts.stop(),
  }
}
