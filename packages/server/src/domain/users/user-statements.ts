/** Bulk statements about users; see user-store.ts. The writer's thread loads this file too. */
import type { Int64 } from '@hermod/protocol'
import { camelCaseText, columnsOf, type TableRow } from '../../db/columns.js'
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../db/dialect/dialect.js'
import type { ProcedureContext } from '../../db/procedure.js'
import { rowOf } from '../../db/rows.js'
import { userBadgesTable, usersTable } from '../../db/schema.js'
import { compare } from '../../lib/compare.js'
import type { UserKey } from './user-model.js'

const userKey = columnsOf(usersTable, 'app_id', 'user_id')
const userKeyRow = rowOf(userKey)

const lockUsers: BulkSelect = {
  table: 'users',
  keys: userKey,
  columns: camelCaseText(['app_id', 'user_id', 'deleted_at']),
  lock: 'for key share',
}

type LockedUser = Pick<TableRow<typeof usersTable>, 'appId' | 'userId' | 'deletedAt'>

/**
 * Prevents the deletion of users until the transaction ends; locks them by key.
 * @returns for each user: true = exists, false = deleted, undefined = never existed
 */
export async function lockPresence(
  context: ProcedureContext,
  users: readonly UserKey[],
): Promise<(user: UserKey) => boolean | undefined> {
  const distinct = new Map(users.map((user) => [presenceKey(user), user]))
  const inOrder = [...distinct.values()].sort(
    (a, b) => compare(a.appId, b.appId) || compare(a.userId, b.userId),
  )
  const found = await context.run<LockedUser>(lockUsers, inOrder.map(userKeyRow))
  const presence = new Map(found.map((user) => [presenceKey(user), user.deletedAt === null]))
  return (user) => presence.get(presenceKey(user))
}

function presenceKey({ appId, userId }: UserKey): string {
  return `${appId}/${userId}`
}

/** Inserts badges of new users. Rows: app_id and user_id. */
export const insertBadges: BulkInsert = {
  table: 'user_badges',
  columns: userKey,
}

/**
 * Sets badges. Rows: badge, then app_id and user_id. Deleted users have no badge row. @see {@link
 * BadgeRow}
 */
export const setBadges: BulkUpdate = {
  table: 'user_badges',
  set: columnsOf(userBadgesTable, 'badge'),
  keys: userKey,
  returning: camelCaseText(['user_id', 'badge']),
}

/**
 * Adds to badges. Rows: increment, then app_id and user_id. Deleted users have no badge row. @see
 * {@link BadgeRow}
 */
export const addToBadges: BulkUpdate = { ...setBadges, adds: true }

/** Takes numbers off badges, down to 0. @param counts by user */
export async function subtractFromBadges(
  { run }: ProcedureContext,
  appId: string,
  counts: ReadonlyMap<Int64, number>,
): Promise<void> {
  const inOrder = [...counts].sort(([a], [b]) => compare(a, b))
  const changed = await run<BadgeRow>(
    addToBadges,
    inOrder.map(([userId, count]) => [-count, appId, userId]),
  )
  const below = changed.filter(({ badge }) => badge < 0)
  await run<BadgeRow>(
    setBadges,
    below.map(({ userId }) => [0, appId, userId]),
  )
}

/** Result row of {@link setBadges} and {@link addToBadges}: the new badge. */
export interface BadgeRow {
  readonly userId: Int64
  readonly badge: number
}
