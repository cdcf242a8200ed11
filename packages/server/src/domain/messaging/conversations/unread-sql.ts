/** Statements that count unread messages of a user. */
import { groupStatus, groupType, type Int64, muteMode } from '@hermod/protocol'
import type { Param, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import { seenInStream, streamsOf } from './broadcast-streams.js'
import { joinedConversations, joinedGroups, ofConversation, ownColumn } from './conversation-sql.js'

/** `exact` counts with subqueries. `rough` has none and gives null where the plain difference is not the count. */
export type UnreadPrecision = 'exact' | 'rough'

/** The other user, or the group, of a conversation `c` of the user of `p`. */
export const peerId = sql<Int64>`case when c.low_id = p.user_id then c.high_id else c.low_id end`

/** The positions between which the messages of one reader `p` are unread. */
interface UnreadRange {
  /** Messages up to this position are not unread. */
  readonly seen: RawBuilder<number>
  /** The last position that counts. */
  readonly end: RawBuilder<number>
  /** Condition on a position: the reader receives its message. */
  readonly isReceived: (seq: RawBuilder<number>) => RawBuilder<boolean>
  /** Positions of the range that the reader does not receive; null where there are never any. */
  readonly undelivered: {
    readonly count: RawBuilder<number>
    readonly isZero: RawBuilder<boolean>
  } | null
}

/** Removed messages are not unread, wherever the reader's position is. */
const notRemoved = (seen: RawBuilder<number>) =>
  sql<number>`case when ${seen} < c.removed_seq then c.removed_seq else ${seen} end`

const recalledAbove = (seen: RawBuilder<number>, isReceived: UnreadRange['isReceived']) =>
  sql<number>`case when c.last_recalled_seq > ${seen}
  then (select count(*) from recalled_messages r where ${ofConversation('r')} and r.seq > ${seen} and ${isReceived(sql`r.seq`)}) else 0 end`

/** Notifications in the reader's own name. */
const ownNotificationsAbove = (seen: RawBuilder<number>, isReceived: UnreadRange['isReceived']) =>
  sql<number>`case when c.last_notified_seq > ${seen} then (select count(*) from own_notifications n where ${ofConversation('n')}
    and n.user_id = p.user_id and n.seq > ${seen} and ${isReceived(sql`n.seq`)}) else 0 end`

/**
 * The unread count. Sending moves the sender's own position, so messages above it are from others or notifications: the count is the
 * difference of two positions, less recalled messages, own notifications and positions that the reader does not receive.
 */
function unreadCount(
  { seen, end, isReceived, undelivered }: UnreadRange,
  precision: UnreadPrecision,
): RawBuilder<number | null> {
  const difference = sql<number>`${end} - ${notRemoved(seen)}`
  if (precision === 'rough')
    return sql<
      number | null
    >`case when c.last_recalled_seq <= ${seen} and c.last_notified_seq <= ${seen}
      and ${undelivered?.isZero ?? everything()} then ${difference} end`
  const excluded = [
    recalledAbove(seen, isReceived),
    ownNotificationsAbove(seen, isReceived),
    ...(undelivered ? [undelivered.count] : []),
  ]
  return sql<number>`${difference} - ${sql.join(excluded, sql` - `)}`
}

const everything = () => sql<boolean>`true`

const unreadDirect: UnreadRange = {
  seen: ownColumn('seen_seq'),
  end: sql`c.seq`,
  isReceived: everything,
  undelivered: null,
}

/** The last position that the member receives: messages sent while msg_mute_mode is 2 do not count (rule F8a). */
const receivedSeq = sql<number>`case when p.msg_mute_mode = ${sql.lit(muteMode.notReceived)} then p.muted_seq else c.seq end`
/** The undelivered ranges of the member: positions sent while msg_mute_mode was 2. */
const undeliveredRanges = sql`from group_mute_gaps y where y.app_id = p.app_id and y.group_id = p.group_id and y.user_id = p.user_id`
const seenInGroup = sql<number>`p.seen_seq`
const keptInGroup = notRemoved(seenInGroup)

const unreadOfMember: UnreadRange = {
  seen: seenInGroup,
  end: receivedSeq,
  // Only the first range that ends at or after the position can contain it.
  isReceived: (
    seq,
  ) => sql<boolean>`${seq} <= ${receivedSeq} and ${seq} <= case when ${seq} > p.gaps_end_seq
  then ${seq} else coalesce((select y.from_seq ${undeliveredRanges} and y.to_seq >= ${seq} order by y.to_seq limit 1), ${seq}) end`,
  undelivered: {
    count: sql<number>`case when p.gaps_end_seq > ${keptInGroup} then (select cast(coalesce(sum(y.to_seq
  - case when y.from_seq > ${keptInGroup} then y.from_seq else ${keptInGroup} end), 0) as bigint) ${undeliveredRanges} and y.to_seq > ${keptInGroup}) else 0 end`,
    isZero: sql<boolean>`p.gaps_end_seq <= ${keptInGroup}`,
  },
}
/** Chatrooms and dissolved groups have no unread messages. */
const countsUnread = sql<boolean>`g.type <> ${sql.lit(groupType.chatroom)} and g.status = ${sql.lit(groupStatus.normal)}`

/** The exact unread count of one direct conversation `c` of the user of `p`. */
export const unreadInDirect = sql<number>`${unreadCount(unreadDirect, 'exact')}`

/** The exact unread count of one member `p` of a group `g`; its conversation `c` may be missing. */
export const unreadInGroup = sql<number>`case when ${receivedSeq} > ${keptInGroup} and ${countsUnread}
  then ${unreadCount(unreadOfMember, 'exact')} else 0 end`

/** The exact unread count of one broadcast stream `c` whose column `seen` is {@link seenInStream}. */
export const unreadInStream = sql<number>`c.seq - c.seen - ${recalledAbove(sql`c.seen`, everything)}`

/** Unread counts of direct and group conversations. PostgreSQL plans each subquery at every run, also those that no row evaluates. */
export function unreadCounts(db: Queryable, param: Param<UserKey>, precision: UnreadPrecision) {
  const direct = joinedConversations(db)
    .select([peerId.as('peerId'), unreadCount(unreadDirect, precision).as('unread')])
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
    .where(sql<boolean>`c.seq > ${notRemoved(unreadDirect.seen)}`)
  const groups = joinedGroups(db)
    .select(['p.group_id as peerId', unreadCount(unreadOfMember, precision).as('unread')])
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
    .where(sql<boolean>`${receivedSeq} > ${keptInGroup}`)
    .where(countsUnread)
  return direct.unionAll(groups)
}

/** Exact unread counts of broadcasts, by sender; the user's own broadcasts are excluded. */
export function unreadBroadcasts(db: Queryable, param: Param<UserKey>) {
  const streams = streamsOf(db, param)
    .select(['c.app_id', 'c.low_id', 'c.high_id', 'c.seq', 'c.last_recalled_seq'])
    .select(seenInStream.as('seen'))
    .where('c.high_id', '<>', param('userId'))
    .where(sql<boolean>`c.seq > coalesce(b.seen_seq, 0) and c.seq > c.removed_seq`)
  return (
    db
      // Materialized, so that the first unread message of a stream is looked up once.
      .with(
        (cte) => cte('streams').materialized(),
        () => streams,
      )
      .selectFrom('streams as c')
      .select('c.high_id as peerId')
      .select(unreadInStream.as('unread'))
  )
}
