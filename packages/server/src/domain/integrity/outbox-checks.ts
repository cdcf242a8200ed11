import { sql } from '../../db/kysely.js'
import type { IntegrityCheck } from './integrity-check.js'

/** The last message was in the outbox: its ID is none of imported history (lib/ids/ids.ts). */
const isLive = sql.raw(`last_msg_id / 64 % 64 <> 63`)

/**
 * Positions of an app are dense from the first kept row up to its head; no consumer is beyond the
 * head.
 */
export const outboxChecks: readonly IntegrityCheck[] = [
  {
    name: 'outbox_positions',
    count: sql`select count(*) as count from outbox`,
    faults: sql`select o.app_id, 'outbox' as subject,
        o.rows_kept || ' rows from ' || o.first_position || ' to ' || o.last_position || ', and the head is at ' || coalesce(h.position, 0) as detail
      from (select app_id, min(position) as first_position, max(position) as last_position, count(*) as rows_kept from outbox group by app_id) o
      left join outbox_heads h on h.app_id = o.app_id
      where h.position is null or h.position <> o.last_position or o.last_position - o.first_position + 1 <> o.rows_kept`,
  },
  {
    name: 'outbox_last_message',
    count: sql`select count(*) as count from outbox_heads`,
    faults: sql`select h.app_id, 'outbox' as subject,
        'knows messages up to ' || h.last_msg_id || ', where ' || c.last_msg_id || ' is the last one' as detail
      from outbox_heads h
      join (select app_id, max(last_msg_id) as last_msg_id from conversations where low_id >= 0 and ${isLive} group by app_id) c on c.app_id = h.app_id
      where h.last_msg_id < c.last_msg_id`,
  },
  {
    name: 'outbox_consumer',
    count: sql`select count(*) as count from outbox_positions`,
    faults: sql`select p.app_id, p.consumer as subject, 'is at ' || p.position || ' of an outbox that ends at ' || coalesce(h.position, 0) as detail
      from outbox_positions p left join outbox_heads h on h.app_id = p.app_id
      where h.position is null or p.position > h.position`,
  },
  {
    name: 'user_change_position',
    count: sql`select count(*) as count from user_changes`,
    faults: sql`select u.app_id, cast(u.user_id as text) as subject,
        'changed at position ' || u.position || ' of an outbox that ends at ' || coalesce(h.position, 0) as detail
      from user_changes u left join outbox_heads h on h.app_id = u.app_id
      where h.position is null or u.position > h.position or u.position < 1`,
  },
]
