import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { pause } from '../../lib/concurrency/pause.js'
import type { DeliveryKey } from './deliveries/delivery-model.js'
import type { DeliveryStore } from './deliveries/delivery-store.js'
import type { TaskTimes } from './tasks/task-model.js'
import type { TaskStore } from './tasks/task-store.js'

interface PushPurgeOptions {
  readonly database: Database
  readonly apps: { list(): Promise<readonly { readonly appId: string }[]> }
  readonly deliveries: DeliveryStore
  readonly tasks: TaskStore
  /** The time for which deliveries are kept. */
  readonly traceMs: number
  /**
   * The time for which requested tasks, their counts and their request IDs are kept. Tasks of
   * messages go with their deliveries.
   */
  readonly taskMs: number
  readonly clock: Clock
}

/** Rows of one deletion, few enough that no message waits for it. */
const rowsPerStep = 1_000
/** Other writers run during the pause. */
const pauseMs = 20

/** Deletes deliveries, and later the tasks, of pushes that were long ago. */
export class PushPurge {
  constructor(private readonly options: PushPurgeOptions) {}

  async run(signal: AbortSignal): Promise<void> {
    const { apps } = this.options
    for (const { appId } of await apps.list()) {
      if (signal.aborted) return
      await this.#purgeDeliveries(appId, signal)
    }
    await this.#purgeTasks(signal)
  }

  /** In the order of their keys, which is that in which tasks were made. */
  async #purgeDeliveries(appId: string, signal: AbortSignal): Promise<void> {
    let after: DeliveryKey | Int64 | null = 0
    while (after !== null && !signal.aborted) {
      after = await this.#step(appId, after)
      await pause(pauseMs, signal)
    }
  }

  /** @returns where to continue; null: the rest is younger */
  async #step(appId: string, after: DeliveryKey | Int64): Promise<DeliveryKey | Int64 | null> {
    const { database, deliveries, tasks } = this.options
    const keys = await database.read((db) => deliveries.listKeys(db, appId, after, rowsPerStep))
    const last = keys.at(-1)
    if (!last) return null
    const found = await database.read((db) => tasks.listTimes(db, distinctTasks(keys)))
    const kept = found.filter((task) => this.#isKept(task))
    const keptIds = new Set(kept.map(({ taskId }) => taskId))
    const old = keys.filter(({ taskId }) => !keptIds.has(taskId))
    if (old.length > 0) await database.transaction((tx) => deliveries.delete(tx, old))
    if (kept.some((task) => this.#isYoung(task))) return null
    return keptIds.has(last.taskId) ? last.taskId : last
  }

  async #purgeTasks(signal: AbortSignal): Promise<void> {
    const { database, tasks, taskMs, traceMs, clock } = this.options
    const now = clock.now()
    const ends = {
      madeBefore: now - taskMs,
      ofMessagesBefore: now - traceMs,
      expiredBefore: now,
    }
    let count = rowsPerStep
    while (count === rowsPerStep && !signal.aborted) {
      const old = await database.read((db) => tasks.listOld(db, ends, rowsPerStep))
      count = old.length
      if (count > 0) await database.transaction((tx) => tasks.delete(tx, old))
      await pause(pauseMs, signal)
    }
  }

  #isYoung({ createdAt }: TaskTimes): boolean {
    const { traceMs, clock } = this.options
    return createdAt >= clock.now() - traceMs
  }

  /** A push may begin and continue long after its request. */
  #isKept(task: TaskTimes): boolean {
    const { traceMs, clock } = this.options
    const now = clock.now()
    const isUnderWay = task.expiresAt > now && task.finished < task.devices
    return isUnderWay || task.beginsAt >= now - traceMs || this.#isYoung(task)
  }
}

function distinctTasks(keys: readonly DeliveryKey[]): DeliveryKey[] {
  return [...new Map(keys.map((key) => [key.taskId, key])).values()]
}
