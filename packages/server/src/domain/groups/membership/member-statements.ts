/** How procedures write members. Rows of a bulk are in one order for all callers, or concurrent batches deadlock. */
import type { BulkUpdate } from '../../../db/dialect/dialect.js'

/** Moves the read marks of members who have sent; one who is no member any more has none. */
export const advanceMembers: BulkUpdate = {
  table: 'group_members',
  set: { read_seq: 'bigint', seen_seq: 'bigint' },
  keys: { app_id: 'text', group_id: 'bigint', user_id: 'bigint' },
}
