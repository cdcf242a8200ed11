import { sql } from '../../db/kysely.js'
import { broadcastUserId } from '../messaging/model/conversation-model.js'
import { type IntegrityCheck, log } from './integrity-check.js'

const broadcastId = sql.lit(broadcastUserId)

/** Broadcast streams and the counts of users (decision page 028). */
export const broadcastChecks: readonly IntegrityCheck[] = [
  {
    name: 'user_count',
    count: sql`select count(*) as count from user_counts`,
    faults: sql`select app_id, 'users' as subject, 'counts ' || said || ' users and has ' || found as detail
      from (select app_id, sum(said) as said, sum(found) as found
        from (select app_id, users as said, 0 as found from user_counts
          union all select app_id, 0, count(*) from users where deleted_at is null group by app_id) either
        group by app_id) counts
      where said <> found`,
  },
  {
    name: 'last_broadcast',
    count: sql`select count(*) as count from user_counts`,
    faults: sql`select n.app_id, 'broadcasts' as subject,
        'notes ' || n.last_broadcast_id || ' as the last broadcast, the outbox ' || coalesce(h.last_broadcast_id, 0) || ', where ' || coalesce(s.last_msg_id, 0) || ' is' as detail
      from user_counts n
      left join outbox_heads h on h.app_id = n.app_id
      left join (select app_id, max(last_msg_id) as last_msg_id from conversations where low_id = ${broadcastId} group by app_id) s
        on s.app_id = n.app_id
      where n.last_broadcast_id <> coalesce(s.last_msg_id, 0) or coalesce(h.last_broadcast_id, 0) <> coalesce(s.last_msg_id, 0)`,
  },
  {
    name: 'broadcast_sender',
    count: sql`select count(*) as count from ${log} l where low_id = ${broadcastId}`,
    faults: sql`select l.app_id, '' || l.msg_id as subject, 'stands among the broadcasts of ' || l.high_id || ' and was sent by ' || l.sender_id as detail
      from ${log} l where l.low_id = ${broadcastId} and l.sender_id <> l.high_id`,
  },
  {
    name: 'broadcasts_after',
    count: sql`select count(*) as count from users where broadcasts_after > 0`,
    faults: sql`select u.app_id, '' || u.user_id as subject, 'names ' || u.broadcasts_after || ' as the broadcast before it, but the last one is ' || coalesce(n.last_broadcast_id, 0) as detail
      from users u left join user_counts n on n.app_id = u.app_id
      where u.broadcasts_after > coalesce(n.last_broadcast_id, 0)`,
  },
]
