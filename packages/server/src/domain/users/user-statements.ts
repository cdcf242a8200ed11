/** Bulk statements about users; see user-store.ts. */
import type { BulkSelect } from '../../db/dialect/dialect.js'

/** Keeps users from being deleted until the transaction ends, and tells which are. */
export const lockUsers: BulkSelect = {
  table: 'users',
  keys: { app_id: 'text', user_id: 'bigint' },
  columns: 'app_id, user_id, deleted_at',
  lock: 'for key share',
}
