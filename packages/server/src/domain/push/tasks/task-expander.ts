import { setTimeout as delay } from 'node:timers/promises'
import { type Int64, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { AudienceReader } from './audience-reader.js'
import type { DeliveryPlanner } from './delivery-planner.js'
import type { PushTask, TaskKey } from './task-model.js'
import type { TaskStore } from './task-store.js'

export interface TaskExpanderOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly audiences: AudienceReader
  readonly planner: DeliveryPlanner
  readonly clock: Clock
}

/** Users that get their deliveries in one transaction: few, so that messages do not wait for it. */
const usersPerPage = 250

/** Gives the devices of a task's audience their deliveries, a page of users in each transaction. */
export class TaskExpander {
  constructor(private readonly options: TaskExpanderOptions) {}

  /** Goes on where it was interrupted; does nothing for a task that is done, cancelled or gone. */
  async expand(key: TaskKey, signal: AbortSignal): Promise<void> {
    const { database, tasks } = this.options
    for (;;) {
      signal.throwIfAborted()
      const startedAt = performance.now()
      const task = await database.read((db) => tasks.find(db, key))
      if (!task || !isOpen(task) || (await this.#step(task))) return
      // As long as a page takes, the writer is left to others.
      await delay(performance.now() - startedAt, undefined, { signal })
    }
  }

  /** @returns whether the whole audience has its deliveries */
  async #step(task: PushTask): Promise<boolean> {
    const { database, tasks, audiences, planner, clock } = this.options
    const { recipients, upTo, isLast } =
      task.expiresAt <= clock.now()
        ? nobody(task.expandedTo)
        : await audiences.page(task, usersPerPage)
    const plan = await planner.plan(task, recipients)
    return database.transaction(async (tx) => {
      const current = await tasks.lock(tx, task)
      if (!current || !isOpen(current)) return true
      // Another run was faster.
      if (current.expandedTo !== task.expandedTo) return false
      await tasks.setProgress(tx, task, {
        state: isLast ? pushTaskState.expanded : pushTaskState.expanding,
        expandedTo: upTo,
        at: clock.now(),
      })
      await planner.store(tx, [plan])
      return isLast
    })
  }
}

function isOpen({ state }: PushTask): boolean {
  return state === pushTaskState.waiting || state === pushTaskState.expanding
}

function nobody(upTo: Int64) {
  return { recipients: [], upTo, isLast: true }
}
