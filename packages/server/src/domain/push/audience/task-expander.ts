import { setTimeout as delay } from 'node:timers/promises'
import { type Int64, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Clock } from '../../../lib/clock.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import type { DeliveryPlanner } from '../deliveries/delivery-planner.js'
import { sendAudienceBatch } from '../tasks/push-jobs.js'
import type { StoredPushTask, TaskKey } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { AudienceReader } from './audience-reader.js'
import { type AudiencePage, expandPage, isOpen } from './expand-page.js'

export interface TaskExpanderOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly audiences: AudienceReader
  readonly planner: DeliveryPlanner
  readonly jobs: Pick<JobQueue, 'announce'>
  readonly clock: Clock
}

/** Larger pages are divided into several batches. */
const deliveriesPerBatch = 250

/** Gives the devices of a task's audience their deliveries, a page of users in each transaction. */
export class TaskExpander {
  readonly #running = new Set<Promise<void>>()

  constructor(private readonly options: TaskExpanderOptions) {}

  /** Goes on where it was interrupted; does nothing for a task that is done, cancelled or gone. */
  async expand(key: TaskKey, signal: AbortSignal): Promise<void> {
    const running = this.#expand(key, signal).finally(() => this.#running.delete(running))
    this.#running.add(running)
    await running
  }

  /** Resolves when this node looks through no audience, or after so many milliseconds. @throws when it is aborted */
  async idle(withinMs: number, signal: AbortSignal): Promise<void> {
    if (this.#running.size === 0) return
    const ended = Promise.allSettled(this.#running)
    await Promise.race([ended, delay(withinMs, undefined, { signal })])
  }

  async #expand(key: TaskKey, signal: AbortSignal): Promise<void> {
    const { database, tasks } = this.options
    for (;;) {
      signal.throwIfAborted()
      const task = await database.read((db) => tasks.find(db, key))
      if (!task || !isOpen(task) || (await this.#step(task))) return
    }
  }

  /** @returns whether the whole audience has its deliveries */
  async #step(task: StoredPushTask): Promise<boolean> {
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
    return outcome === 'over' || (outcome === 'stored' && isLast)
  }
}

function nobody(upTo: Int64) {
  return { recipients: [], upTo, isLast: true }
}
