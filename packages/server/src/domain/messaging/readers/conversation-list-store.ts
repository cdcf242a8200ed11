import type { Int64 } from '@hermod/protocol'
import type { Database, Param, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import { ofConversation } from '../conversations/conversation-sql.js'
import {
  broadcastUserId,
  type Conversation,
  type ConversationView,
  conversationOf,
} from '../model/conversation-model.js'
import { latestMessageId, logsOfUser, peerId } from './reader-sql.js'
import { unreadCounts } from './unread-sql.js'

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
type HoldingRow = { readonly low_id: Int64; readonly high_id: Int64 }
type UnreadRow = { readonly peerId: Int64; readonly unread: number }
type RoughUnreadRow = { readonly peerId: Int64; readonly unread: number | null }

/** The unread messages of a user from one peer. */
export interface UnreadCount {
  readonly peerId: Int64
  readonly unreadCount: number
}

/** The logs of a user as they are listed. */
const views = (db: Queryable, param: Param<UserKey>, hasBroadcasts: boolean) =>
  logsOfUser(db, param, hasBroadcasts).select([
    ...(['l.app_id', 'l.low_id', 'l.high_id', 'l.created_at', 'l.hidden_msg_id'] as const),
    peerId.as('peer_id'),
    latestMessageId.as('latest_msg_id'),
  ])

/**
 * The place of the conversation `c` in the list: its newest message, or what that was when the walk
 * began. So a message that comes between two pages moves no conversation to a page that was read
 * before. null: it has begun since.
 */
const placeOf = (param: Param<ListParams>) =>
  sql<number>`case when c.latest_msg_id < ${param('beforePlace')} or c.latest_msg_id <= ${param('asOf')} then c.latest_msg_id
    else (select max(m.msg_id) from messages m where ${ofConversation('m')} and m.msg_id <= ${param('asOf')}) end`

/**
 * The time of the newest message of a listed conversation: a message to or from the peer, in a
 * group, or a broadcast of the peer.
 */
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
 * All conversations of one user: direct ones, those of groups, and broadcasts. A conversation that
 * the user has deleted is hidden until it holds a newer message (rule E13).
 */
export class ConversationListStore {
  readonly #count
  readonly #list
  readonly #listWithBroadcasts
  readonly #roughUnread
  readonly #exactUnread
  readonly #unreadWithBroadcasts

  constructor(database: Database) {
    this.#count = database.prepared<UserKey, { readonly count: number }>((db, param) =>
      db
        .selectFrom('readers')
        .select(sql<number>`count(*)`.as('count'))
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId')),
    )
    this.#list = database.preparedPage<ListParams, ListRow>((db, param, limit) => {
      const page = db
        .selectFrom(views(db, param, false).as('c'))
        .select(['peer_id', 'created_at', 'latest_msg_id'])
        .select(placeOf(param).as('place'))
        .whereRef('latest_msg_id', '>', 'hidden_msg_id')
        // The first comparison decides for nearly all conversations; the rest is for those that
        // have changed since.
        .where(
          sql<boolean>`(latest_msg_id < ${param('beforePlace')} or (latest_msg_id > ${param('asOf')}
            and ${placeOf(param)} > hidden_msg_id and ${placeOf(param)} < ${param('beforePlace')}))`,
        )
        .orderBy('place', 'desc')
        .limit(limit)
      return db.selectFrom(page.as('own')).select(listColumns(param)).orderBy('place', 'desc')
    })
    this.#listWithBroadcasts = database.preparedPage<ListParams, ListRow>((db, param, limit) => {
      const visible = (place: RawBuilder<number>) =>
        sql<number>`max(case when ${place} > hidden_msg_id then ${place} end)`
      const place = visible(placeOf(param))
      const page = db
        .selectFrom(views(db, param, true).as('c'))
        .select(['peer_id', sql<number>`min(created_at)`.as('created_at')])
        .select([visible(sql.ref('latest_msg_id')).as('latest_msg_id'), place.as('place')])
        .groupBy('peer_id')
        .having(place, '<', param('beforePlace'))
        .orderBy('place', 'desc')
        .limit(limit)
      return db.selectFrom(page.as('own')).select(listColumns(param)).orderBy('place', 'desc')
    })
    this.#roughUnread = database.prepared<UserKey, RoughUnreadRow>((db, param) =>
      unreadCounts(db, param, { precision: 'rough', hasBroadcasts: false }),
    )
    const exact = (hasBroadcasts: boolean) =>
      database.prepared<UserKey, UnreadRow>((db, param) =>
        unreadCounts(db, param, { precision: 'exact', hasBroadcasts }).$castTo<UnreadRow>(),
      )
    this.#exactUnread = exact(false)
    this.#unreadWithBroadcasts = exact(true)
  }

  /** Counts the conversations of a user and the groups, which every walk over them reads. */
  async count(db: Queryable, { appId, userId }: UserKey): Promise<number> {
    return Number((await this.#count.first(db, { appId, userId }))?.count ?? 0)
  }

  /**
   * Lists conversations, most recent activity first.
   * @param page.hasBroadcasts false where the app has no broadcasts; otherwise they are merged into
   * the conversations with their senders
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

  /**
   * Tests for a removed message with this ID or a greater one, in any conversation of the user and in
   * broadcasts.
   */
  async hasRemoved(db: Queryable, { appId, userId }: UserKey, messageId: Int64): Promise<boolean> {
    const { rows } = await sql`select 1 as found from readers p join conversations c
        on c.app_id = p.app_id and c.low_id = p.low_id and c.high_id = p.high_id and c.removed_msg_id >= ${messageId}
        where p.app_id = ${appId} and p.user_id = ${userId}
      union all select 1 as found from users u join conversations c
        on c.app_id = u.app_id and c.low_id = ${sql.lit(broadcastUserId)} and c.removed_msg_id >= ${messageId}
        where u.app_id = ${appId} and u.user_id = ${userId} and u.broadcasts_after < ${messageId}
      limit 1`.execute(db)
    return rows.length > 0
  }

  /**
   * Finds the user's conversation, or the broadcasts, that hold the message, recalled or not; null
   * when there are none.
   */
  async findByMessage(
    db: Queryable,
    { appId, userId }: UserKey,
    messageId: Int64,
  ): Promise<Conversation | null> {
    const lookups = ['messages', 'recalled_messages'].flatMap((log) => [
      sql`select m.low_id, m.high_id from readers p join ${sql.table(log)} m
        on m.app_id = p.app_id and m.low_id = p.low_id and m.high_id = p.high_id and m.msg_id = ${messageId}
        where p.app_id = ${appId} and p.user_id = ${userId} and p.low_id <> ${sql.lit(broadcastUserId)}`,
      sql`select m.low_id, m.high_id from users u
        join conversations c on c.app_id = u.app_id and c.low_id = ${sql.lit(broadcastUserId)}
        join ${sql.table(log)} m on ${ofConversation('m')} and m.msg_id = ${messageId}
        where u.app_id = ${appId} and u.user_id = ${userId} and u.broadcasts_after < ${messageId}`,
    ])
    const { rows } = await sql<HoldingRow>`${sql.join(lookups, sql` union all `)}`.execute(db)
    const [row] = rows
    return row ? conversationOf({ appId, lowId: row.low_id, highId: row.high_id }, userId) : null
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
