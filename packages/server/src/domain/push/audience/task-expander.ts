import { setTimeout as delay } from 'node:timers/promises'
import { pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { ProcedureRestart } from '../../../db/procedure.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Clock } from '../../../lib/clock.js'
import { allEnded } from '../../../lib/concurrency/all-ended.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import type { DeliveryPlanner } from '../deliveries/delivery-planner.js'
import { expandTask, expansionOf, sendAudienceBatch } from '../tasks/push-jobs.js'
import type { RecipientPage, StoredPushTask, TaskKey } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { AudienceReader } from './audience-reader.js'
import { type AudiencePage, expandPage, isOpen, type PageRefusal } from './expand-page.js'
import type { ExpansionPace } from './expansion-pace.js'
import { runPage } from './run-page.js'

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
interface ReadyPage extends Pick<AudiencePage, 'surroundings' | 'batch'> {
  readonly task: StoredPushTask
  readonly page: RecipientPage
}

/** Who is read at once, and whose deliveries are sent together. */
const usersPerPage = 240
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

  async #expand(key: TaskKey, signal: AbortSignal, pace: PaceOfPages): Promise<void> {
    const { database, jobs } = this.options
    let next = await this.#find(key)
    for (let users = 0; users < usersPerTurn; ) {
      if (!next) return
      const { task, page } = next
      users += page.recipients.length
      const mayFollow = !page.isLast && users < usersPerTurn
      const following = { ...task, expandedTo: page.upTo }
      // The next page is read while this one is stored.
      const [refusal, prepared] = await allEnded([
        this.#store(next, signal, pace),
        mayFollow ? this.#prepare(following) : null,
      ] as const)
      if (refusal === 'over' || (refusal === null && page.isLast)) return
      next = refusal === 'outdated' ? await this.#find(key) : (prepared ?? next)
    }
    await database.statement((tx) => jobs.enqueue(tx, expandTask, expansionOf(key)))
    this.#busyUntil = performance.now() + betweenTurnsMs
  }

  /** @returns what comes next of a task; null when it does not go on */
  async #find(key: TaskKey): Promise<ReadyPage | null> {
    const { database, tasks } = this.options
    const task = await database.read((db) => tasks.find(db, key))
    return task && isOpen(task) ? this.#prepare(task) : null
  }

  async #prepare(task: StoredPushTask): Promise<ReadyPage> {
    const { audiences, clock, planner } = this.options
    const { appId, expandedTo } = task
    const page =
      task.expiresAt <= clock.now()
        ? { recipients: [], upTo: expandedTo, isLast: true }
        : await audiences.page(task, expandedTo, usersPerPage)
    const userIds = page.recipients.map(({ userId }) => userId)
    const [surroundings, [batch]] = await Promise.all([
      planner.surroundings(appId, userIds),
      whenReserved(() => planner.newBatches(appId, 1, sendAudienceBatch)),
    ])
    if (!batch) throw new Error('one batch was asked for')
    return { task, page, surroundings, batch }
  }

  /** @returns null when it is stored */
  async #store(
    { task, page: { recipients, upTo, isLast }, surroundings, batch }: ReadyPage,
    signal: AbortSignal,
    pace: PaceOfPages,
  ): Promise<PageRefusal | null> {
    const { database, jobs } = this.options
    await pace.begin(recipients.length, signal)
    signal.throwIfAborted()
    const { appId, taskId, content, expandedTo } = task
    const state = isLast ? pushTaskState.expanded : pushTaskState.expanding
    const page: AudiencePage = {
      task: { appId, taskId, content, expandedTo },
      recipients,
      surroundings,
      batch,
      expandedTo: upTo,
      state,
    }
    try {
      await runPage(database, expandPage, page)
    } catch (error) {
      if (error instanceof ProcedureRestart) return error.detail as PageRefusal
      throw error
    }
    jobs.announce(sendAudienceBatch)
    return null
  }
}
