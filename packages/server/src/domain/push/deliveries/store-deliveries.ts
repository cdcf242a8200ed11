/** Storing of planned deliveries where the writer is. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import type { ProcedureContext } from '../../../db/procedure.js'
import { insertJobs } from '../../../jobs/job-statements.js'
import { compare } from '../../../lib/compare.js'
import type { BadgeChange } from '../../../push/sender.js'
import { type LockedBadge, lockBadges, setBadges } from '../../users/user-statements.js'
import {
  addToCounts,
  type CountChange,
  countRows,
  type DeviceChange,
} from '../tasks/task-statements.js'
import type { NewDelivery } from './delivery-model.js'
import { deliveryRow, insertDeliveries } from './delivery-statements.js'

/** Deliveries of one application, in plain data. */
export interface PlannedDeliveries {
  readonly appId: string
  readonly deliveries: readonly NewDelivery[]
  /** One for each task and user, in the order in which they count. */
  readonly badges: readonly BadgeOfUser[]
  readonly devices: readonly DeviceChange[]
  readonly counts: readonly CountChange[]
  /** Of insertJobs. */
  readonly jobs: readonly (readonly unknown[])[]
}

export interface BadgeOfUser {
  readonly taskId: Int64
  readonly userId: Int64
  readonly change: BadgeChange
}

/** Stores deliveries, badges, counts and the jobs that send; what it adds to the tasks themselves is left to the caller. */
export async function storeDeliveries(
  context: ProcedureContext,
  { appId, deliveries, badges, counts, jobs }: PlannedDeliveries,
): Promise<void> {
  const shown = await countBadges(context, appId, badges)
  // Those that are not sent have no batch, and show nothing.
  const rows = deliveries.map((delivery) =>
    deliveryRow(delivery, delivery.batchId === 0 ? null : (shown.get(badgeName(delivery)) ?? null)),
  )
  await context.run(insertDeliveries, rows)
  await context.run(addToCounts, countRows(counts))
  await context.run(insertJobs, jobs)
}

/** A user's badge changes once with a push, however many devices show it. @returns what they show */
async function countBadges(
  { run, change }: ProcedureContext,
  appId: string,
  changes: readonly BadgeOfUser[],
): Promise<ReadonlyMap<string, number>> {
  const userIds = [...new Set(changes.map(({ userId }) => userId))].sort(compare)
  const locked = await run<LockedBadge>(
    lockBadges,
    userIds.map((userId) => [appId, userId]),
  )
  const badges = new Map(
    locked.flatMap((user) => (user.deleted_at === null ? [[user.user_id, user.badge]] : [])),
  )
  const shown = new Map<string, number>()
  for (const { taskId, userId, change: by } of changes) {
    const before = badges.get(userId)
    if (before === undefined) continue
    const count = changedBadge(before, by)
    badges.set(userId, count)
    shown.set(badgeName({ taskId, userId }), count)
  }
  await change(
    setBadges,
    [...badges].map(([userId, badge]) => [badge, appId, userId]),
  )
  return shown
}

const greatestBadge = 2 ** 31 - 1

function changedBadge(badge: number, { mode, count }: BadgeChange): number {
  return Math.min(mode === 'set' ? count : badge + count, greatestBadge)
}

function badgeName({ taskId, userId }: Pick<NewDelivery, 'taskId' | 'userId'>): string {
  return `${taskId} ${userId}`
}
