import type { Int64 } from '@hermod/protocol'
import type { Database, Param, Prepared, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import { hiddenBroadcasts, seenInStream, streamsOf } from '../conversations/broadcast-streams.js'
import {
  hiddenInGroup,
  joinedConversations,
  latestBytes,
  latestMessageId,
  memberships,
  ownColumn,
  peerColumn,
} from '../conversations/conversation-sql.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import {
  peerId,
  unreadInDirect,
  unreadInGroup,
  unreadInStream,
} from '../conversations/unread-sql.js'
import { type ConversationKey, isBroadcastStream } from '../model/conversation-model.js'
import type { GroupHead, Head } from './head-model.js'

type HeadRow = Omit<Head, 'log' | 'group' | 'latestMessageId' | 'newest'> & {
  readonly removedMessageId: number
  /** null = the log is empty. */
  readonly newestMessageId: number | null
  /** null = the message at the last position is gone. */
  readonly newestBytes: number | null
}

interface PeerKey extends UserKey {
  readonly peerId: Int64
}

/** A place in the list of all logs of a user. */
export interface ListPlace {
  /** The newest message that the logs of a peer ever held. */
  readonly place: number
  readonly peerId: Int64
}

/** A group, or a peer with the logs that the user has with it. */
export interface ListedPeer extends ListPlace {
  readonly isGroup: number
  readonly hasDirect: number
  readonly hasStream: number
}

/** The columns that are read of a conversation `c`. Those of a group without messages are null. */
const columnsOf = (c: string) => {
  const column = (name: string) => sql<number>`coalesce(${sql.ref(`${c}.${name}`)}, 0)`
  return [
    column('seq').as('seq'),
    column('alterations').as('alterations'),
    column('changes_kept_from').as('keptFrom'),
    column('removed_msg_id').as('removedMessageId'),
  ] as const
}

/** Reads heads of logs and lists all logs of a user. */
export class HeadStore {
  readonly #direct: Prepared<ConversationKey & UserKey, HeadRow>
  readonly #group: Prepared<PeerKey, HeadRow & GroupHead>
  readonly #stream: Prepared<PeerKey, HeadRow>
  readonly #list
  readonly #groups: Prepared<UserKey, { readonly groupId: Int64 }>

  constructor(database: Database) {
    this.#direct = database.prepared((db, param) =>
      joinedConversations(db)
        .select([
          ...columnsOf('c'),
          unreadInDirect.as('unread'),
          ownColumn('read_seq').as('readSeq'),
          ownColumn('delivered_seq').as('deliveredSeq'),
          peerColumn('read_seq').as('peerReadSeq'),
          peerColumn('delivered_seq').as('peerDeliveredSeq'),
          ownColumn('hidden_msg_id').as('hiddenMessageId'),
          latestMessageId.as('newestMessageId'),
          latestBytes.as('newestBytes'),
        ])
        .where('p.app_id', '=', param('appId'))
        .where('p.user_id', '=', param('userId'))
        .where('p.low_id', '=', param('lowId'))
        .where('p.high_id', '=', param('highId')),
    )
    this.#group = database.prepared((db, param) => groupHead(db, param))
    this.#stream = database.prepared((db, param) => streamHead(db, param))
    this.#list = database.preparedPage<UserKey & ListPlace, ListedPeer>((db, param, limit) => {
      const parts = directLogs(db, param)
        .unionAll(groupLogs(db, param))
        .unionAll(streamLogs(db, param))
      const place = sql<number>`max(newest)`
      return db
        .selectFrom(parts.as('c'))
        .select(['peer_id as peerId', place.as('place')])
        .select([
          sql<number>`max(is_group)`.as('isGroup'),
          sql<number>`max(has_direct)`.as('hasDirect'),
          sql<number>`max(has_stream)`.as('hasStream'),
        ])
        .groupBy('peer_id')
        .having(
          sql<boolean>`${place} < ${param('place')} or (${place} = ${param('place')} and peer_id < ${param('peerId')})`,
        )
        .orderBy('place', 'desc')
        .orderBy('peerId', 'desc')
        .limit(limit)
    })
    this.#groups = database.prepared((db, param) =>
      db
        .selectFrom('group_members')
        .select('group_id as groupId')
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId')),
    )
  }

  /** Reads a head by one statement. @returns null for a log that has not begun */
  async find(db: Queryable, log: ReadableLog): Promise<Head | null> {
    const { appId, lowId, highId, isGroup, userId } = log
    if (isGroup) {
      const row = await this.#group.first(db, { appId, userId, peerId: lowId })
      if (!row) return null
      const { status, version, type, joinedMessageId, muteMode, pushMode, ...head } = row
      const group = { status, version, type, joinedMessageId, muteMode, pushMode }
      return toHead(log, head, group)
    }
    const row = isBroadcastStream(log)
      ? await this.#stream.first(db, { appId, userId, peerId: highId })
      : await this.#direct.first(db, { appId, userId, lowId, highId })
    return row && toHead(log, row, null)
  }

  /**
   * Lists the peers and groups of a user, those with the newest message first. Groups and conversations without messages, and those that
   * the user has deleted, are listed too.
   * @param page.after the place of the last one of the page before
   */
  async list(
    db: Queryable,
    { appId, userId }: UserKey,
    { after, limit }: { readonly after: ListPlace; readonly limit: number },
  ): Promise<ListedPeer[]> {
    return this.#list.all(db, { appId, userId, place: after.place, peerId: after.peerId, limit })
  }

  /** Lists the groups of a user, dissolved ones included. */
  async listGroups(db: Queryable, { appId, userId }: UserKey): Promise<ReadonlySet<Int64>> {
    const rows = await this.#groups.all(db, { appId, userId })
    return new Set(rows.map(({ groupId }) => groupId))
  }
}

function toHead(
  log: ReadableLog,
  { removedMessageId, newestMessageId, newestBytes, ...row }: HeadRow,
  group: GroupHead | null,
): Head {
  const hiddenMessageId = Math.max(row.hiddenMessageId, removedMessageId)
  const newest = newestMessageId ?? 0
  const latestMessageId = newest > hiddenMessageId ? newest : 0
  return {
    ...row,
    unread: Number(row.unread),
    hiddenMessageId,
    latestMessageId,
    newest: newestBytes === null ? null : { messageId: newest, seq: row.seq, bytes: newestBytes },
    log,
    group,
  }
}

/** A group is listed by its membership; it has a conversation from its first message on. */
const withConversation = (db: Queryable) =>
  memberships(db).leftJoin('conversations as c', (join) =>
    join
      .onRef('c.app_id', '=', 'p.app_id')
      .onRef('c.low_id', '=', 'p.group_id')
      .onRef('c.high_id', '=', 'p.group_id'),
  )

const othersReadSeq = sql<number>`case when g.read_ack = 0 or c.seq is null then 0
  when c.reader_id = p.user_id then c.high_read_seq else c.low_read_seq end`
const zero = sql<number>`0`

function groupHead(db: Queryable, param: Param<PeerKey>) {
  return withConversation(db)
    .select([
      ...columnsOf('c'),
      unreadInGroup.as('unread'),
      'p.read_seq as readSeq',
      'p.delivered_seq as deliveredSeq',
      othersReadSeq.as('peerReadSeq'),
      zero.as('peerDeliveredSeq'),
      hiddenInGroup.as('hiddenMessageId'),
      latestMessageId.as('newestMessageId'),
      latestBytes.as('newestBytes'),
      'g.status',
      'g.version',
      'g.type',
      'p.joined_msg_id as joinedMessageId',
      'p.msg_mute_mode as muteMode',
      'p.msg_push_mode as pushMode',
    ])
    .where('p.app_id', '=', param('appId'))
    .where('p.group_id', '=', param('peerId'))
    .where('p.user_id', '=', param('userId'))
}

/** The user's own broadcasts are read, as all of the conversation with oneself. */
function streamHead(db: Queryable, param: Param<PeerKey>) {
  const stream = streamsOf(db, param)
    .where('c.high_id', '=', param('peerId'))
    .select(['c.app_id', 'c.low_id', 'c.high_id', 'c.seq', 'c.alterations', 'c.changes_kept_from'])
    .select(['c.removed_seq', 'c.removed_msg_id', 'c.last_recalled_seq', 'c.last_msg_id'])
    .select(['b.read_seq', 'b.delivered_seq'])
    .select([seenInStream.as('seen'), hiddenBroadcasts.as('hidden_msg_id')])
  const isOwn = sql<boolean>`c.high_id = ${param('userId')}`
  const ownOr = (position: RawBuilder<number>) =>
    sql<number>`case when ${isOwn} then c.seq else ${position} end`
  return db
    .selectFrom(stream.as('c'))
    .select([
      ...columnsOf('c'),
      sql<number>`case when ${isOwn} then 0 else ${unreadInStream} end`.as('unread'),
      ownOr(sql`coalesce(c.read_seq, c.seen)`).as('readSeq'),
      ownOr(sql`coalesce(c.delivered_seq, c.seen)`).as('deliveredSeq'),
      zero.as('peerReadSeq'),
      zero.as('peerDeliveredSeq'),
      'c.hidden_msg_id as hiddenMessageId',
      latestMessageId.as('newestMessageId'),
      latestBytes.as('newestBytes'),
    ])
}

const listed = (is: { isGroup?: 1; hasDirect?: 1; hasStream?: 1 }) =>
  [
    sql<number>`${sql.lit(is.isGroup ?? 0)}`.as('is_group'),
    sql<number>`${sql.lit(is.hasDirect ?? 0)}`.as('has_direct'),
    sql<number>`${sql.lit(is.hasStream ?? 0)}`.as('has_stream'),
  ] as const

function directLogs(db: Queryable, param: Param<UserKey>) {
  return joinedConversations(db)
    .select([peerId.as('peer_id'), sql<number>`c.last_msg_id`.as('newest')])
    .select(listed({ hasDirect: 1 }))
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
}

function groupLogs(db: Queryable, param: Param<UserKey>) {
  return withConversation(db)
    .select(['p.group_id as peer_id', sql<number>`coalesce(c.last_msg_id, 0)`.as('newest')])
    .select(listed({ isGroup: 1 }))
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
}

function streamLogs(db: Queryable, param: Param<UserKey>) {
  return streamsOf(db, param)
    .select(['c.high_id as peer_id', sql<number>`c.last_msg_id`.as('newest')])
    .select(listed({ hasStream: 1 }))
}
