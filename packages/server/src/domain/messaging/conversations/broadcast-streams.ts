/** SQL fragments about the broadcasts that a user sees (decision page 028). */
import type { Int64 } from '@hermod/protocol'
import type { Param, Queryable } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import { broadcastUserId } from '../model/conversation-model.js'
import { ofConversation } from './conversation-sql.js'

/** A user as reader of the broadcasts of one sender. */
export interface BroadcastReader extends UserKey {
  readonly senderId: Int64
}

/** The message up to which broadcasts are hidden from the user `u` with positions `b`: sent before the registration, or deleted. */
export const hiddenBroadcasts = sql<number>`case when coalesce(b.hidden_msg_id, 0) > u.broadcasts_after then b.hidden_msg_id else u.broadcasts_after end`

/** The position before the first broadcast of the stream `c` for the user `u`: one key look-up, none for users older than all broadcasts. */
const start = sql<number>`case when u.broadcasts_after = 0 then c.removed_seq
  else coalesce((select m.seq - 1 from messages m where ${ofConversation('m')} and m.msg_id > u.broadcasts_after
    order by m.msg_id limit 1), c.seq) end`
/** The seen position of the user `u` with positions `b` in the stream `c`: nothing up to it is unread. */
export const seenInStream = sql<number>`case when b.seen_seq is null then ${start}
  when b.seen_seq < c.removed_seq then c.removed_seq else b.seen_seq end`

/** Broadcast streams `c` with a broadcast for the user `u`, and the user's positions `b`, if any. Senders read their own streams too. */
export function streamsOf(db: Queryable, param: Param<UserKey>) {
  return db
    .selectFrom('users as u')
    .innerJoin('conversations as c', (join) =>
      join.onRef('c.app_id', '=', 'u.app_id').on('c.low_id', '=', broadcastUserId),
    )
    .leftJoin('broadcast_marks as b', (join) =>
      join
        .onRef('b.app_id', '=', 'u.app_id')
        .onRef('b.user_id', '=', 'u.user_id')
        .onRef('b.sender_id', '=', 'c.high_id'),
    )
    .where('u.app_id', '=', param('appId'))
    .where('u.user_id', '=', param('userId'))
    .where('c.app_id', '=', param('appId'))
    .whereRef('c.last_msg_id', '>', 'u.broadcasts_after')
}
