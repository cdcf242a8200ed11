/** Statements that count the unread messages of a user in its logs `l`. */
import { groupStatus, groupType, type Int64 } from '@hermod/protocol'
import type { Param, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import { ofConversation } from '../conversations/conversation-sql.js'
import { logsOfUser, peerId } from './reader-sql.js'

/**
 * `exact` counts with subqueries. `rough` has none and gives null where the plain difference is not
 * the count.
 */
export type UnreadPrecision = 'exact' | 'rough'

/**
 * The last position that is not unread. Removed messages are not unread, wherever the reader's
 * position is.
 */
const seen = sql<number>`case when l.seen_seq < l.removed_seq then l.removed_seq else l.seen_seq end`
/**
 * The last position that the reader receives: messages sent while msg_mute_mode is 2 do not count
 * (rule F8a).
 */
const received = sql<number>`coalesce(l.muted_seq, l.seq)`
/** The undelivered ranges of the member: positions sent while msg_mute_mode was 2. */
const undeliveredRanges = sql`from group_mute_gaps y where y.app_id = l.app_id and y.group_id = l.low_id and y.user_id = l.user_id`

/**
 * Condition on a position: the reader receives its message. Only the first range that ends at or
 * after it can contain it.
 */
const isReceived = (seq: string) => {
  const position = sql.ref(seq)
  return sql<boolean>`${position} <= ${received} and ${position} <= case when ${position} > l.gaps_end_seq
  then ${position} else coalesce((select y.from_seq ${undeliveredRanges} and y.to_seq >= ${position} order by y.to_seq limit 1), ${position}) end`
}

const undelivered = sql<number>`case when l.gaps_end_seq > ${seen} then (select cast(coalesce(sum(y.to_seq
  - case when y.from_seq > ${seen} then y.from_seq else ${seen} end), 0) as bigint) ${undeliveredRanges} and y.to_seq > ${seen}) else 0 end`

const recalled = sql<number>`case when l.last_recalled_seq > ${seen}
  then (select count(*) from recalled_messages r where ${ofConversation('r', 'l')} and r.seq > ${seen} and ${isReceived('r.seq')}) else 0 end`

/** Notifications in the reader's own name. */
const ownNotifications = sql<number>`case when l.last_notified_seq > ${seen} then (select count(*) from own_notifications n
  where ${ofConversation('n', 'l')} and n.user_id = l.user_id and n.seq > ${seen} and ${isReceived('n.seq')}) else 0 end`

/** Chatrooms and dissolved groups have no unread messages. */
const mayBeUnread = sql<boolean>`(${received} > ${seen} and (l.is_group = 0 or exists (select 1 from groups g
  where g.app_id = l.app_id and g.group_id = l.low_id
  and g.type <> ${sql.lit(groupType.chatroom)} and g.status = ${sql.lit(groupStatus.normal)})))`

/**
 * Sending moves the sender's own position, so messages above it are from others or notifications:
 * the count is the difference of two positions, less recalled messages, own notifications and
 * positions that the reader does not receive.
 */
const counts: Readonly<Record<UnreadPrecision, RawBuilder<number | null>>> = {
  exact: sql<number>`${received} - ${seen} - ${recalled} - ${ownNotifications} - ${undelivered}`,
  rough: sql<
    number | null
  >`case when l.last_recalled_seq <= ${seen} and l.last_notified_seq <= ${seen} and l.gaps_end_seq <= ${seen} then ${received} - ${seen} end`,
}

/** The exact unread count of the log `l`. */
export const unreadInLog = sql<number>`case when ${mayBeUnread} then ${counts.exact} else 0 end`

/**
 * Unread counts of the logs of a user that may have any. PostgreSQL plans each subquery at every
 * run, also those that no row evaluates.
 * @param of.hasBroadcasts false where the app has none
 */
export function unreadCounts(
  db: Queryable,
  param: Param<UserKey>,
  of: { readonly precision: UnreadPrecision; readonly hasBroadcasts: boolean },
) {
  return logsOfUser(db, param, of.hasBroadcasts)
    .select([sql<Int64>`${peerId}`.as('peerId'), counts[of.precision].as('unread')])
    .where(mayBeUnread)
}
