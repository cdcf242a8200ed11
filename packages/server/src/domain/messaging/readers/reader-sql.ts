/**
 * SQL about the logs of a user: rows `l`, each a conversation with the positions of the user as its
 * reader.
 */
import type { Int64 } from '@hermod/protocol'
import type { Param, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import { ofConversation, textBytesOf } from '../conversations/conversation-sql.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import { broadcastUserId, isBroadcastStream } from '../model/conversation-model.js'
import type { ReaderKey } from './reader-positions.js'

/** Returns the parameters of a statement about one log. */
export function readerKeyOf({ appId, userId, lowId, highId }: ReadableLog): ReaderKey {
  return { appId, userId, lowId, highId }
}

/** The columns of a conversation `c` that statements about logs read. */
const conversationColumns = [
  'c.seq',
  'c.alterations',
  'c.changes_kept_from',
  'c.removed_seq',
  'c.removed_msg_id',
  'c.last_msg_id',
  'c.last_recalled_seq',
  'c.last_notified_seq',
  'c.furthest_id',
  'c.furthest_seq',
  'c.others_seq',
] as const

const greaterOf = (one: RawBuilder<number>, other: RawBuilder<number>) =>
  sql<number>`case when ${one} < ${other} then ${other} else ${one} end`

/** 0 or 1; a conversation with oneself has the same IDs twice too */
const isGroup = sql<number>`case when c.low_id = c.high_id and c.low_id <> p.user_id then 1 else 0 end`

/** Hidden messages of the reader `p`; in a group also those before the join (rule F4a). */
const hiddenMessageId = sql<number>`case when p.start_msg_id <= p.hidden_msg_id then p.hidden_msg_id
  when exists (select 1 from groups g where g.app_id = p.app_id and g.group_id = p.low_id and g.history_visible = 1)
  then p.hidden_msg_id else p.start_msg_id end`

/**
 * The logs of a user with a row of the reader; streams are {@link streamsOf}. The position of the
 * user's own newest message is added where the conversation tells it.
 */
function logsOf(db: Queryable, param: Param<UserKey>) {
  const sent = sql<number>`case when c.furthest_id = p.user_id then c.furthest_seq
    when c.low_id <> c.high_id then c.others_seq else 0 end`
  const read = greaterOf(sql.ref('p.read_seq'), sent)
  return (
    db
      .selectFrom('readers as p')
      .innerJoin('conversations as c', (join) =>
        join
          .onRef('c.app_id', '=', 'p.app_id')
          .onRef('c.low_id', '=', 'p.low_id')
          .onRef('c.high_id', '=', 'p.high_id'),
      )
      // The key of the reader, so that pages of logs follow it.
      .select(['p.app_id', 'p.low_id', 'p.high_id'])
      .select(conversationColumns)
      .select(['p.user_id', isGroup.as('is_group'), 'c.created_at'])
      .select([
        greaterOf(sql.ref('p.seen_seq'), sent).as('seen_seq'),
        read.as('read_seq'),
        sql<number>`case when ${isGroup} = 1 then p.acked_seq else ${read} end`.as('acked_seq'),
        'p.delivered_seq',
        hiddenMessageId.as('hidden_msg_id'),
        'p.start_msg_id',
        'p.muted_seq',
        'p.gaps_end_seq',
      ])
      .where('p.app_id', '=', param('appId'))
      .where('p.user_id', '=', param('userId'))
  )
}

/**
 * The streams with a broadcast for a user. While no position has moved there is no row of the
 * reader: all positions are before the first broadcast. The own stream is read to its end.
 */
function streamsOf(db: Queryable, param: Param<UserKey>) {
  const start = sql`case when u.broadcasts_after = 0 then c.removed_seq
    else coalesce((select m.seq - 1 from messages m where ${ofConversation('m')} and m.msg_id > u.broadcasts_after
      order by m.msg_id limit 1), c.seq) end`
  const position = (column: string) =>
    sql<number>`case when c.high_id = u.user_id then c.seq else coalesce(${sql.ref(`p.${column}`)}, ${start}) end`
  const startMessageId = sql<number>`coalesce(p.start_msg_id, u.broadcasts_after)`
  return db
    .selectFrom('users as u')
    .innerJoin('conversations as c', (join) =>
      join.onRef('c.app_id', '=', 'u.app_id').on('c.low_id', '=', broadcastUserId),
    )
    .leftJoin('readers as p', (join) =>
      join
        .onRef('p.app_id', '=', 'u.app_id')
        .onRef('p.user_id', '=', 'u.user_id')
        .onRef('p.low_id', '=', 'c.low_id')
        .onRef('p.high_id', '=', 'c.high_id'),
    )
    .select(['c.app_id', 'c.low_id', 'c.high_id'])
    .select(conversationColumns)
    .select([
      'u.user_id',
      sql<number>`0`.as('is_group'),
      // A stream exists for a user from the registration on.
      greaterOf(sql.ref('u.created_at'), sql.ref('c.created_at')).as('created_at'),
    ])
    .select([
      position('seen_seq').as('seen_seq'),
      position('read_seq').as('read_seq'),
      position('read_seq').as('acked_seq'),
      position('delivered_seq').as('delivered_seq'),
      greaterOf(sql`coalesce(p.hidden_msg_id, 0)`, startMessageId).as('hidden_msg_id'),
      startMessageId.as('start_msg_id'),
      sql<number | null>`cast(null as bigint)`.as('muted_seq'),
      sql<number>`0`.as('gaps_end_seq'),
    ])
    .where('u.app_id', '=', param('appId'))
    .where('u.user_id', '=', param('userId'))
    .where('c.app_id', '=', param('appId'))
    .where(sql<boolean>`(c.last_msg_id > u.broadcasts_after or p.user_id is not null)`)
}

/** The logs `l` of a user. @param hasBroadcasts false: without streams, for an app that has none */
export function logsOfUser(db: Queryable, param: Param<UserKey>, hasBroadcasts: boolean) {
  const rows = logsOf(db, param).where('p.low_id', '<>', broadcastUserId)
  return db.selectFrom((hasBroadcasts ? rows.unionAll(streamsOf(db, param)) : rows).as('l'))
}

/** The log `l` of one reader; no row when the user is none. */
export function logOfReader(db: Queryable, param: Param<ReaderKey>) {
  const rows = logsOf(db, param)
    .where('p.low_id', '=', param('lowId'))
    .where('p.high_id', '=', param('highId'))
  return db.selectFrom(rows.as('l'))
}

function streamOfReader(db: Queryable, param: Param<ReaderKey>) {
  const rows = streamsOf(db, param).where('c.high_id', '=', param('highId'))
  return db.selectFrom(rows.as('l'))
}

/** Selects the log `l` of one reader; no row when the user is none. */
export type LogSource = typeof logOfReader

/**
 * Prepares a statement about one log twice: for logs whose readers have a row, and for streams,
 * whose readers may have none.
 */
export function forEachKind<Statement>(prepare: (logOf: LogSource) => Statement): {
  of(log: ReadableLog): Statement
} {
  const [own, stream] = [prepare(logOfReader), prepare(streamOfReader)]
  return { of: (log) => (isBroadcastStream(log) ? stream : own) }
}

/**
 * Condition that the user may read a log, in statements that do not select the log itself.
 * @param table the alias of a row of the log
 */
export const isReader = (table: string, param: Param<ReaderKey>) =>
  sql<boolean>`(${sql.ref(`${table}.low_id`)} = ${sql.lit(broadcastUserId)} or exists (select 1 from readers
    where app_id = ${param('appId')} and user_id = ${param('userId')}
    and low_id = ${param('lowId')} and high_id = ${param('highId')}))`

/** The other user, or the group, of `l`; a user's own broadcasts are in the conversation with oneself. */
export const peerId = sql<Int64>`case when l.high_id <> l.user_id or l.low_id = ${sql.lit(broadcastUserId)} then l.high_id else l.low_id end`

/**
 * The newest message that `l` holds; null when it is empty. The log is read only when the last
 * message was recalled.
 */
export const latestMessageId = sql<
  number | null
>`case when l.removed_seq = l.seq then null when l.last_recalled_seq < l.seq then l.last_msg_id
  else (select max(m.msg_id) from messages m where ${ofConversation('m', 'l')}) end`

/** The bytes of the newest message that `l` ever held; null when it is gone. */
export const latestBytes = sql<
  number | null
>`(select ${textBytesOf('m')} from messages m where ${ofConversation('m', 'l')} and m.msg_id = l.last_msg_id)`

/** Joins the other party `o` of the direct conversation `l`, and the group `g` of a group's one. */
export function withOthers<Log extends ReturnType<LogSource>>(log: Log) {
  return log
    .leftJoin('readers as o', (join) =>
      join
        .onRef('o.app_id', '=', 'l.app_id')
        .on(
          sql<boolean>`o.user_id = case when l.high_id = l.user_id then l.low_id else l.high_id end`,
        )
        .onRef('o.low_id', '=', 'l.low_id')
        .onRef('o.high_id', '=', 'l.high_id')
        .on('l.low_id', '<>', broadcastUserId),
    )
    .leftJoin('groups as g', (join) =>
      join
        .onRef('g.app_id', '=', 'l.app_id')
        .onRef('g.group_id', '=', 'l.low_id')
        .on('l.is_group', '=', 1),
    )
}

/** The position of the furthest of all others than the reader of `l`, by what its conversation tells. */
const othersSeq = sql<number>`case when l.furthest_id = l.user_id and (l.is_group = 1 or l.low_id <> l.high_id)
  then l.others_seq else l.furthest_seq end`

/**
 * The position that others have read, as senders see it: the other party's, or in a group with
 * read_ack that of the furthest other member; else 0. Needs {@link withOthers}.
 */
export const peerReadSeq = sql<number>`case when l.low_id = ${sql.lit(broadcastUserId)} or g.read_ack = 0 then 0
  when o.read_seq > ${othersSeq} then o.read_seq else ${othersSeq} end`

/** The position that the other party has received; else 0. Needs {@link withOthers}. */
export const peerDeliveredSeq = sql<number>`coalesce(o.delivered_seq, 0)`
