import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { RetryProcedure } from '../../../db/procedure.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Clock } from '../../../lib/clock.js'
import { allEnded } from '../../../lib/concurrency/all-ended.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import type { BackgroundPause } from '../../../lib/limits/background-pause.js'
import type { AudienceEstimate } from '../audience/audience-estimate.js'
import type { AudienceReader } from '../audience/audience-reader.js'
import { isMessageTask } from '../content/task-content.js'
import type { PlanInputReader } from '../deliveries/plan-input-reader.js'
import type { GatewayHolds } from '../sending/gateway-holds.js'
import { type PageToSend, pageJob, sendAudienceBatch } from '../tasks/push-jobs.js'
import { isUnresolved, type StoredPushTask } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import { type NextPage, type WrittenPart, writeDeliveries } from './write-deliveries.js'

/** The size of a page. It ends with the part in which it reaches one of the two numbers. */
export interface PageSize {
  readonly devices: number
  readonly users: number
  /** Users of a part, which is one transaction. */
  readonly usersPerPart: number
}

interface PageWriterOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly audiences: Pick<AudienceReader, 'page'>
  readonly estimate: Pick<AudienceEstimate, 'users'>
  readonly planInputs: Pick<PlanInputReader, 'read'>
  readonly holds: Pick<GatewayHolds, 'list'>
  readonly pause: Pick<BackgroundPause, 'rest'>
  readonly jobs: Pick<JobQueue, 'announce' | 'values'>
  readonly ids: { takeReserved(count: number): number[] }
  readonly clock: Clock
  /** Default: 240 devices or 960 users, in parts of the size that suits the database. */
  readonly pageSize?: Partial<PageSize>
}

/** The progress of a run within its page. A run that takes over the rest of a page begins with nothing. */
interface PageProgress {
  readonly devices: number
  readonly users: number
  readonly certificateIds: ReadonlySet<Int64>
}

/** Writes the pages of audiences: deliveries, badges and counts, page by page. */
export class PageWriter {
  readonly #size: PageSize

  constructor(private readonly options: PageWriterOptions) {
    const { usersPerTransaction: usersPerPart } = options.database.dialect
    this.#size = { devices: 240, users: 960, usersPerPart, ...options.pageSize }
  }

  /**
   * Writes the rest of a page. Does nothing for a page that is written, and for a task that was
   * cancelled; ends the pages of a task whose time is over.
   */
  async write(appId: string, page: PageToSend, signal: AbortSignal): Promise<void> {
    const isFirst = page.page === 1
    await allEnded([this.#writeParts(appId, page, signal), isFirst && this.#estimate(appId, page)])
  }

  async #estimate(appId: string, { taskId }: PageToSend): Promise<void> {
    const { database, tasks, estimate } = this.options
    const task = await database.read((db) => tasks.find(db, { appId, taskId }))
    if (!task || task.estimatedUsers !== null) return
    const users = await estimate.users(task)
    await database.statement((tx) => tasks.setEstimate(tx, task, users))
  }

  async #writeParts(appId: string, page: PageToSend, signal: AbortSignal): Promise<void> {
    const { database, tasks, pause, clock } = this.options
    let progress: PageProgress = { devices: 0, users: 0, certificateIds: new Set() }
    let next: Pick<NextPage, 'batchId' | 'job'> | undefined
    for (;;) {
      await pause.rest(signal)
      signal.throwIfAborted()
      const task = await database.read((db) => tasks.find(db, { appId, taskId: page.taskId }))
      if (!task || !isWritable(task, page)) return
      const now = clock.now()
      if (task.expiresAt <= now) {
        await database.statement((tx) => tasks.endPages(tx, task, now))
        return
      }
      next ??= await this.#newPage(appId, page)
      const written = await this.#writePart(task, progress, next)
      if (written?.isPageEnd) return
      if (written) progress = advanced(progress, written, this.#size)
    }
  }

  /**
   * @returns null when the part was not written, because the task or a user has changed since they
   * were read
   */
  async #writePart(
    task: StoredPushTask,
    { devices, users, certificateIds }: PageProgress,
    next: Pick<NextPage, 'batchId' | 'job'>,
  ): Promise<WrittenPart | null> {
    const { database, audiences, planInputs, holds, jobs } = this.options
    const { appId, taskId, content, page, pageBatchId: batchId, position } = task
    const { recipients, upTo, isLast } = await audiences.page(
      task,
      position,
      this.#size.usersPerPart,
    )
    const userIds = recipients.map(({ userId }) => userId)
    const isFull = users + this.#size.usersPerPart >= this.#size.users
    const part = {
      task: { appId, taskId, content },
      page,
      batchId,
      position,
      recipients,
      inputs: await planInputs.read(appId, userIds, isMessageTask(content)),
      upTo,
      isLast,
      devicesLeft: isFull ? 0 : this.#size.devices - devices,
      next: {
        ...next,
        heldUntil: holds.list(appId),
        certificateIds: [...certificateIds],
        latest: task.expiresAt,
      },
    }
    try {
      const written = await database.procedure(writeDeliveries, part, null)
      if (written.isPageEnd && !isLast) jobs.announce(sendAudienceBatch)
      return written
    } catch (error) {
      if (error instanceof RetryProcedure) return null
      throw error
    }
  }

  #newPage(
    appId: string,
    { taskId, page }: PageToSend,
  ): Promise<Pick<NextPage, 'batchId' | 'job'>> {
    const { ids, jobs } = this.options
    return whenReserved(() => {
      const [batchId = 0] = ids.takeReserved(1)
      const newJob = pageJob(appId, { taskId, page: page + 1, batchId })
      const [job] = jobs.values(sendAudienceBatch, [newJob])
      if (!job) throw new Error('a job has values')
      return { batchId, job }
    })
  }
}

function isWritable(task: StoredPushTask, { page, batchId }: PageToSend): boolean {
  return isUnresolved(task) && task.page === page && task.pageBatchId === batchId
}

function advanced(
  { devices, users, certificateIds }: PageProgress,
  written: WrittenPart,
  { usersPerPart }: PageSize,
): PageProgress {
  return {
    devices: devices + written.devices,
    users: users + usersPerPart,
    certificateIds: new Set([...certificateIds, ...written.certificateIds]),
  }
}
