/** Bulk statements about users; see user-store.ts. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import type { BulkSelect, BulkUpdate } from '../../db/dialect/dialect.js'

/** Keeps users from being deleted until the transaction ends, and tells which are. */
export const lockUsers: BulkSelect = {
  table: 'users',
  keys: { app_id: 'text', user_id: 'bigint' },
  columns: 'app_id, user_id, deleted_at',
  lock: 'for key share',
}

/** A row of {@link lockUsers}. */
export interface LockedUser {
  readonly app_id: string
  readonly user_id: Int64
  /** null = the user is there */
  readonly deleted_at: number | null
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
