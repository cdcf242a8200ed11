import { setTimeout as delay } from 'node:timers/promises'
import { type Int64, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Clock } from '../../../lib/clock.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import type { DeliveryPlanner } from '../deliveries/delivery-planner.js'
import { expandTask, expansionOf, sendAudienceBatch } from '../tasks/push-jobs.js'
import type { StoredPushTask, TaskKey } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { AudienceReader } from './audience-reader.js'
import { type AudiencePage, expandPage, isOpen, type PageOutcome } from './expand-page.js'

export interface TaskExpanderOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly audiences: AudienceReader
  readonly planner: DeliveryPlanner
  readonly jobs: Pick<JobQueue, 'announce' | 'enqueue'>
  readonly clock: Clock
}

/** Larger pages are divided into several batches. */
const deliveriesPerBatch = 250
/** After so many users the tasks that wait have their turn. */
const usersPerTurn = 5_000
/** Between two turns of a task this node counts as busy for so long. */
const betweenTurnsMs = 500

/** Gives the devices of a task's audience their deliveries, a page of users in each transaction. */
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
    let task = await database.read((db) => tasks.find(db, key))
    for (let users = 0; users < usersPerTurn; ) {
      signal.throwIfAborted()
      if (!task || !isOpen(task)) return
      const { outcome, page } = await this.#step(task)
      if (outcome === 'over') return
      if (outcome === 'stored') task = { ...task, expandedTo: page.expandedTo, state: page.state }
      else task = await database.read((db) => tasks.find(db, key))
      users += page.recipients.length
    }
    await database.transaction((tx) => jobs.enqueue(tx, expandTask, expansionOf(key)))
    this.#busyUntil = performance.now() + betweenTurnsMs
  }

  async #step(
    task: StoredPushTask,
  ): Promise<{ readonly outcome: PageOutcome; readonly page: AudiencePage }> {
    const { database, audiences, planner, jobs, clock } = this.options
    const { recipients, upTo, isLast } =
      task.expiresAt <= clock.now()
        ? nobody(task.expandedTo)
        : await audiences.page(task, database.dialect.usersPerTransaction)
    const userIds = recipients.map(({ userId }) => userId)
    const surroundings = await planner.surroundings(task.appId, userIds)
    const count = Math.ceil(recipients.length / deliveriesPerBatch)
    const batches = await whenReserved(() =>
      planner.newBatches(task.appId, count, sendAudienceBatch),
    )
    const page: AudiencePage = {
      task,
      recipients,
      surroundings,
      batches,
      expandedTo: upTo,
      state: isLast ? pushTaskState.expanded : pushTaskState.expanding,
    }
    const outcome = await database.procedure(expandPage, page, null)
    if (outcome === 'stored') jobs.announce(sendAudienceBatch)
    return { outcome, page }
  }
}

function nobody(upTo: Int64) {
  return { recipients: [], upTo, isLast: true }
}
