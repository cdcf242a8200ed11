/** Some users of a batch, from what is stored about them to their deliveries, where the writer is. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { pushTaskState } from '@hermod/protocol/enums'
import { type Procedure, RetryProcedure } from '../../../db/procedure.js'
import {
  type PlannedTask,
  type PlanSurroundings,
  planDeliveries,
  prepareDeliveries,
} from '../deliveries/plan-deliveries.js'
import { findPresence, readFacts, type UserPresence } from '../deliveries/recipient-facts.js'
import { badgeName, countBadges, writeDeliveries } from '../deliveries/store-deliveries.js'
import type { Recipient } from '../tasks/task-model.js'
import {
  addToCounts,
  countRows,
  type LockedTask,
  lockTasks,
  setDevices,
  targetsAdded,
} from '../tasks/task-statements.js'
import { type Batch, settle } from './batch-model.js'
import {
  batchProgressRow,
  expectedOf,
  type LockedBatch,
  lockBatches,
  setBatches,
} from './batch-statements.js'

/** Users of a batch who come next. */
export interface BatchPart {
  readonly task: PlannedTask
  /** As it was when the users were read. */
  readonly batch: Pick<Batch, 'batchId' | 'openedTo'>
  readonly recipients: readonly Recipient[]
  readonly surroundings: PlanSurroundings
  /** How far the batch is then. */
  readonly openedTo: Int64
  /** Whether nobody comes after them. */
  readonly isLast: boolean
}

/**
 * Gives users of a batch their deliveries and badges. Ends in a {@link RetryProcedure} where things are not as they were read: another
 * run has brought the batch further, the task was cancelled, or a user was deleted.
 */
export const openBatch: Procedure<BatchPart, void> = {
  module: import.meta.url,
  name: 'openBatch',
  async run(context, { task, batch, recipients, surroundings, openedTo, isLast }) {
    const { appId, taskId } = task
    const { batchId } = batch
    const userIds = recipients.map(({ userId }) => userId)
    const [[locked], facts] = await Promise.all([
      context.run<LockedBatch>(lockBatches, [[appId, batchId]]),
      readFacts(context.run, appId, userIds),
    ])
    if (locked?.opened_to !== batch.openedTo) throw new RetryProcedure('batch')
    const plans = planDeliveries([{ task, recipients }], facts, surroundings)
    const planned = prepareDeliveries(appId, plans, [batchId])
    const presenceOf = (users: readonly Int64[]) =>
      context.run<UserPresence>(
        findPresence,
        users.map((userId) => [appId, userId]),
      )
    const counted = new Set(planned.badges.map(({ userId }) => userId))
    const isLookedAt = (userId: Int64) => facts.has(userId) && !counted.has(userId)
    const [shown, uncounted, [lockedTask]] = await Promise.all([
      countBadges(context, planned),
      context.hasRowLocks ? presenceOf(userIds.filter(isLookedAt)) : [],
      context.run<LockedTask>(lockTasks, [[appId, taskId]]),
    ])
    if (!lockedTask || lockedTask.state === pushTaskState.cancelled)
      throw new RetryProcedure('task')
    // Who is deleted has no badge.
    const withoutBadge = planned.badges.filter((badge) => !shown.has(badgeName(badge)))
    const suspects = await presenceOf(withoutBadge.map(({ userId }) => userId))
    if ([...uncounted, ...suspects].some(({ deletedAt }) => deletedAt !== null))
      throw new RetryProcedure('user')
    const [{ devices, finished } = { devices: 0, finished: 0 }] = planned.devices
    const targets = new Map(planned.counts.map(({ channel, target }) => [channel, target]))
    const { change, rest } = settle(expectedOf(locked), { devices, targets }, { isLast })
    await writeDeliveries(context, planned, shown)
    const counts = [lockedTask.devices + change.devices, lockedTask.finished + finished]
    const progress = batchProgressRow({ appId, batchId, openedTo, expected: rest })
    return {
      last: [
        { statement: setBatches, rows: [progress] },
        { statement: setDevices, rows: [[...counts, appId, taskId]] },
        { statement: addToCounts, rows: countRows(targetsAdded(task, change.targets)) },
      ],
      output() {},
    }
  },
}
