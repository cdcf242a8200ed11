import type { Int64 } from '@hermod/protocol'
import type { Database, Param, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import {
  broadcastUserId,
  type Conversation,
  type ConversationView,
  type Party,
} from '../model/conversation-model.js'
import { hiddenBroadcasts, streamsOf } from './broadcast-streams.js'
import {
  hiddenInGroup,
  joinedConversations,
  joinedGroups,
  latestMessageId,
  ofConversation,
  ownColumn,
} from './conversation-sql.js'
import { peerId, unreadBroadcasts, unreadCounts } from './unread-sql.js'

type ListRow = {
  readonly peerId: Int64
  readonly createdAt: number
  readonly lastMessageId: number
  readonly updatedAt: number
  readonly place: number
}

/** A page of the list of conversations. */
export interface ListPage {
  /** The newest message when the walk over the list began. Conversations keep their places of that time. */
  readonly asOf: number
  /** Conversations with smaller places. */
  readonly beforePlace: number
}

type ListParams = UserKey & ListPage
type HoldingRow = { readonly low_id: Int64; readonly high_id: Int64; readonly is_group: number }
type UnreadRow = { readonly peerId: Int64; readonly unread: number }
type RoughUnreadRow = { readonly peerId: Int64; readonly unread: number | null }

/** The unread messages of a user from one peer. */
export interface UnreadCount {
  readonly peerId: Int64
  readonly unreadCount: number
}

function directViews(db: Queryable, param: Param<UserKey>) {
  return joinedConversations(db)
    .select([
      ...(['c.app_id', 'c.low_id', 'c.high_id'] as const),
      peerId.as('peer_id'),
      'c.created_at',
      latestMessageId.as('latest_msg_id'),
      ownColumn('hidden_msg_id').as('hidden_msg_id'),
    ])
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
}

function groupViews(db: Queryable, param: Param<UserKey>) {
  return joinedGroups(db)
    .select([
      ...(['c.app_id', 'c.low_id', 'c.high_id'] as const),
      'p.group_id as peer_id',
      'c.created_at',
      latestMessageId.as('latest_msg_id'),
      hiddenInGroup.as('hidden_msg_id'),
    ])
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
}

/** A user registered after the first broadcast has that conversation from the registration on. */
function broadcastViews(db: Queryable, param: Param<UserKey>) {
  return streamsOf(db, param).select([
    ...(['c.app_id', 'c.low_id', 'c.high_id'] as const),
    'c.high_id as peer_id',
    sql<number>`case when c.created_at > u.created_at then c.created_at else u.created_at end`.as(
      'created_at',
    ),
    latestMessageId.as('latest_msg_id'),
    hiddenBroadcasts.as('hidden_msg_id'),
  ])
}

/**
 * The place of the conversation `c` in the list: its newest message, or what that was when the walk began. So a message that comes
 * between two pages moves no conversation to a page that was read before. null: it has begun since.
 */
const placeOf = (param: Param<ListParams>) =>
  sql<number>`case when c.latest_msg_id < ${param('beforePlace')} or c.latest_msg_id <= ${param('asOf')} then c.latest_msg_id
    else (select max(m.msg_id) from messages m where ${ofConversation('m')} and m.msg_id <= ${param('asOf')}) end`

/** The time of the newest message of a listed conversation: a message to or from the peer, in a group, or a broadcast of the peer. */
const updatedAt = (param: Param<UserKey>) => {
  const user = param('userId')
  const timeIn = (lowId: RawBuilder<unknown>, highId: RawBuilder<unknown>) =>
    sql`(select m.sent_at from messages m where m.app_id = ${param('appId')}
      and m.low_id = ${lowId} and m.high_id = ${highId} and m.msg_id = own.latest_msg_id)`
  const peer = sql.ref('own.peer_id')
  const low = sql`case when own.peer_id < ${user} then own.peer_id else ${user} end`
  const high = sql`case when own.peer_id < ${user} then ${user} else own.peer_id end`
  return sql<number>`coalesce(${timeIn(low, high)}, ${timeIn(peer, peer)}, ${timeIn(sql.lit(broadcastUserId), peer)}, own.created_at)`
}

/** The columns of a page. */
const listColumns = (param: Param<UserKey>) =>
  [
    'own.peer_id as peerId',
    'own.created_at as createdAt',
    'own.latest_msg_id as lastMessageId',
    'own.place',
    updatedAt(param).as('updatedAt'),
  ] as const

/**
 * All conversations of one user: direct ones, those of groups, and broadcasts. A conversation that the user has deleted is hidden until
 * it holds a newer message (rule E13).
 */
export class ConversationListStore {
  readonly #count
  readonly #list
  readonly #listWithBroadcasts
  readonly #roughUnread
  readonly #exactUnread
  readonly #unreadWithBroadcasts

  constructor(database: Database) {
    this.#count = database.prepared<UserKey, { readonly count: number }>((db, param) => {
      const rowsOf = (list: string) =>
        sql<number>`(select count(*) from ${sql.table(list)} where app_id = ${param('appId')} and user_id = ${param('userId')})`
      return db.selectNoFrom(
        sql<number>`${rowsOf('user_conversations')} + ${rowsOf('group_members')}`.as('count'),
      )
    })
    this.#list = database.preparedPage<ListParams, ListRow>((db, param, limit) => {
      const page = db
        .selectFrom(directViews(db, param).unionAll(groupViews(db, param)).as('c'))
        .select(['peer_id', 'created_at', 'latest_msg_id'])
        .select(placeOf(param).as('place'))
        .whereRef('latest_msg_id', '>', 'hidden_msg_id')
        // The first comparison decides for nearly all conversations; the rest is for those that have changed since.
        .where(
          sql<boolean>`(latest_msg_id < ${param('beforePlace')} or (latest_msg_id > ${param('asOf')}
            and ${placeOf(param)} > hidden_msg_id and ${placeOf(param)} < ${param('beforePlace')}))`,
        )
        .orderBy('place', 'desc')
        .limit(limit)
      return db.selectFrom(page.as('own')).select(listColumns(param)).orderBy('place', 'desc')
    })
    this.#listWithBroadcasts = database.preparedPage<ListParams, ListRow>((db, param, limit) => {
      const parts = directViews(db, param)
        .unionAll(groupViews(db, param))
        .unionAll(broadcastViews(db, param))
      const visible = (place: RawBuilder<number>) =>
        sql<number>`max(case when ${place} > hidden_msg_id then ${place} end)`
      const place = visible(placeOf(param))
      const page = db
        .selectFrom(parts.as('c'))
        .select(['peer_id', sql<number>`min(created_at)`.as('created_at')])
        .select([visible(sql.ref('latest_msg_id')).as('latest_msg_id'), place.as('place')])
        .groupBy('peer_id')
        .having(place, '<', param('beforePlace'))
        .orderBy('place', 'desc')
        .limit(limit)
      return db.selectFrom(page.as('own')).select(listColumns(param)).orderBy('place', 'desc')
    })
    this.#roughUnread = database.prepared<UserKey, RoughUnreadRow>((db, param) =>
      unreadCounts(db, param, 'rough'),
    )
    this.#exactUnread = database.prepared<UserKey, UnreadRow>((db, param) =>
      unreadCounts(db, param, 'exact').$castTo<UnreadRow>(),
    )
    this.#unreadWithBroadcasts = database.prepared<UserKey, UnreadRow>((db, param) =>
      unreadBroadcasts(db, param).unionAll(unreadCounts(db, param, 'exact').$castTo<UnreadRow>()),
    )
  }

  /** Counts the conversations of a user and the groups, which every walk over them reads. */
  async count(db: Queryable, { appId, userId }: UserKey): Promise<number> {
    return Number((await this.#count.first(db, { appId, userId }))?.count ?? 0)
  }

  /**
   * Lists conversations, most recent activity first.
   * @param page.hasBroadcasts false where the app has no broadcasts; otherwise they are merged into the conversations with their senders
   */
  async list(
    db: Queryable,
    { appId, userId }: UserKey,
    { hasBroadcasts, ...page }: ListPage & { limit: number; hasBroadcasts: boolean },
  ): Promise<ConversationView[]> {
    const statement = hasBroadcasts ? this.#listWithBroadcasts : this.#list
    return statement.all(db, { appId, userId, ...page })
  }

  /**
   * Lists conversations with unread messages, in no particular order.
   * @param hasBroadcasts as in {@link list}
   */
  async listUnread(
    db: Queryable,
    user: UserKey,
    { hasBroadcasts }: { readonly hasBroadcasts: boolean },
  ): Promise<UnreadCount[]> {
    const rows = hasBroadcasts
      ? await this.#unreadWithBroadcasts.all(db, user)
      : await this.#unreadWithoutBroadcasts(db, user)
    // All messages above the seen position may have been recalled.
    const counts = rows
      .filter((row) => row.unread > 0)
      .map(({ peerId, unread }) => ({ peerId, unreadCount: Number(unread) }))
    return hasBroadcasts ? sumByPeer(counts) : counts
  }

  async #unreadWithoutBroadcasts(db: Queryable, user: UserKey): Promise<readonly UnreadRow[]> {
    const rough = await this.#roughUnread.all(db, user)
    return rough.every(hasCount) ? rough : this.#exactUnread.all(db, user)
  }

  /** Lists direct conversations that the user has not read to the end, in no particular order. */
  async listNotRead(
    db: Queryable,
    { appId, userId }: UserKey,
  ): Promise<{ readonly conversation: Conversation; readonly party: Party }[]> {
    const rows = await joinedConversations(db)
      .select(['c.low_id', 'c.high_id'])
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where(sql<boolean>`c.seq > ${ownColumn('read_seq')}`)
      .execute()
    return rows.map((row) => ({
      conversation: { appId, lowId: row.low_id, highId: row.high_id, isGroup: false },
      party: row.low_id === userId ? 'first' : 'second',
    }))
  }

  /** Tests for a removed message with this ID or a greater one, in any conversation of the user and in broadcasts. */
  async hasRemoved(db: Queryable, { appId, userId }: UserKey, messageId: Int64): Promise<boolean> {
    const among = (party: string, low: string, high: string) =>
      sql`select 1 as found from ${sql.table(party)} p join conversations c
        on c.app_id = p.app_id and c.low_id = p.${sql.ref(low)} and c.high_id = p.${sql.ref(high)} and c.removed_msg_id >= ${messageId}
        where p.app_id = ${appId} and p.user_id = ${userId}`
    const lookups = [
      among('user_conversations', 'low_id', 'high_id'),
      among('group_members', 'group_id', 'group_id'),
      sql`select 1 as found from users u join conversations c
        on c.app_id = u.app_id and c.low_id = ${sql.lit(broadcastUserId)} and c.removed_msg_id >= ${messageId}
        where u.app_id = ${appId} and u.user_id = ${userId} and u.broadcasts_after < ${messageId}`,
    ]
    const { rows } = await sql`${sql.join(lookups, sql` union all `)} limit 1`.execute(db)
    return rows.length > 0
  }

  /** Finds the user's conversation that holds the message, recalled or not; null when there is none. */
  async findByMessage(
    db: Queryable,
    user: UserKey,
    messageId: Int64,
  ): Promise<Conversation | null> {
    const among = (log: string, party: string, low: string, high: string, isGroup: number) =>
      sql<HoldingRow>`select m.low_id, m.high_id, ${sql.lit(isGroup)} as is_group from ${sql.table(party)} p join ${sql.table(log)} m
        on m.app_id = p.app_id and m.low_id = p.${sql.ref(low)} and m.high_id = p.${sql.ref(high)} and m.msg_id = ${messageId}
        where p.app_id = ${user.appId} and p.user_id = ${user.userId}`
    const lookups = ['messages', 'recalled_messages'].flatMap((log) => [
      among(log, 'user_conversations', 'low_id', 'high_id', 0),
      among(log, 'group_members', 'group_id', 'group_id', 1),
    ])
    const { rows } = await sql<HoldingRow>`${sql.join(lookups, sql` union all `)}`.execute(db)
    const [row] = rows
    return row
      ? { appId: user.appId, lowId: row.low_id, highId: row.high_id, isGroup: row.is_group === 1 }
      : null
  }
}

/** A peer may have sent both messages and broadcasts. */
function sumByPeer(counts: readonly UnreadCount[]): UnreadCount[] {
  const sums = new Map<Int64, number>()
  for (const { peerId, unreadCount } of counts)
    sums.set(peerId, (sums.get(peerId) ?? 0) + unreadCount)
  return [...sums].map(([peerId, unreadCount]) => ({ peerId, unreadCount }))
}

function hasCount(row: RoughUnreadRow): row is UnreadRow {
  return row.unread !== null
}
