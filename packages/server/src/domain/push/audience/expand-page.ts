/** A page of an audience, from its users to their deliveries, where the writer is. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { pushTaskState } from '@hermod/protocol/enums'
import { type Procedure, ProcedureRestart } from '../../../db/procedure.js'
import {
  type NewBatch,
  type PlannedTask,
  type PlanSurroundings,
  planDeliveries,
  prepareDeliveries,
} from '../deliveries/plan-deliveries.js'
import { findPresence, readFacts, type UserPresence } from '../deliveries/recipient-facts.js'
import { badgeName, countBadges, writeDeliveries } from '../deliveries/store-deliveries.js'
import type { Recipient, StoredPushTask } from '../tasks/task-model.js'
import { type LockedTask, lockTasks, setExpanded } from '../tasks/task-statements.js'

/** A page of the audience of a task. */
export interface AudiencePage {
  /** As it was when the page was read. */
  readonly task: PlannedTask & Pick<StoredPushTask, 'expandedTo'>
  readonly recipients: readonly Recipient[]
  readonly surroundings: PlanSurroundings
  /** Where the deliveries go that are to be sent: the batch that the task has open, or a new one. */
  readonly batch: NewBatch
  /** Whether the batch is sent then, unless it is empty. */
  readonly completesBatch: boolean
  /** How far the task is then, and in which state. */
  readonly expandedTo: Int64
  readonly state: number
}

/**
 * Why a page is not stored. `over`: the task does not go on; `outdated`: another run has brought it further, or a user whose facts were
 * read has been deleted since.
 */
export type PageRefusal = 'over' | 'outdated'

/** Moves a task on by a page of its audience. Ends in a {@link ProcedureRestart} with a {@link PageRefusal} where it cannot. */
export const expandPage: Procedure<AudiencePage, void> = {
  module: import.meta.url,
  name: 'expandPage',
  // Who sends a batch commits before that, and then everything is on the disk that the batch has.
  waitsForDisk: false,
  async run(context, page) {
    const { task, recipients, surroundings, batch, completesBatch, expandedTo, state } = page
    const { appId, taskId } = task
    const userIds = recipients.map(({ userId }) => userId)
    const facts = await readFacts(context.run, appId, userIds)
    const plans = planDeliveries([{ task, recipients }], facts, surroundings)
    const planned = prepareDeliveries(appId, plans, [batch])
    const presenceOf = (users: readonly Int64[]) =>
      context.run<UserPresence>(
        findPresence,
        users.map((userId) => [appId, userId]),
      )
    const counted = new Set(planned.badges.map(({ userId }) => userId))
    const isLookedAt = (userId: Int64) => facts.has(userId) && !counted.has(userId)
    const [[locked], uncounted, shown] = await Promise.all([
      context.run<LockedTask>(lockTasks, [[appId, taskId]]),
      context.hasRowLocks ? presenceOf(userIds.filter(isLookedAt)) : [],
      countBadges(context, planned),
    ])
    if (!locked || !isOpen(locked)) throw refusal('over')
    if (locked.expanded_to !== task.expandedTo) throw refusal('outdated')
    // Who is deleted has no badge.
    const withoutBadge = planned.badges.filter((badge) => !shown.has(badgeName(badge)))
    const suspects = await presenceOf(withoutBadge.map(({ userId }) => userId))
    if ([...uncounted, ...suspects].some(({ deletedAt }) => deletedAt !== null))
      throw refusal('outdated')
    const isUsed = planned.jobs.length > 0 || locked.open_batch_id !== 0
    const openBatchId = isUsed && !completesBatch ? batch.batchId : 0
    const jobs = isUsed && completesBatch ? [batch.job] : []
    const [added = { devices: 0, finished: 0 }] = planned.devices
    const devices = locked.devices + added.devices
    const finished = locked.finished + added.finished
    context.commitWithNext?.()
    await Promise.all([
      context.change(setExpanded, [
        [state, expandedTo, openBatchId, devices, finished, surroundings.now, appId, taskId],
      ]),
      ...writeDeliveries(context, { ...planned, jobs }, shown),
    ])
  },
}

/** Thrown, so that the badges that were counted are undone. */
function refusal(reason: PageRefusal): ProcedureRestart {
  return new ProcedureRestart(reason)
}

/** Whether a task goes on. */
export function isOpen({ state }: { readonly state: number }): boolean {
  return state === pushTaskState.waiting || state === pushTaskState.expanding
}
