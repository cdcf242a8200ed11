/** Writes the deliveries of some users of a page. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { pushTaskState } from '@hermod/protocol/enums'
import { type Procedure, RetryProcedure } from '../../../db/procedure.js'
import { insertJobs, type JobValues, jobRow } from '../../../jobs/job-statements.js'
import type { Recipient } from '../audience/recipient.js'
import { insertDeliveries } from '../deliveries/delivery-statements.js'
import {
  type PlanInputs,
  type PlannedTask,
  planDeliveries,
  prepareDeliveries,
} from '../deliveries/plan-deliveries.js'
import { findPresence, readInputs, type UserPresence } from '../deliveries/recipient-inputs.js'
import { badgeName, countBadges, plannedRows } from '../deliveries/store-deliveries.js'
import { endOfAudience, isUnresolved } from '../tasks/task-model.js'
import {
  addToCounts,
  countRows,
  type LockedTask,
  lockTasks,
  progressRow,
  setProgress,
} from '../tasks/task-statements.js'

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
    const userIds = recipients.map(({ userId }) => userId)
    const users = await readInputs(context.run, appId, userIds)
    const plans = planDeliveries([{ task, recipients }], users, inputs)
    const planned = prepareDeliveries(appId, plans, [batchId])
    const presenceOf = (ids: readonly Int64[]) =>
      context.run<UserPresence>(
        findPresence,
        ids.map((userId) => [appId, userId]),
      )
    const withBadge = new Set(planned.badges.map(({ userId }) => userId))
    const withoutBadge = userIds.filter((userId) => users.has(userId) && !withBadge.has(userId))
    // In this order: the wait for the lock of the task must not come after the look at who is deleted.
    const [shown, [locked], unchanged] = await Promise.all([
      countBadges(context, planned),
      context.run<LockedTask>(lockTasks, [[appId, taskId]]),
      context.hasRowLocks ? presenceOf(withoutBadge) : [],
    ])
    if (!locked || !isPartCurrent(locked, part)) throw new RetryProcedure('task')
    // Deleted users have no badge row.
    const missing = planned.badges.filter((badge) => !shown.has(badgeName(badge)))
    const suspects = await presenceOf(missing.map(({ userId }) => userId))
    if ([...unchanged, ...suspects].some(({ deletedAt }) => deletedAt !== null))
      throw new RetryProcedure('user')
    const [{ devices, finished } = { devices: 0, finished: 0 }] = planned.devices
    const pending = planned.batches.filter((batch) => batch.batchId === batchId)
    const certificateIds = new Set(
      pending.flatMap(({ deliveries }) => deliveries.map(({ certificateId }) => certificateId)),
    )
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
        { statement: addToCounts, rows: countRows(planned.counts) },
        { statement: insertJobs, rows: nextJobs.map((job) => jobRow(job)) },
        { statement: insertDeliveries, rows: plannedRows(planned, shown) },
      ],
      output: () => ({ devices, certificateIds: [...certificateIds], isPageEnd }),
    }
  },
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
