import { AppError, type Int64, type PushTaskStatistics, pushChannels } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import type { KnownCertificates } from '../certificates/certificate-model.js'
import { type TaskContent, tokenTypeOf } from '../content/task-content.js'
import { firstPageJob, sendBatch } from './push-jobs.js'
import type { PushTaskRequest } from './push-request.js'
import type { NewPushTask } from './task-model.js'
import type { TaskStore } from './task-store.js'

interface PushTaskServiceOptions {
  readonly database: Database
  readonly store: TaskStore
  readonly certificates: KnownCertificates
  readonly jobs: JobQueue
  readonly ids: IdGenerator
  readonly clock: Clock
}

const callLifeMs = 60_000

/** Pushes that applications ask for, and their counts. */
export class PushTaskService {
  constructor(private readonly options: PushTaskServiceOptions) {}

  /**
   * Stores the task; devices are looked for in the background.
   * @returns the ID of the task, which is the first one's when the request was seen before (rule G3)
   * @throws AppError push_not_enabled, invalid_parameter
   */
  async start(appId: string, request: PushTaskRequest): Promise<Int64> {
    const { certificates, ids, clock } = this.options
    const { content, requestId, endsAt } = request
    if (content.strategy === 'ospush_only' && (await certificates.of(appId)).length === 0)
      throw new AppError('push_not_enabled')
    const now = clock.now()
    if (endsAt !== null && endsAt <= now) return this.#startedBefore(appId, requestId)
    const beginsAt = Math.max(request.beginsAt ?? now, now)
    return this.#store({
      appId,
      taskId: await ids.next(),
      msgId: 0,
      requestId,
      content,
      estimatedUsers: null,
      beginsAt,
      expiresAt: Math.min(endsAt ?? beginsAt + defaultLifeMs(content), beginsAt + dayMs),
      createdAt: now,
    })
  }

  /** A request whose end is past may be repeated, but not started. */
  async #startedBefore(appId: string, requestId: string): Promise<Int64> {
    const { database, store } = this.options
    const taskId =
      requestId === ''
        ? null
        : await database.read((db) => store.findByRequest(db, appId, requestId))
    if (taskId === null)
      throw new AppError('invalid_parameter', 'message.show_end_time must be in the future')
    return taskId
  }

  async #store(task: NewPushTask): Promise<Int64> {
    const { database, store, jobs } = this.options
    const { appId, taskId, requestId, beginsAt } = task
    return database.transaction(async (tx) => {
      if (!(await store.insert(tx, task)))
        return (await store.findByRequest(tx, appId, requestId)) ?? taskId
      await jobs.enqueue(tx, sendBatch, { ...firstPageJob(task), runAt: beginsAt })
      return taskId
    })
  }

  /** The counts of those tasks that there are, in the order of the list (rule G1). */
  async statistics(appId: string, taskIds: readonly Int64[]): Promise<PushTaskStatistics[]> {
    const { database, store } = this.options
    const keys = [...new Set(taskIds)].map((taskId) => ({ appId, taskId }))
    const [tasks, counts] = await database.read((db) =>
      Promise.all([store.list(db, keys), store.listCounts(db, appId, taskIds)]),
    )
    const known = new Set(tasks.map(({ taskId }) => taskId))
    return taskIds
      .filter((taskId) => known.has(taskId))
      .map((taskId) =>
        toStatistics(
          taskId,
          counts.filter((count) => count.taskId === taskId),
        ),
      )
  }
}

function toStatistics(
  taskId: Int64,
  counts: readonly {
    readonly channel: string
    readonly target: number
    readonly sent: number
    readonly received: number
  }[],
): PushTaskStatistics {
  const byChannel = new Map(counts.map((count) => [count.channel, count]))
  const fields = pushChannels.flatMap((channel) => {
    const { target = 0, sent = 0, received = 0 } = byChannel.get(channel) ?? {}
    return [
      [`${channel}_target`, target],
      [`${channel}_sent`, sent],
      [`${channel}_received`, received],
    ] as const
  })
  return { ...Object.fromEntries(fields), task_id: taskId } as PushTaskStatistics
}

/** Returns how long a push without an end may be sent; a device must not ring for an old call. */
function defaultLifeMs(content: TaskContent): number {
  return tokenTypeOf(content) === 'voip' ? callLifeMs : dayMs
}
