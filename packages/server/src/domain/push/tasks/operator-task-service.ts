import { AppError, type Int64, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { groupBy } from '../../../lib/group-by.js'
import type { AppService } from '../../apps/app-service.js'
import { operatorPageLimit, type PageRequest, readIdCursor, writeCursor } from '../../paging.js'
import type { StoredPushTask, TaskKey, TaskProgress } from './task-model.js'
import type { TaskStore } from './task-store.js'

interface OperatorTaskServiceOptions {
  readonly database: Database
  readonly store: TaskStore
  readonly apps: Pick<AppService, 'get'>
  readonly clock: Clock
}

/** Push tasks for operators. */
export class OperatorTaskService {
  constructor(private readonly options: OperatorTaskServiceOptions) {}

  /** Newest first. @throws AppError app_not_found */
  async list(
    appId: string,
    page: PageRequest,
  ): Promise<{ readonly tasks: readonly TaskProgress[]; readonly nextCursor: string }> {
    const { database, store, apps } = this.options
    await apps.get(appId)
    const before = readIdCursor(page.cursor)
    const limit = operatorPageLimit(page)
    const found = await database.read((db) => store.listNewest(db, appId, { before, limit }))
    const last = found.length < limit ? undefined : found.at(-1)
    return {
      tasks: await this.#withCounts(appId, found),
      nextCursor: last ? writeCursor(last.taskId) : '',
    }
  }

  /** @throws AppError app_not_found, push_task_not_found */
  async get(key: TaskKey): Promise<TaskProgress> {
    const { database, store, apps } = this.options
    await apps.get(key.appId)
    const task = await database.read((db) => store.find(db, key))
    if (!task) throw new AppError('push_task_not_found')
    return this.progressOf(task)
  }

  /**
   * Deliveries that wait are ended by those who come to send them. A task that has come to its end
   * stays what it is.
   * @throws AppError app_not_found, push_task_not_found
   */
  async cancel(key: TaskKey): Promise<TaskProgress> {
    const { database, store, apps, clock } = this.options
    await apps.get(key.appId)
    await database.transaction(async (tx) => {
      const task = await store.lock(tx, key)
      if (!task) throw new AppError('push_task_not_found')
      if (hasEnded(task)) return
      await store.cancel(tx, key, clock.now())
    })
    return this.get(key)
  }

  async progressOf(task: StoredPushTask): Promise<TaskProgress> {
    const [progress] = await this.#withCounts(task.appId, [task])
    return progress as TaskProgress
  }

  async #withCounts(appId: string, tasks: readonly StoredPushTask[]): Promise<TaskProgress[]> {
    const { database, store } = this.options
    const taskIds = tasks.map(({ taskId }) => taskId)
    const counts = await database.read((db) => store.listCounts(db, appId, taskIds))
    const byTask = groupBy<(typeof counts)[number], Int64>(counts, ({ taskId }) => taskId)
    return tasks.map((task) => ({ task, counts: byTask.get(task.taskId) ?? [] }))
  }
}

function hasEnded({ state, devices, finished }: StoredPushTask): boolean {
  return (
    state === pushTaskState.cancelled || (state === pushTaskState.expanded && finished >= devices)
  )
}
