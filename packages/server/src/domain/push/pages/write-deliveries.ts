/**
 * Writes deliveries: of some users of a page, or of new tasks with few users. Loaded by the writer's
 * thread too.
 */
import type { Int64 } from '@hermod/protocol'
import { pushTaskState } from '@hermod/protocol/enums'
import {
  type LastStatement,
  type Procedure,
  type ProcedureContext,
  RetryProcedure,
} from '../../../db/procedure.js'
import { insertJobs, type JobValues, jobRow } from '../../../jobs/job-statements.js'
import type { Recipient } from '../audience/recipient.js'
import { insertDeliveries } from '../deliveries/delivery-statements.js'
import {
  type PlanInputs,
  type PlannedAudience,
  type PlannedTask,
  planDeliveries,
  prepareDeliveries,
} from '../deliveries/plan-deliveries.js'
import { findPresence, readInputs, type UserPresence } from '../deliveries/recipient-inputs.js'
import {
  badgeName,
  countBadges,
  type PlannedDeliveries,
  plannedRows,
  type ShownBadges,
} from '../deliveries/planned-deliveries.js'
import { endOfAudience, isUnresolved, type NewPushTask } from '../tasks/task-model.js'
import {
  addToCounts,
  countRows,
  type InsertedTask,
  insertTasks,
  type LockedTask,
  lockTasks,
  progressRow,
  setDevices,
  setProgress,
  taskRow,
} from '../tasks/task-statements.js'

/** Users of one application whose deliveries are written together, in one batch. */
interface WrittenTogether {
  readonly appId: string
  readonly batchId: Int64
  readonly audiences: readonly PlannedAudience[]
  readonly inputs: PlanInputs
}

/** The next users of a page. */
export interface PagePart {
  readonly task: PlannedTask
  readonly page: number
  readonly batchId: Int64
  /** The position of the task when the users were read. */
  readonly position: Int64
  readonly recipients: readonly Recipient[]
  readonly inputs: PlanInputs
  /** The position after this part. */
  readonly upTo: Int64
  /** True when the audience ends with this part. */
  readonly isLast: boolean
  /** The number of devices with which this part ends the page. */
  readonly devicesLeft: number
  readonly next: NextPage
}

/** New tasks with all of their users, as one page. */
export interface NewTasks extends Omit<WrittenTogether, 'audiences'> {
  readonly audiences: readonly (PlannedAudience & { readonly task: NewPushTask })[]
  /** Sends the batch. */
  readonly job: JobValues
}

/** The page after this one. */
export interface NextPage {
  readonly batchId: Int64
  readonly job: JobValues
  /** When each certificate that is held back may be used again, milliseconds since 1970. */
  readonly heldUntil: readonly (readonly [certificateId: Int64, until: number])[]
  /** The certificates of the parts of this page that are written; 0: the service's own channel. */
  readonly certificateIds: readonly Int64[]
  /** The end of the task, milliseconds since 1970. */
  readonly latest: number
}

/** The result of a part. */
export interface WrittenPart {
  readonly devices: number
  /** The certificates of its deliveries; 0: the service's own channel. */
  readonly certificateIds: readonly Int64[]
  /** True when the page ended: the task names the next page, or has none. */
  readonly isPageEnd: boolean
}

/**
 * Writes deliveries, badges and counts of some users, and moves the position of the task. The part
 * that ends the page names the next page and inserts its job. Throws {@link RetryProcedure} and
 * stores nothing when another run has moved the task, the task has ended, or a user was deleted.
 */
export const writeDeliveries: Procedure<PagePart, WrittenPart> = {
  module: import.meta.url,
  name: 'writeDeliveries',
  async run(context, part) {
    const { task, batchId, recipients, inputs } = part
    const { appId, taskId } = task
    const written = await plan(context, {
      appId,
      batchId,
      audiences: [{ task, recipients }],
      inputs,
    })
    const [locked] = written.locked
    if (!locked || !isPartCurrent(locked, part)) throw new RetryProcedure('task')
    const [{ devices, finished } = { devices: 0, finished: 0 }] = written.planned.devices
    const certificateIds = new Set(written.planned.pending.map((each) => each.certificateId))
    const isPageEnd = part.isLast || devices >= part.devicesLeft
    const hasNext = isPageEnd && !part.isLast
    const { next } = part
    const progress = {
      appId,
      taskId,
      state: part.isLast ? pushTaskState.expanded : pushTaskState.expanding,
      page: part.page + Number(hasNext),
      pageBatchId: hasNext ? next.batchId : batchId,
      position: part.isLast ? endOfAudience : part.upTo,
      devices: locked.devices + devices,
      finished: locked.finished + finished,
    }
    const nextJobs = hasNext ? [{ ...next.job, runAt: runAtOf(next, certificateIds) }] : []
    return {
      last: [
        { statement: setProgress, rows: [progressRow({ ...progress, updatedAt: inputs.now })] },
        ...pageStatements(written, nextJobs),
      ],
      output: () => ({ devices, certificateIds: [...certificateIds], isPageEnd }),
    }
  },
}

/**
 * Stores tasks of messages with all of their deliveries, as one page, and the job that sends them.
 * Leaves out messages that have a task. Throws {@link RetryProcedure} and stores nothing when a user
 * was deleted.
 * @returns true when there is something to send
 */
export const writeNewTasks: Procedure<NewTasks, boolean> = {
  module: import.meta.url,
  name: 'writeNewTasks',
  async run(context, { audiences, job, ...together }) {
    const { appId } = together
    const inserted = await context.run<InsertedTask>(
      insertTasks,
      audiences.map(({ task }) => taskRow(task, pushTaskState.expanded)),
    )
    const ids = new Set(inserted.map(({ task_id }) => task_id))
    const stored = audiences.filter(({ task }) => ids.has(task.taskId))
    const written = await plan(context, { ...together, audiences: stored })
    const { devices: all, pending } = written.planned
    const rows = all
      .filter(({ devices }) => devices > 0)
      .map(({ taskId, devices, finished }) => [devices, finished, appId, taskId])
    // Those that wait for answers of their devices are due later.
    const runAt = Math.max(job.runAt, Math.min(...pending.map(({ nextAt }) => nextAt)))
    const jobs = pending.length === 0 ? [] : [{ ...job, runAt }]
    return {
      last: [{ statement: setDevices, rows }, ...pageStatements(written, jobs)],
      output: () => jobs.length > 0,
    }
  },
}

interface Written {
  readonly planned: PlannedDeliveries
  /** The badges that devices show. */
  readonly shown: ShownBadges
  readonly locked: readonly LockedTask[]
}

/** Plans deliveries and changes badges. Throws {@link RetryProcedure} when a user was deleted. */
async function plan(
  context: ProcedureContext,
  { appId, batchId, audiences, inputs }: WrittenTogether,
): Promise<Written> {
  const recipients = audiences.flatMap((audience) => audience.recipients)
  const userIds = [...new Set(recipients.map(({ userId }) => userId))]
  const users = await readInputs(context.run, appId, userIds)
  const plans = planDeliveries(audiences, users, inputs)
  const planned = prepareDeliveries(appId, plans, batchId)
  const presenceOf = (ids: readonly Int64[]) =>
    context.run<UserPresence>(
      findPresence,
      ids.map((userId) => [appId, userId]),
    )
  const withBadge = new Set(planned.badges.map(({ userId }) => userId))
  const withoutBadge = userIds.filter((userId) => users.has(userId) && !withBadge.has(userId))
  const tasks = audiences.map(({ task }) => [appId, task.taskId])
  // In this order: the wait for the lock of the task must not come after the look at who is deleted.
  const [shown, locked, unchanged] = await Promise.all([
    countBadges(context, planned),
    context.run<LockedTask>(lockTasks, tasks),
    context.hasRowLocks ? presenceOf(withoutBadge) : [],
  ])
  // Deleted users have no badge row.
  const missing = planned.badges.filter((badge) => !shown.has(badgeName(badge)))
  const suspects = await presenceOf(missing.map(({ userId }) => userId))
  if ([...unchanged, ...suspects].some(({ deletedAt }) => deletedAt !== null))
    throw new RetryProcedure('user')
  return { planned, shown, locked }
}

function pageStatements({ planned, shown }: Written, jobs: readonly JobValues[]): LastStatement[] {
  return [
    { statement: addToCounts, rows: countRows(planned.counts) },
    { statement: insertJobs, rows: jobs.map((job) => jobRow(job)) },
    { statement: insertDeliveries, rows: plannedRows(planned, shown) },
  ]
}

function isPartCurrent(locked: LockedTask, { page, batchId, position }: PagePart): boolean {
  return (
    isUnresolved(locked) &&
    locked.page === page &&
    locked.pageBatchId === batchId &&
    locked.position === position
  )
}

/** At once, unless all certificates of the page are held back: then when the first of them may be used. */
function runAtOf(
  { job, heldUntil, certificateIds, latest }: NextPage,
  ofPart: ReadonlySet<Int64>,
): number {
  const held = new Map(heldUntil)
  const ends = [...new Set([...certificateIds, ...ofPart])].map((id) => held.get(id) ?? 0)
  return ends.length === 0 ? job.runAt : Math.min(Math.max(job.runAt, Math.min(...ends)), latest)
}
