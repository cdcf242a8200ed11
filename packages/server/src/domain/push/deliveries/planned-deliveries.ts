/**
 * Deliveries that are to be stored: their rows, and the badges that they change. Loaded by the
 * writer's thread too.
 */
import type { Int64 } from '@hermod/protocol'
import type { ProcedureContext } from '../../../db/procedure.js'
import { compare } from '../../../lib/compare.js'
import { groupBy } from '../../../lib/group-by.js'
import type { BadgeChange } from '../../../push/notification.js'
import { addToBadges, type BadgeRow, setBadges } from '../../users/user-statements.js'
import type { CountChange, DeviceChange } from '../tasks/task-statements.js'
import { type BadgeTotal, shownAfter, totalOf } from './badge-changes.js'
import type { NewDelivery } from './delivery-model.js'
import { deliveryRow } from './delivery-statements.js'

/** Deliveries of one application, in plain data. */
export interface PlannedDeliveries {
  readonly appId: string
  /** The batch of the pending deliveries. */
  readonly batchId: Int64
  readonly pending: readonly NewDelivery[]
  /** Not sent, in no batch, and without a badge. */
  readonly suppressed: readonly NewDelivery[]
  /** One for each task and user, in the order in which they count. */
  readonly badges: readonly BadgeOfUser[]
  readonly devices: readonly DeviceChange[]
  readonly counts: readonly CountChange[]
}

/** A change of the badge of one user by a task. */
export interface BadgeOfUser {
  readonly taskId: Int64
  readonly userId: Int64
  readonly change: BadgeChange
}

/** The badges that devices show, by {@link badgeName}. */
export type ShownBadges = ReadonlyMap<string, number>

/** The rows of insertDeliveries. @param shown by {@link countBadges} */
export function plannedRows(
  { batchId, pending, suppressed }: PlannedDeliveries,
  shown: ShownBadges,
): unknown[][] {
  return [
    ...pending.map((each) => deliveryRow(each, batchId, shown.get(badgeName(each)) ?? null)),
    ...suppressed.map((each) => deliveryRow(each, 0, null)),
  ]
}

/** Changes badges. A user's badge changes once with a push, however many devices show it. */
export async function countBadges(
  { run }: ProcedureContext,
  { appId, badges: changes }: PlannedDeliveries,
): Promise<ShownBadges> {
  const users = [...groupBy(changes, ({ userId }) => userId)]
    .sort(([a], [b]) => compare(a, b))
    .map(([userId, ofUser]) => {
      const inOrder = ofUser.map(({ change }) => change)
      return { userId, ofUser, inOrder, total: totalOf(inOrder) }
    })
  const rowsOf = (field: keyof BadgeTotal) =>
    users.flatMap(({ userId, total: { [field]: count } }) =>
      count === null ? [] : [[count, appId, userId]],
    )
  const [added, set] = await Promise.all([
    run<BadgeRow>(addToBadges, rowsOf('added')),
    run<BadgeRow>(setBadges, rowsOf('set')),
  ])
  const badges = new Map([...set, ...added].map(({ userId, badge }) => [userId, badge]))
  const shown = new Map<string, number>()
  for (const { userId, ofUser, inOrder } of users) {
    const badge = badges.get(userId)
    if (badge === undefined) continue
    const counts = shownAfter(inOrder, badge)
    for (const [index, { taskId }] of ofUser.entries())
      shown.set(badgeName({ taskId, userId }), counts[index] ?? 0)
  }
  return shown
}

/** The key of {@link ShownBadges}. */
export function badgeName({ taskId, userId }: Pick<NewDelivery, 'taskId' | 'userId'>): string {
  return `${taskId} ${userId}`
}
