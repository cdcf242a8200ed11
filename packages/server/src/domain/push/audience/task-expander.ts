import { setTimeout as delay } from 'node:timers/promises'
import { type Int64, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { RetryProcedure } from '../../../db/procedure.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Clock } from '../../../lib/clock.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import { addCounts, type Batch, noDevices } from '../batches/batch-model.js'
import type { DeliveryPlanner } from '../deliveries/delivery-planner.js'
import { expandTask, expansionOf, sendAudienceBatch, sendBatch } from '../tasks/push-jobs.js'
import type { StoredPushTask, TaskKey } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { AudienceCounter, Begin } from './audience-counter.js'
import type { ExpansionPace } from './expansion-pace.js'
import { type BatchRefusal, isOpen, storeBatches } from './store-batches.js'

/** A batch that has no ID yet. */
type NewBatch = Omit<Batch, 'batchId'>

export interface TaskExpanderOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly counter: AudienceCounter
  readonly planner: Pick<DeliveryPlanner, 'newBatches'>
  readonly jobs: Pick<JobQueue, 'announce' | 'enqueue'>
  readonly clock: Clock
}

/** What comes next of an audience. */
interface Found {
  readonly batches: readonly NewBatch[]
  /** Users or devices. */
  readonly size: number
  readonly upTo: Int64
  readonly isLast: boolean
}

/** Who is looked at together. */
const usersPerPart = 240
/** A batch takes another part while it has fewer: where few users have a device, or none. */
const fewDevices = usersPerPart / 2
const batchesPerTransaction = 4
/** After so many users the tasks that wait have their turn. */
const usersPerTurn = 5_000
/** Between two turns of a task this node counts as busy for so long. */
const betweenTurnsMs = 500

/** Looks through the audience of a task: counts its devices, and puts its users into batches. */
export class TaskExpander {
  readonly #running = new Set<Promise<void>>()
  #busyUntil = 0

  constructor(private readonly options: TaskExpanderOptions) {}

  /**
   * Goes on where it was interrupted, and orders the rest as a job after a turn; does nothing for a task that is done, cancelled or
   * gone.
   */
  async expand(
    key: TaskKey,
    signal: AbortSignal,
    pace: Pick<ExpansionPace, 'begin'>,
  ): Promise<void> {
    const running = this.#expand(key, signal, pace).finally(() => this.#running.delete(running))
    this.#running.add(running)
    await running
  }

  /** Waits until this node looks through no audience. @throws when it is aborted */
  async idle(signal: AbortSignal): Promise<void> {
    while (this.#isBusy) {
      const pause = delay(betweenTurnsMs, undefined, { signal })
      await (this.#running.size > 0
        ? Promise.race([Promise.allSettled(this.#running), pause])
        : pause)
    }
  }

  get #isBusy(): boolean {
    return this.#running.size > 0 || performance.now() < this.#busyUntil
  }

  async #expand(
    key: TaskKey,
    signal: AbortSignal,
    pace: Pick<ExpansionPace, 'begin'>,
  ): Promise<void> {
    const { database, tasks, jobs } = this.options
    const begin = async (users: number) => {
      await pace.begin(users, signal)
      signal.throwIfAborted()
    }
    for (let users = 0; users < usersPerTurn; ) {
      const task = await database.read((db) => tasks.find(db, key))
      if (!task || !isOpen(task)) return
      const found = await this.#lookThrough(task, begin)
      users += found.size
      const refusal = await this.#store(task, found)
      if (refusal === 'over' || (refusal === null && found.isLast)) return
    }
    await database.statement((tx) => jobs.enqueue(tx, expandTask, expansionOf(key)))
    this.#busyUntil = performance.now() + betweenTurnsMs
  }

  async #lookThrough(task: StoredPushTask, begin: Begin): Promise<Found> {
    const { counter, clock } = this.options
    const { appId, taskId, expandedTo, expiresAt } = task
    const batches: NewBatch[] = []
    let size = 0
    let upTo = expandedTo
    let isLast = expiresAt <= clock.now()
    while (!isLast && size < usersPerTurn && batches.length < batchesPerTransaction) {
      const openedTo = upTo
      let expected = noDevices
      do {
        const part = await counter.next(task, upTo, usersPerPart, begin)
        expected = addCounts(expected, part.expected)
        size += part.size
        ;({ upTo, isLast } = part)
      } while (!isLast && size < usersPerTurn && expected.devices < fewDevices)
      batches.push({ appId, taskId, openedTo, upTo, expected })
    }
    return { batches, size, upTo, isLast }
  }

  /** @returns null when they are stored */
  async #store(
    task: StoredPushTask,
    { batches, upTo, isLast }: Found,
  ): Promise<BatchRefusal | null> {
    const { database, jobs, planner, clock } = this.options
    const { appId, taskId, expandedTo } = task
    // These are sent to at once, however many other audiences wait.
    const isShort = isNamed(task) || (isLast && expandedTo === 0 && batches.length === 1)
    const kind = isShort ? sendBatch : sendAudienceBatch
    const created = await whenReserved(() => planner.newBatches(appId, batches.length, kind))
    const counted = created.flatMap(({ batchId, job }, index) => {
      const batch = batches[index]
      return batch ? [{ batch: { ...batch, batchId }, job }] : []
    })
    const state = isLast ? pushTaskState.expanded : pushTaskState.expanding
    const stored = { appId, taskId, expandedTo, upTo, state, now: clock.now(), batches: counted }
    try {
      await database.procedure(storeBatches, stored, null)
    } catch (error) {
      if (error instanceof RetryProcedure) return error.detail as BatchRefusal
      throw error
    }
    jobs.announce(kind)
    return null
  }
}

/** Whether the users or devices of an audience were named one by one. */
function isNamed({ content }: StoredPushTask): boolean {
  const { kind } = content.audience
  return kind === 'user_id' || kind === 'alias' || kind === 'push_token'
}
