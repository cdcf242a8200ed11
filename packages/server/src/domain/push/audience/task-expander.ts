import { setTimeout as delay } from 'node:timers/promises'
import { type Int64, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import type { DeliveryPlanner } from '../deliveries/delivery-planner.js'
import { type ExpandedPage, storeExpandedPage } from '../deliveries/store-deliveries.js'
import type { StoredPushTask, TaskKey } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { AudienceReader } from './audience-reader.js'

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
  async #step(task: StoredPushTask): Promise<boolean> {
    const { database, audiences, planner, clock } = this.options
    const { recipients, upTo, isLast } =
      task.expiresAt <= clock.now()
        ? nobody(task.expandedTo)
        : await audiences.page(task, usersPerPage)
    const plan = await planner.plan(task, recipients)
    const planned = await whenReserved(() => planner.prepare([plan]))
    if (!planned) throw new Error('a plan has something to store')
    const page: ExpandedPage = {
      task: { appId: task.appId, taskId: task.taskId },
      openStates,
      expandedFrom: task.expandedTo,
      expandedTo: upTo,
      state: isLast ? pushTaskState.expanded : pushTaskState.expanding,
      at: clock.now(),
      planned,
    }
    const outcome = await database.procedure(storeExpandedPage, page, null)
    if (outcome === 'stored') planner.announce(planned)
    return outcome === 'over' || (outcome === 'stored' && isLast)
  }
}

const openStates: readonly number[] = [pushTaskState.waiting, pushTaskState.expanding]

function isOpen({ state }: StoredPushTask): boolean {
  return openStates.includes(state)
}

function nobody(upTo: Int64) {
  return { recipients: [], upTo, isLast: true }
}
