import { setTimeout as delay } from 'node:timers/promises'
import { pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Clock } from '../../../lib/clock.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import type { DeliveryPlanner } from '../deliveries/delivery-planner.js'
import type { NewBatch } from '../deliveries/plan-deliveries.js'
import { expandTask, expansionOf, sendAudienceBatch } from '../tasks/push-jobs.js'
import type { RecipientPage, StoredPushTask, TaskKey } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { AudienceReader } from './audience-reader.js'
import { type AudiencePage, expandPage, isOpen } from './expand-page.js'

export interface TaskExpanderOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly audiences: AudienceReader
  readonly planner: DeliveryPlanner
  readonly jobs: Pick<JobQueue, 'announce' | 'enqueue'>
  readonly clock: Clock
}

/** Who is read at once, and whose deliveries are sent together; several transactions store them. */
const usersPerPage = 240
/** After so many users the tasks that wait have their turn. */
const usersPerTurn = 5_000
/** Between two turns of a task this node counts as busy for so long. */
const betweenTurnsMs = 500

/** Gives the devices of a task's audience their deliveries. */
export class TaskExpander {
  readonly #running = new Set<Promise<void>>()
  #busyUntil = 0

  constructor(private readonly options: TaskExpanderOptions) {}

  /**
   * Goes on where it was interrupted, and orders the rest as a job after a turn; does nothing for a task that is done, cancelled or
   * gone.
   */
  async expand(key: TaskKey, signal: AbortSignal): Promise<void> {
    const running = this.#expand(key, signal).finally(() => this.#running.delete(running))
    this.#running.add(running)
    await running
  }

  /**
   * Waits until this node looks through no audience, or for so many milliseconds.
   * @returns whether it looks through none
   * @throws when it is aborted
   */
  async idle(withinMs: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#isBusy) return true
    const pause = delay(withinMs, undefined, { signal })
    await Promise.race(
      this.#running.size > 0 ? [Promise.allSettled(this.#running), pause] : [pause],
    )
    return !this.#isBusy
  }

  get #isBusy(): boolean {
    return this.#running.size > 0 || performance.now() < this.#busyUntil
  }

  async #expand(key: TaskKey, signal: AbortSignal): Promise<void> {
    const { database, tasks, jobs } = this.options
    for (let users = 0; users < usersPerTurn; ) {
      const task = await database.read((db) => tasks.find(db, key))
      if (!task || !isOpen(task)) return
      const page = await this.#page(task)
      if (await this.#store(task, page, signal)) return
      users += page.recipients.length
    }
    await database.statement((tx) => jobs.enqueue(tx, expandTask, expansionOf(key)))
    this.#busyUntil = performance.now() + betweenTurnsMs
  }

  async #page(task: StoredPushTask): Promise<RecipientPage> {
    const { audiences, clock } = this.options
    return task.expiresAt <= clock.now()
      ? { recipients: [], upTo: task.expandedTo, isLast: true }
      : audiences.page(task, usersPerPage)
  }

  /** In several transactions, which fill one batch. @returns whether nothing of it is left */
  async #store(task: StoredPushTask, page: RecipientPage, signal: AbortSignal): Promise<boolean> {
    const { database, jobs } = this.options
    const shared = await this.#shared(task, page)
    for (const part of partsOf(task, page, shared, database.dialect.usersPerTransaction)) {
      signal.throwIfAborted()
      const outcome = await database.procedure(expandPage, part, null)
      if (outcome !== 'stored') return outcome === 'over'
    }
    jobs.announce(sendAudienceBatch)
    return page.isLast
  }

  async #shared(task: StoredPushTask, { recipients }: RecipientPage) {
    const userIds = recipients.map(({ userId }) => userId)
    return {
      surroundings: await this.options.planner.surroundings(task.appId, userIds),
      batch: await this.#batchOf(task),
    }
  }

  /** The one that the task has open, or a new one. */
  async #batchOf({ appId, openBatchId }: StoredPushTask): Promise<NewBatch> {
    const { planner } = this.options
    const [batch] = await whenReserved(() =>
      openBatchId === 0
        ? planner.newBatches(appId, 1, sendAudienceBatch)
        : planner.batches(appId, [openBatchId], sendAudienceBatch),
    )
    if (!batch) throw new Error('one batch was asked for')
    return batch
  }
}

/** One that is empty where there is nobody, for that moves the task too. */
function* partsOf(
  task: StoredPushTask,
  { recipients, upTo, isLast }: RecipientPage,
  shared: Pick<AudiencePage, 'surroundings' | 'batch'>,
  size: number,
): Generator<AudiencePage, void> {
  let { expandedTo } = task
  for (let start = 0; start === 0 || start < recipients.length; start += size) {
    const part = recipients.slice(start, start + size)
    const completesBatch = start + size >= recipients.length
    const end = completesBatch ? upTo : (part.at(-1)?.userId ?? upTo)
    yield {
      ...shared,
      task: { ...task, expandedTo },
      recipients: part,
      completesBatch,
      expandedTo: end,
      state: completesBatch && isLast ? pushTaskState.expanded : pushTaskState.expanding,
    }
    expandedTo = end
  }
}
