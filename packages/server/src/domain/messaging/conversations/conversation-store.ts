import { groupStatus, groupType, type Int64, muteMode } from '@hermod/protocol'
import type { Database, Param, Queryable, Tx } from '../../../db/database.js'
import { greater } from '../../../db/expressions.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import { lockForUpdate, lockShare } from '../../../db/locking.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import type { ConversationEnd } from '../../groups/membership/group-conversations.js'
import type { UserKey } from '../../users/user-model.js'
import {
  broadcastStream,
  type Conversation,
  type ConversationKey,
  type ConversationView,
  everybodyId,
  type Side,
  sidesOf,
} from '../log/conversation-model.js'
import { hiddenBroadcasts, seenInStream, streamsOf } from './broadcast-streams.js'

type ViewRow = { peer_id: Int64; created_at: number; latest_msg_id: number }
type ListParams = UserKey & { readonly beforeId: number }
type HoldingRow = { readonly low_id: Int64; readonly high_id: Int64; readonly is_group: number }
type MarksRow = { readonly [Name in 'seq' | `${Side}_${Mark}`]: number }
type UnreadRow = { peerId: Int64; unread: number }
type RoughUnreadRow = { readonly peerId: Int64; readonly unread: number | null }
type PlaceParams = ConversationKey & { readonly beforeId: number }
type PlaceRow = {
  readonly lowId: Int64
  readonly highId: Int64
  readonly isGroup: number
  readonly isDue: number
}

/** A conversation on a walk over those of an app. */
export interface WalkedConversation extends Conversation {
  /** Something of it is to be removed. */
  readonly isDue: boolean
}

/** How far the log of a conversation is removed, and what else there is to know before more of it is. */
export interface RemovedRange {
  readonly removedMessageId: number
  readonly alterations: number
  readonly keptFrom: number
}

/** Where the marks of a reader stand, by what was told of them. */
export interface ReaderMarks {
  readonly at: Readonly<Record<Mark, number>>
  /** Where the conversation ends. */
  readonly end: number
}

/** The column of a mark: how far a party has read, or its devices have received. */
export type Mark = 'read_seq' | 'delivered_seq'

/** A value of the conversation `c` that belongs to the user of `p`. */
const ownEntry = (value: (side: Side) => ReturnType<typeof sql<number>>) =>
  sql<number>`case when c.low_id = p.user_id then ${value('low')} else ${value('high')} end`
const hiddenMessageId = ownEntry((side) => sql<number>`${sql.ref(`c.${side}_hidden_msg_id`)}`)
const seenSeq = ownEntry((side) => sql<number>`${sql.ref(`c.${side}_seen_seq`)}`)

/** That a row is of the conversation `c`. */
const ofConversation = (table: string) =>
  sql.raw<boolean>(
    `${table}.app_id = c.app_id and ${table}.low_id = c.low_id and ${table}.high_id = c.high_id`,
  )
/** The newest message that is left to the user of `p`, null when there is none; the log is asked only when the last one was recalled. */
const latestMessageId = sql<number>`case when c.removed_seq = c.seq then null when c.last_recalled_seq < c.seq then c.last_msg_id
  else (select max(m.msg_id) from messages m where ${ofConversation('m')}) end`
/** What was removed is not unread, wherever the mark is. */
const keptAbove = (seen: RawBuilder<number>) =>
  sql<number>`case when ${seen} < c.removed_seq then c.removed_seq else ${seen} end`
/**
 * Sending moves the sender's own mark, so what is above a mark is of others or a notification: the difference of two positions less what
 * was recalled and notified in one's own name, as far as it is not removed.
 * @param end of what is counted
 * @param isCounted an SQL condition on a position, for what was recalled or notified
 */
const unreadAbove = (
  seen: RawBuilder<number>,
  end = sql<number>`c.seq`,
  isCounted = (_seq: RawBuilder<number>) => sql<boolean>`true`,
) => sql<number>`${end} - ${keptAbove(seen)} - case when c.last_recalled_seq > ${seen}
  then (select count(*) from recalled_messages r where ${ofConversation('r')} and r.seq > ${seen} and ${isCounted(sql`r.seq`)}) else 0 end
  - case when c.last_notified_seq > ${seen} then (select count(*) from own_notifications n where ${ofConversation('n')}
    and n.user_id = p.user_id and n.seq > ${seen} and ${isCounted(sql`n.seq`)}) else 0 end`

/** Of the conversation `c`: up to which message everything is hidden from a party. */
export const hiddenFrom = (userId: Int64) =>
  sql<number>`case when c.low_id = ${userId} then c.low_hidden_msg_id else c.high_hidden_msg_id end`

/** Where history_visible is off a member sees nothing of what was there before (rule F4a: checked when reading). */
export const hiddenInGroup = sql<number>`case when g.history_visible = 1 or p.joined_msg_id < p.hidden_msg_id then p.hidden_msg_id else p.joined_msg_id end`
/** Nothing is unread in a chatroom, and in a group that is dissolved. */
const countsUnread = sql<boolean>`g.type <> ${sql.lit(groupType.chatroom)} and g.status = ${sql.lit(groupStatus.normal)}`

const seenInGroup = sql<number>`p.seen_seq`
const keptInGroup = keptAbove(seenInGroup)
/** To where the member receives messages: not what comes while msg_mute_mode 2 is on (rule F8a). */
const receivedSeq = sql<number>`case when p.msg_mute_mode = ${sql.lit(muteMode.notReceived)} then p.muted_seq else c.seq end`
const gapsOfMember = sql`from group_mute_gaps y where y.app_id = p.app_id and y.group_id = p.group_id and y.user_id = p.user_id`
/** Whether a position is outside of the gaps, of which the first that ends at or after it is looked at: none before that one holds it. */
const isReceived = (
  seq: RawBuilder<number>,
) => sql<boolean>`${seq} <= ${receivedSeq} and ${seq} <= case when ${seq} > p.gaps_end_seq
  then ${seq} else coalesce((select y.from_seq ${gapsOfMember} and y.to_seq >= ${seq} order by y.to_seq limit 1), ${seq}) end`
/** How many positions the gaps hold above the member's mark. */
const gapsAboveSeen = sql<number>`case when p.gaps_end_seq > ${keptInGroup} then (select cast(coalesce(sum(y.to_seq
  - case when y.from_seq > ${keptInGroup} then y.from_seq else ${keptInGroup} end), 0) as bigint) ${gapsOfMember} and y.to_seq > ${keptInGroup}) else 0 end`
const unreadInGroup = sql<number>`${unreadAbove(seenInGroup, receivedSeq, isReceived)} - ${gapsAboveSeen}`

/** The difference of two positions, null where it is not the count: something above the mark was recalled, notified in one's own name, or not received. */
const roughUnread = (
  seen: RawBuilder<number>,
  end = sql<number>`c.seq`,
  isWhole = sql<boolean>`true`,
) =>
  sql<
    number | null
  >`case when c.last_recalled_seq <= ${seen} and c.last_notified_seq <= ${seen} and ${isWhole} then ${end} - ${keptAbove(seen)} end`

const readSeq = ownEntry((side) => sql<number>`${sql.ref(`c.${side}_read_seq`)}`)

function joined(db: Queryable) {
  return db
    .selectFrom('user_conversations as p')
    .innerJoin('conversations as c', (join) =>
      join
        .onRef('c.app_id', '=', 'p.app_id')
        .onRef('c.low_id', '=', 'p.low_id')
        .onRef('c.high_id', '=', 'p.high_id'),
    )
}

/** Members `p` of groups `g` that have a conversation `c`. */
export function joinedGroups(db: Queryable) {
  return db
    .selectFrom('group_members as p')
    .innerJoin('groups as g', (join) =>
      join.onRef('g.app_id', '=', 'p.app_id').onRef('g.group_id', '=', 'p.group_id'),
    )
    .innerJoin('conversations as c', (join) =>
      join
        .onRef('c.app_id', '=', 'p.app_id')
        .onRef('c.low_id', '=', 'p.group_id')
        .onRef('c.high_id', '=', 'p.group_id'),
    )
}

const peerId = sql<Int64>`case when c.low_id = p.user_id then c.high_id else c.low_id end`

function directViews(db: Queryable, param: Param<UserKey>) {
  return joined(db)
    .select([
      peerId.as('peer_id'),
      'c.created_at',
      latestMessageId.as('latest_msg_id'),
      hiddenMessageId.as('hidden_msg_id'),
    ])
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
}

function groupViews(db: Queryable, param: Param<UserKey>) {
  return joinedGroups(db)
    .select([
      'p.group_id as peer_id',
      'c.created_at',
      latestMessageId.as('latest_msg_id'),
      hiddenInGroup.as('hidden_msg_id'),
    ])
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
}

function unreadDirect(db: Queryable, param: Param<UserKey>) {
  return joined(db)
    .select(peerId.as('peerId'))
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
    .where(sql<boolean>`c.seq > ${keptAbove(seenSeq)}`)
}

function unreadGroups(db: Queryable, param: Param<UserKey>) {
  return joinedGroups(db)
    .select('p.group_id as peerId')
    .where('p.app_id', '=', param('appId'))
    .where('p.user_id', '=', param('userId'))
    .where(sql<boolean>`${receivedSeq} > ${keptInGroup}`)
    .where(countsUnread)
}

/** Unread counts without a subquery: PostgreSQL prepares each one at every run, also those that no row asks. */
function roughCounts(db: Queryable, param: Param<UserKey>) {
  const isReceivedWhole = sql<boolean>`p.gaps_end_seq <= ${keptInGroup}`
  const direct = unreadDirect(db, param).select(roughUnread(seenSeq).as('unread'))
  return direct.unionAll(
    unreadGroups(db, param).select(
      roughUnread(seenInGroup, receivedSeq, isReceivedWhole).as('unread'),
    ),
  )
}

function exactCounts(db: Queryable, param: Param<UserKey>) {
  const direct = unreadDirect(db, param).select(unreadAbove(seenSeq).as('unread'))
  return direct.unionAll(unreadGroups(db, param).select(unreadInGroup.as('unread')))
}

/** Streams with what is above the `seen` position; one's own are left out. */
function seenBroadcasts(db: Queryable, param: Param<UserKey>) {
  return streamsOf(db, param)
    .select(['c.app_id', 'c.low_id', 'c.high_id', 'c.seq', 'c.last_recalled_seq'])
    .select(seenInStream.as('seen'))
    .where('c.high_id', '<>', param('userId'))
    .where(sql<boolean>`c.seq > coalesce(b.seen_seq, 0) and c.seq > c.removed_seq`)
}

/** A user who came after the first broadcast has that conversation from then on. */
function broadcastViews(db: Queryable, param: Param<UserKey>) {
  return streamsOf(db, param).select([
    'c.high_id as peer_id',
    sql<number>`case when c.created_at > u.created_at then c.created_at else u.created_at end`.as(
      'created_at',
    ),
    latestMessageId.as('latest_msg_id'),
    hiddenBroadcasts.as('hidden_msg_id'),
  ])
}

/**
 * Conversations as their parties see them. A conversation that a party has deleted is hidden until it holds a newer message
 * (rule E13).
 */
export class ConversationStore {
  readonly #list
  readonly #listWithBroadcasts
  readonly #roughUnread
  readonly #exactUnread
  readonly #unreadWithBroadcasts
  readonly #marks
  readonly #walk

  constructor(database: Database) {
    this.#list = database.preparedPage<ListParams, ViewRow>((db, param, limit) =>
      db
        .selectFrom(directViews(db, param).unionAll(groupViews(db, param)).as('own'))
        .select(['peer_id', 'created_at', 'latest_msg_id'])
        .whereRef('latest_msg_id', '>', 'hidden_msg_id')
        .where('latest_msg_id', '<', param('beforeId'))
        .orderBy('latest_msg_id', 'desc')
        .limit(limit),
    )
    this.#listWithBroadcasts = database.preparedPage<ListParams, ViewRow>((db, param, limit) => {
      const latest = sql<number>`max(case when latest_msg_id > hidden_msg_id then latest_msg_id end)`
      return db
        .selectFrom(
          directViews(db, param)
            .unionAll(groupViews(db, param))
            .unionAll(broadcastViews(db, param))
            .as('own'),
        )
        .select(['peer_id', sql<number>`min(created_at)`.as('created_at')])
        .select(latest.as('latest_msg_id'))
        .groupBy('peer_id')
        .having(latest, '<', param('beforeId'))
        .orderBy('latest_msg_id', 'desc')
        .limit(limit)
    })
    this.#marks = database.prepared<ConversationKey, MarksRow>((db, param) =>
      db
        .selectFrom('conversations')
        .select(['seq', 'low_read_seq', 'high_read_seq', 'low_delivered_seq', 'high_delivered_seq'])
        .where('app_id', '=', param('appId'))
        .where('low_id', '=', param('lowId'))
        .where('high_id', '=', param('highId')),
    )
    this.#walk = database.preparedPage<PlaceParams, PlaceRow>((db, param, limit) => {
      const holdsOld = (log: string) =>
        sql`exists (select 1 from ${sql.table(log)} m where ${ofConversation('m')} and m.msg_id < ${param('beforeId')})`
      return db
        .selectFrom('conversations as c')
        .select(['c.low_id as lowId', 'c.high_id as highId'])
        .select([
          sql<number>`case when c.low_id = c.high_id and exists (select 1 from groups g
            where g.app_id = c.app_id and g.group_id = c.low_id) then 1 else 0 end`.as('isGroup'),
          sql<number>`case when ${holdsOld('messages')} or ${holdsOld('recalled_messages')}
            or (c.changes_kept_from > 0 and exists (select 1 from message_changes x
              where ${ofConversation('x')} and x.change <= c.changes_kept_from)) then 1 else 0 end`.as(
            'isDue',
          ),
        ])
        .where('c.app_id', '=', param('appId'))
        .where(sql<boolean>`(c.low_id, c.high_id) > (${param('lowId')}, ${param('highId')})`)
        .orderBy('c.low_id')
        .orderBy('c.high_id')
        .limit(limit)
    })
    this.#roughUnread = database.prepared<UserKey, RoughUnreadRow>(roughCounts)
    this.#exactUnread = database.prepared<UserKey, UnreadRow>(exactCounts)
    this.#unreadWithBroadcasts = database.prepared<UserKey, UnreadRow>((db, param) =>
      db
        // Materialized, so that the first unread one of a stream is looked up once.
        .with(
          (cte) => cte('streams').materialized(),
          () => seenBroadcasts(db, param),
        )
        .selectFrom('streams as c')
        .select([
          'c.high_id as peerId',
          sql<number>`c.seq - c.seen - case when c.last_recalled_seq > c.seen
            then (select count(*) from recalled_messages r where ${ofConversation('r')} and r.seq > c.seen) else 0 end`.as(
            'unread',
          ),
        ])
        .unionAll(exactCounts(db, param)),
    )
  }

  /** Where the marks of a party stand; null when there is no such conversation. */
  async findMarks(
    db: Queryable,
    { appId, lowId, highId }: ConversationKey,
    side: Side,
  ): Promise<ReaderMarks | null> {
    const row = await this.#marks.first(db, { appId, lowId, highId })
    if (!row) return null
    const at = { read_seq: row[`${side}_read_seq`], delivered_seq: row[`${side}_delivered_seq`] }
    return { at, end: row.seq }
  }

  /**
   * Most recent activity first; only conversations whose newest message is older than `beforeId`.
   * @param page.hasBroadcasts broadcasts are in the conversations with their senders; false where there are none
   */
  async list(
    db: Queryable,
    { appId, userId }: UserKey,
    { hasBroadcasts, ...page }: { beforeId: number; limit: number; hasBroadcasts: boolean },
  ): Promise<ConversationView[]> {
    const statement = hasBroadcasts ? this.#listWithBroadcasts : this.#list
    const rows = await statement.all(db, { appId, userId, ...page })
    return rows.map((row) => ({
      peerId: row.peer_id,
      createdAt: row.created_at,
      lastMessageId: row.latest_msg_id,
    }))
  }

  /**
   * Conversations with unread messages, in no particular order.
   * @param hasBroadcasts as in {@link list}
   */
  async listUnread(
    db: Queryable,
    user: UserKey,
    { hasBroadcasts }: { readonly hasBroadcasts: boolean },
  ): Promise<{ peerId: Int64; unreadCount: number }[]> {
    const rows = hasBroadcasts
      ? await this.#unreadWithBroadcasts.all(db, user)
      : await this.#withoutBroadcasts(db, user)
    // All that is above the mark may have been recalled.
    const counts = rows
      .filter((row) => row.unread > 0)
      .map(({ peerId, unread }) => ({ peerId, unreadCount: Number(unread) }))
    return hasBroadcasts ? sumByPeer(counts) : counts
  }

  async #withoutBroadcasts(db: Queryable, user: UserKey): Promise<readonly UnreadRow[]> {
    const rough = await this.#roughUnread.all(db, user)
    return rough.every(hasCount) ? rough : this.#exactUnread.all(db, user)
  }

  /** Direct conversations that the user has not read to the end, in no particular order. */
  async listNotRead(
    db: Queryable,
    { appId, userId }: UserKey,
  ): Promise<{ readonly conversation: Conversation; readonly side: Side }[]> {
    const rows = await joined(db)
      .select(['c.low_id', 'c.high_id'])
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where(sql<boolean>`c.seq > ${readSeq}`)
      .execute()
    return rows.map((row) => ({
      conversation: { appId, lowId: row.low_id, highId: row.high_id, isGroup: false },
      side: row.low_id === userId ? 'low' : 'high',
    }))
  }

  /** Hides everything that the conversation holds now; what was unread of it stays so for its sender. @returns false when there is no such conversation */
  async hide(tx: Tx, conversation: ConversationKey, userId: Int64): Promise<boolean> {
    const marks = sidesOf(conversation, userId).map((side) => ({
      [`${side}_seen_seq`]: sql.ref('seq'),
      [`${side}_hidden_msg_id`]: sql.ref('last_msg_id'),
    }))
    const { numUpdatedRows } = await tx
      .updateTable('conversations')
      .set(Object.assign({}, ...marks))
      .where(isConversation(conversation))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /**
   * Keeps others from changing the conversation and what it holds until the transaction ends.
   * @returns null when there is no such conversation; open: neither of its parties is deleted
   */
  async lockForUpdate(
    tx: Tx,
    conversation: ConversationKey,
  ): Promise<{ readonly isOpen: boolean } | null> {
    const found = tx
      .selectFrom('conversations')
      .select('closed')
      .where(isConversation(conversation))
    const row = await lockForUpdate(tx, found).executeTakeFirst()
    return row ? { isOpen: row.closed === 0 } : null
  }

  /**
   * Counts a recall or an edit.
   * @param recalledSeq position of the message that is recalled; null: it is edited
   * @returns the end of the conversation, with this alteration
   */
  async countAlteration(
    tx: Tx,
    conversation: ConversationKey,
    { recalledSeq }: { readonly recalledSeq: number | null },
  ): Promise<{ readonly seq: number; readonly alterations: number }> {
    return tx
      .updateTable('conversations')
      .set({
        alterations: sql<number>`alterations + 1`,
        ...(recalledSeq === null
          ? {}
          : { last_recalled_seq: greater('last_recalled_seq', recalledSeq) }),
      })
      .where(isConversation(conversation))
      .returning(['seq', 'alterations'])
      .executeTakeFirstOrThrow()
  }

  /** Has the conversations of the user, of those with other users, take no messages any more. */
  async close(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    const open = joined(tx)
      .select('c.low_id')
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where('c.closed', '=', 0)
      // In the order in which batches of sends lock them.
      .orderBy('c.low_id')
      .orderBy('c.high_id')
    await lockForUpdate(tx, open, { of: ['c'] }).execute()
    await tx
      .updateTable('conversations as c')
      .from('user_conversations as p')
      .set({ closed: 1 })
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where(ofConversation('p'))
      .where('c.closed', '=', 0)
      .execute()
  }

  /** Has the broadcasts of the user end. */
  async closeBroadcasts(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .updateTable('conversations')
      .set({ closed: 1 })
      .where(isConversation(broadcastStream(appId, userId)))
      .where('closed', '=', 0)
      .execute()
  }

  /**
   * Conversations and broadcast streams of an app, in the order of their keys.
   * @param page.after the last one of the page before; null for the first page
   * @param page.beforeId messages with smaller IDs are to be removed
   */
  async walk(
    db: Queryable,
    appId: string,
    {
      after,
      ...page
    }: {
      readonly after: ConversationKey | null
      readonly beforeId: number
      readonly limit: number
    },
  ): Promise<WalkedConversation[]> {
    const { lowId, highId } = after ?? beforeAll
    const rows = await this.#walk.all(db, { appId, lowId, highId, ...page })
    return rows.map((row) => ({
      appId,
      lowId: row.lowId,
      highId: row.highId,
      isGroup: row.isGroup === 1,
      isDue: row.isDue === 1,
    }))
  }

  /** As {@link lockForUpdate}. @returns null when there is no such conversation */
  async lockRemovedRange(tx: Tx, conversation: ConversationKey): Promise<RemovedRange | null> {
    const found = tx
      .selectFrom('conversations')
      .select(['removed_msg_id', 'alterations', 'changes_kept_from'])
      .where(isConversation(conversation))
    const row = await lockForUpdate(tx, found).executeTakeFirst()
    return row
      ? {
          removedMessageId: row.removed_msg_id,
          alterations: row.alterations,
          keptFrom: row.changes_kept_from,
        }
      : null
  }

  /** Notes that the log up to a message is removed, with changes up to `keptFrom`. The transaction has locked the conversation. */
  async setRemovedRange(
    tx: Tx,
    conversation: ConversationKey,
    {
      seq,
      messageId,
      keptFrom,
    }: { readonly seq: number; readonly messageId: number; readonly keptFrom: number },
  ): Promise<void> {
    await tx
      .updateTable('conversations')
      .set({ removed_seq: seq, removed_msg_id: messageId, changes_kept_from: keptFrom })
      .where(isConversation(conversation))
      .execute()
  }

  /** Whether messages of the conversation were removed, this one or later ones. */
  async isRemoved(
    db: Queryable,
    conversation: ConversationKey,
    messageId: Int64,
  ): Promise<boolean> {
    const row = await db
      .selectFrom('conversations')
      .select('seq')
      .where(isConversation(conversation))
      .where('removed_msg_id', '>=', messageId as number)
      .executeTakeFirst()
    return row !== undefined
  }

  /** As {@link isRemoved}, in any conversation of the user or from a broadcast. */
  async isRemovedAnywhere(
    db: Queryable,
    { appId, userId }: UserKey,
    messageId: Int64,
  ): Promise<boolean> {
    const among = (party: string, low: string, high: string) =>
      sql`select 1 as found from ${sql.table(party)} p join conversations c
        on c.app_id = p.app_id and c.low_id = p.${sql.ref(low)} and c.high_id = p.${sql.ref(high)} and c.removed_msg_id >= ${messageId}
        where p.app_id = ${appId} and p.user_id = ${userId}`
    const looks = [
      among('user_conversations', 'low_id', 'high_id'),
      among('group_members', 'group_id', 'group_id'),
      sql`select 1 as found from users u join conversations c
        on c.app_id = u.app_id and c.low_id = ${sql.lit(everybodyId)} and c.removed_msg_id >= ${messageId}
        where u.app_id = ${appId} and u.user_id = ${userId} and u.broadcasts_after < ${messageId}`,
    ]
    const { rows } = await sql`${sql.join(looks, sql` union all `)} limit 1`.execute(db)
    return rows.length > 0
  }

  /** The user's conversation that holds the message, which may have been recalled; null when there is none. */
  async findByMessage(
    db: Queryable,
    user: UserKey,
    messageId: Int64,
  ): Promise<Conversation | null> {
    const among = (log: string, party: string, low: string, high: string, isGroup: number) =>
      sql<HoldingRow>`select m.low_id, m.high_id, ${sql.lit(isGroup)} as is_group from ${sql.table(party)} p join ${sql.table(log)} m
        on m.app_id = p.app_id and m.low_id = p.${sql.ref(low)} and m.high_id = p.${sql.ref(high)} and m.msg_id = ${messageId}
        where p.app_id = ${user.appId} and p.user_id = ${user.userId}`
    const looks = ['messages', 'recalled_messages'].flatMap((log) => [
      among(log, 'user_conversations', 'low_id', 'high_id', 0),
      among(log, 'group_members', 'group_id', 'group_id', 1),
    ])
    const { rows } = await sql<HoldingRow>`${sql.join(looks, sql` union all `)}`.execute(db)
    const [row] = rows
    return row
      ? { appId: user.appId, lowId: row.low_id, highId: row.high_id, isGroup: row.is_group === 1 }
      : null
  }

  /** Where a group's conversation ends; 0 when it has not begun. */
  async findEnd(tx: Tx, group: GroupKey): Promise<ConversationEnd> {
    return toEnd(await selectEnd(tx, group).executeTakeFirst())
  }

  /** As {@link findEnd}; sends wait until the transaction ends. To be called before any member is locked. */
  async lockEnd(tx: Tx, group: GroupKey): Promise<ConversationEnd> {
    return toEnd(await lockShare(tx, selectEnd(tx, group)).executeTakeFirst())
  }

  /** The conversations stay, as they belong to others too. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('user_conversations')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}

/** A place before the key of every conversation, that of broadcasts too. */
const beforeAll = { lowId: everybodyId - 1, highId: 0 }

function selectEnd(tx: Tx, { appId, groupId }: GroupKey) {
  return tx
    .selectFrom('conversations')
    .select(['seq', 'last_msg_id'])
    .where(isConversation({ appId, lowId: groupId, highId: groupId }))
}

function toEnd(row: { seq: number; last_msg_id: number } | undefined): ConversationEnd {
  return { seq: row?.seq ?? 0, lastMessageId: row?.last_msg_id ?? 0 }
}

export function isConversation({ appId, lowId, highId }: ConversationKey) {
  return sql<boolean>`app_id = ${appId} and low_id = ${lowId} and high_id = ${highId}`
}

/** A peer may have sent both messages and broadcasts. */
function sumByPeer(
  counts: readonly { readonly peerId: Int64; readonly unreadCount: number }[],
): { peerId: Int64; unreadCount: number }[] {
  const sums = new Map<Int64, number>()
  for (const { peerId, unreadCount } of counts)
    sums.set(peerId, (sums.get(peerId) ?? 0) + unreadCount)
  return [...sums].map(([peerId, unreadCount]) => ({ peerId, unreadCount }))
}

function hasCount(row: RoughUnreadRow): row is UnreadRow {
  return row.unread !== null
}
