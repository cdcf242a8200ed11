import { setTimeout as delay } from 'node:timers/promises'
import { type Int64, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { ProcedureRestart } from '../../../db/procedure.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import { allEnded } from '../../../lib/concurrency/all-ended.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import { addCounts, noDevices } from '../batches/batch-model.js'
import type { DeliveryPlanner, NewBatch } from '../deliveries/delivery-planner.js'
import type { PlanSurroundings } from '../deliveries/plan-deliveries.js'
import {
  expandTask,
  expansionOf,
  type SendJob,
  sendAudienceBatch,
  sendBatch,
} from '../tasks/push-jobs.js'
import type { RecipientPage, StoredPushTask, TaskKey } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { AudienceReader } from './audience-reader.js'
import { countDevices } from './count-devices.js'
import type { ExpansionPace } from './expansion-pace.js'
import { runOnUsers } from './run-on-users.js'
import { type CountedPage, isOpen, type PageRefusal, storePages } from './store-pages.js'

type PaceOfPages = Pick<ExpansionPace, 'begin'>

export interface TaskExpanderOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly audiences: AudienceReader
  readonly planner: DeliveryPlanner
  readonly jobs: Pick<JobQueue, 'announce' | 'enqueue'>
  readonly clock: Clock
}

/** A page of a task's audience, with all that decides about it. */
interface ReadyPage {
  /** It begins with the users above this one. */
  readonly after: Int64
  readonly page: RecipientPage
  readonly surroundings: PlanSurroundings
  readonly kind: SendJob
  readonly batch: NewBatch
}

/** What comes next of an audience. */
interface Found {
  readonly pages: readonly CountedPage[]
  /** Of the jobs that send them. */
  readonly kind: SendJob
  readonly users: number
  readonly upTo: Int64
  readonly isLast: boolean
}

/** Who is read at once, and whose deliveries are sent together. */
const usersPerPage = 240
const pagesPerTransaction = 4
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
  async expand(key: TaskKey, signal: AbortSignal, pace: PaceOfPages): Promise<void> {
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

  async #expand(key: TaskKey, signal: AbortSignal, pace: PaceOfPages): Promise<void> {
    const { database, tasks, jobs } = this.options
    for (let users = 0; users < usersPerTurn; ) {
      const task = await database.read((db) => tasks.find(db, key))
      if (!task || !isOpen(task)) return
      const found = await this.#count(task, signal, pace)
      users += found.users
      const refusal = await this.#store(task, found)
      if (refusal === 'over' || (refusal === null && found.isLast)) return
    }
    await database.statement((tx) => jobs.enqueue(tx, expandTask, expansionOf(key)))
    this.#busyUntil = performance.now() + betweenTurnsMs
  }

  async #count(task: StoredPushTask, signal: AbortSignal, pace: PaceOfPages): Promise<Found> {
    const pages: CountedPage[] = []
    let users = 0
    let next: ReadyPage = await this.#prepare(task, task.expandedTo)
    for (;;) {
      const { page, kind } = next
      users += page.recipients.length
      const isEnough = page.isLast || pages.length + 1 === pagesPerTransaction
      // The next page is read while this one is looked at.
      const [counted, following] = await allEnded([
        this.#countPage(task, next, signal, pace),
        isEnough ? null : this.#prepare(task, page.upTo),
      ] as const)
      pages.push(counted)
      if (following === null) return { pages, kind, users, upTo: page.upTo, isLast: page.isLast }
      next = following
    }
  }

  async #prepare(task: StoredPushTask, after: Int64): Promise<ReadyPage> {
    const { audiences, clock, planner } = this.options
    const page =
      task.expiresAt <= clock.now()
        ? { recipients: [], upTo: after, isLast: true }
        : await audiences.page(task, after, usersPerPage)
    // These are sent to at once, however many other audiences wait.
    const isShort = isNamed(task) || (page.isLast && after === 0)
    const kind = isShort ? sendBatch : sendAudienceBatch
    const userIds = page.recipients.map(({ userId }) => userId)
    const [surroundings, [batch]] = await Promise.all([
      planner.surroundings(task.appId, userIds),
      whenReserved(() => planner.newBatches(task.appId, 1, kind)),
    ])
    if (!batch) throw new Error('one batch was asked for')
    return { after, page, surroundings, kind, batch }
  }

  async #countPage(
    { appId, taskId, content }: StoredPushTask,
    { after: openedTo, page: { recipients, upTo }, surroundings, batch }: ReadyPage,
    signal: AbortSignal,
    pace: PaceOfPages,
  ): Promise<CountedPage> {
    const { database } = this.options
    const { batchId, job } = batch
    let expected = noDevices
    for (const part of chunksOf(recipients, database.dialect.usersPerTransaction)) {
      await pace.begin(part.length, signal)
      signal.throwIfAborted()
      const users = { task: { appId, taskId, content }, recipients: part, surroundings }
      expected = addCounts(expected, await runOnUsers(database, countDevices, users))
    }
    return { batch: { appId, taskId, batchId, openedTo, upTo, expected }, job }
  }

  /** @returns null when it is stored */
  async #store(
    { appId, taskId, expandedTo }: StoredPushTask,
    { pages, kind, upTo, isLast }: Found,
  ): Promise<PageRefusal | null> {
    const { database, jobs, clock } = this.options
    const state = isLast ? pushTaskState.expanded : pushTaskState.expanding
    const counted = { appId, taskId, expandedTo, upTo, state, now: clock.now(), pages }
    try {
      await database.procedure(storePages, counted, null)
    } catch (error) {
      if (error instanceof ProcedureRestart) return error.detail as PageRefusal
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
