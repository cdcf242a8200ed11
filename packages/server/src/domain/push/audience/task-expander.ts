import { setTimeout as delay } from 'node:timers/promises'
import { pushTaskState } from '@hermod/protocol'
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
import { type AudiencePage, expandPage, isOpen, type PageRefusal } from './expand-page.js'
import type { ExpansionPace } from './expansion-pace.js'
import { runOnUsers } from './run-on-users.js'

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
  readonly surroundings: PlanSurroundings
  readonly kind: SendJob
  readonly batch: NewBatch
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
    const kind = isShort(task, page) ? sendBatch : sendAudienceBatch
    const userIds = page.recipients.map(({ userId }) => userId)
    const [surroundings, [batch]] = await Promise.all([
      planner.surroundings(appId, userIds),
      whenReserved(() => planner.newBatches(appId, 1, kind)),
    ])
    if (!batch) throw new Error('one batch was asked for')
    return { task, page, surroundings, kind, batch }
  }

  /** @returns null when it is stored */
  async #store(
    { task, page: { recipients, upTo, isLast }, surroundings, kind, batch }: ReadyPage,
    signal: AbortSignal,
    pace: PaceOfPages,
  ): Promise<PageRefusal | null> {
    const { database, jobs } = this.options
    const { appId, taskId, content, expandedTo: openedTo } = task
    let expected = noDevices
    for (const part of chunksOf(recipients, database.dialect.usersPerTransaction)) {
      await pace.begin(part.length, signal)
      signal.throwIfAborted()
      const users = { task: { appId, taskId, content }, recipients: part, surroundings }
      expected = addCounts(expected, await runOnUsers(database, countDevices, users))
    }
    const page: AudiencePage = {
      batch: { appId, taskId, batchId: batch.batchId, openedTo, upTo, expected },
      job: batch.job,
      state: isLast ? pushTaskState.expanded : pushTaskState.expanding,
      now: surroundings.now,
    }
    try {
      await database.procedure(expandPage, page, null)
    } catch (error) {
      if (error instanceof ProcedureRestart) return error.detail as PageRefusal
      throw error
    }
    jobs.announce(kind)
    return null
  }
}

/** Whether an audience is sent to at once, however many other ones wait: one that fits into a page, or was named one by one. */
function isShort({ content, expandedTo }: StoredPushTask, { isLast }: RecipientPage): boolean {
  const { kind } = content.audience
  return (
    kind === 'user_id' || kind === 'alias' || kind === 'push_token' || (isLast && expandedTo === 0)
  )
}
