/** Parts of statements about the broadcasts that a user sees (decision page 028). */
import type { Int64 } from '@hermod/protocol'
import type { Param, Queryable } from '../../../db/database.js'
import { type SqlBool, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import { everybodyId } from '../log/conversation-model.js'

/** A user who reads the broadcasts of a sender. */
export interface BroadcastReader extends UserKey {
  readonly senderId: Int64
}

/** The rows of a log that are of the stream `c`. @param log the alias of messages, or of what is left of those that were recalled */
export const isLogOfStream = (log: string) =>
  sql.raw<SqlBool>(
    `${log}.app_id = c.app_id and ${log}.low_id = c.low_id and ${log}.high_id = c.high_id`,
  )

/** Of a user `u` with marks `b`: up to which message no broadcast is seen, because it was before the user's time or is hidden. */
export const hiddenBroadcasts = sql<number>`case when coalesce(b.hidden_msg_id, 0) > u.broadcasts_after then b.hidden_msg_id else u.broadcasts_after end`

/**
 * The position before the first broadcast of the stream `c` that is left to the user `u`: one look-up of a key, and none for who was there
 * before the first of all.
 */
const start = sql<number>`case when u.broadcasts_after = 0 then c.removed_seq
  else coalesce((select m.seq - 1 from messages m where ${isLogOfStream('m')} and m.msg_id > u.broadcasts_after
    order by m.msg_id limit 1), c.seq) end`
/** Of a user `u` with marks `b`: nothing of the stream `c` up to and including this position is unread. */
export const seenInStream = sql<number>`case when b.seen_seq is null then ${start}
  when b.seen_seq < c.removed_seq then c.removed_seq else b.seen_seq end`

/**
 * Broadcast streams `c` that have something for a user `u`, with that user's marks `b` in them, where there are any. A sender is a reader
 * of the own ones.
 */
export function streamsOf(db: Queryable, param: Param<UserKey>) {
  return db
    .selectFrom('users as u')
    .innerJoin('conversations as c', (join) =>
      join.onRef('c.app_id', '=', 'u.app_id').on('c.low_id', '=', everybodyId),
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
