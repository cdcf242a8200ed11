/** Bulk statements about users; see user-store.ts. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import type { BulkSelect, BulkUpdate } from '../../db/dialect/dialect.js'
import type { ProcedureContext } from '../../db/procedure.js'
import { compare } from '../../lib/compare.js'
import type { UserKey } from './user-model.js'

const lockUsers: BulkSelect = {
  table: 'users',
  keys: { app_id: 'text', user_id: 'bigint' },
  columns: 'app_id, user_id, deleted_at',
  lock: 'for key share',
}

interface LockedUser {
  readonly app_id: string
  readonly user_id: Int64
  readonly deleted_at: number | null
}

/**
 * Keeps users from being deleted until the transaction ends. They are locked by key.
 * @returns what it says of each of them: true = the user is there, false = deleted, undefined = there never was one
 */
export async function lockPresence(
  context: ProcedureContext,
  users: readonly UserKey[],
): Promise<(user: UserKey) => boolean | undefined> {
  const distinct = new Map(users.map((user) => [presenceKey(user), user]))
  const inOrder = [...distinct.values()].sort(
    (a, b) => compare(a.appId, b.appId) || compare(a.userId, b.userId),
  )
  const found = await context.run<LockedUser>(
    lockUsers,
    inOrder.map(({ appId, userId }) => [appId, userId]),
  )
  const presence = new Map(
    found.map(({ app_id: appId, user_id: userId, deleted_at }) => [
      presenceKey({ appId, userId }),
      deleted_at === null,
    ]),
  )
  return (user) => presence.get(presenceKey(user))
}

function presenceKey({ appId, userId }: UserKey): string {
  return `${appId}/${userId}`
}

/** Users stay as they are until the transaction ends. */
export const lockBadges: BulkSelect = {
  table: 'users',
  keys: { app_id: 'text', user_id: 'bigint' },
  columns: 't.user_id, t.badge, t.deleted_at',
  lock: 'for no key update',
}

/** A row of {@link lockBadges}. */
export interface LockedBadge {
  readonly user_id: Int64
  readonly badge: number
  /** null = the user is there */
  readonly deleted_at: number | null
}

/** Rows: badge, then app_id and user_id. */
export const setBadges: BulkUpdate = {
  module: import.meta.url,
  table: 'users',
  set: { badge: 'integer' },
  keys: { app_id: 'text', user_id: 'bigint' },
}
