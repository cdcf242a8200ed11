import type { Int64 } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Database, PreparedPage, Queryable } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import { broadcastUserId } from '../../messaging/model/conversation-model.js'
import type { PushedMessage } from '../content/pushed-message.js'

/** A user with a device that is bound to a gateway, as a reader of a conversation. */
export interface UnreadReader {
  readonly userId: Int64
  /** The position up to which the user has no unread message. */
  readonly seenSeq: number
}

/** A member of a group with the settings that decide about pushes. */
export interface MemberReader extends UnreadReader {
  readonly muteMode: number
  readonly pushMode: number
}

/** A reader of the broadcasts of one sender. */
export interface BoundBroadcastReader extends UnreadReader {
  /** Broadcasts up to and including this one are from before the user's time. */
  readonly afterId: number
  /** The user has muted or blocked the sender. */
  readonly isSenderMuted: boolean
}

/** The names of a sender; texts are "" when they are not set. */
export interface SenderNames {
  readonly username: string
  readonly nickName: string
  readonly pushNickName: string
}

/** The receiver of direct messages and their sender. */
export type MessagePair = Pick<PushedMessage, 'senderId' | 'targetId'>

interface BoundUserRow {
  readonly user_id: Int64
}

const userKey = { app_id: 'text', user_id: 'bigint' } as const

const findBound: BulkSelect = { table: 'push_bindings', keys: userKey, columns: 't.user_id' }
const findSenders: BulkSelect = {
  table: 'users',
  keys: userKey,
  columns: 't.user_id, t.username, t.nick_name',
}
const findPushNames: BulkSelect = {
  table: 'user_settings',
  keys: userKey,
  columns: 't.user_id, t.push_nick_name',
}
const findRoles: BulkSelect = {
  table: 'group_members',
  keys: { app_id: 'text', group_id: 'bigint', user_id: 'bigint' },
  columns: 't.group_id, t.user_id, t.role',
}
/** By replies; originals that are gone have no row. */
const findOriginalSenders: BulkSelect = {
  table: 'messages',
  joins: `join messages o on o.app_id = t.app_id and o.low_id = t.low_id and o.high_id = t.high_id
    and o.msg_id = t.reply_to_id`,
  keys: { app_id: 'text', low_id: 'bigint', high_id: 'bigint', msg_id: 'bigint' },
  columns: 't.msg_id, o.sender_id',
}
const findMutes: BulkSelect = {
  table: 'contacts',
  keys: { app_id: 'text', user_id: 'bigint', peer_id: 'bigint' },
  columns: 't.user_id, t.peer_id, t.mute_notification, t.is_blocked',
}
/** A receiver of direct messages; sending moves a position in the row of the conversation. */
const findReaders: BulkSelect = {
  table: 'readers',
  keys: { app_id: 'text', user_id: 'bigint', low_id: 'bigint', high_id: 'bigint' },
  columns: `t.user_id, t.low_id, t.high_id, t.seen_seq,
    (select case when c.furthest_id = t.user_id then c.furthest_seq else c.others_seq end from conversations c
      where c.app_id = t.app_id and c.low_id = t.low_id and c.high_id = t.high_id) as sent_seq`,
}

interface ReceiverRow {
  readonly user_id: Int64
  readonly low_id: Int64
  readonly high_id: Int64
  readonly seen_seq: number
  readonly sent_seq: number
}

type BroadcastRow = BoundUserRow & {
  readonly broadcasts_after: number
  readonly seen_seq: number | null
  readonly mute_notification: number | null
  readonly is_blocked: number | null
}

/** Reads the data by which the receivers of messages are found. */
export class ReceiverStore {
  readonly #members: PreparedPage<GroupKey & { after: Int64 }, MemberReader>
  readonly #broadcastReaders: PreparedPage<
    { appId: string; senderId: Int64; after: Int64 },
    BroadcastRow
  >

  constructor(private readonly database: Database) {
    this.#members = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('group_members as m')
        .innerJoin('readers as p', (join) =>
          join
            .onRef('p.app_id', '=', 'm.app_id')
            .onRef('p.user_id', '=', 'm.user_id')
            .onRef('p.low_id', '=', 'm.group_id')
            .onRef('p.high_id', '=', 'm.group_id'),
        )
        .select(['m.user_id as userId', 'm.msg_mute_mode as muteMode'])
        .select(['m.msg_push_mode as pushMode', 'p.seen_seq as seenSeq'])
        .where('m.app_id', '=', param('appId'))
        .where('m.group_id', '=', param('groupId'))
        .where('m.user_id', '>', param('after'))
        .where(
          sql<boolean>`exists (select 1 from push_bindings b where b.app_id = m.app_id and b.user_id = m.user_id)`,
        )
        .orderBy('m.user_id')
        .limit(limit),
    )
    this.#broadcastReaders = database.preparedPage((db, param, limit) =>
      db
        .selectFrom(
          db
            .selectFrom('push_bindings')
            .select(['app_id', 'user_id'])
            .distinct()
            .where('app_id', '=', param('appId'))
            .where('user_id', '>', param('after'))
            .orderBy('user_id')
            .limit(limit)
            .as('b'),
        )
        .innerJoin('users as u', (join) =>
          join.onRef('u.app_id', '=', 'b.app_id').onRef('u.user_id', '=', 'b.user_id'),
        )
        .leftJoin('readers as p', (join) =>
          join
            .onRef('p.app_id', '=', 'b.app_id')
            .onRef('p.user_id', '=', 'b.user_id')
            .on('p.low_id', '=', broadcastUserId)
            .on('p.high_id', '=', param('senderId')),
        )
        .leftJoin('contacts as c', (join) =>
          join
            .onRef('c.app_id', '=', 'b.app_id')
            .onRef('c.user_id', '=', 'b.user_id')
            .on('c.peer_id', '=', param('senderId')),
        )
        .select(['b.user_id', 'u.broadcasts_after', 'p.seen_seq'])
        .select(['c.mute_notification', 'c.is_blocked'])
        .orderBy('b.user_id'),
    )
  }

  /** Those of the users who have a device that is bound to a gateway. */
  async findBound(
    db: Queryable,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<ReadonlySet<Int64>> {
    const rows = await this.database.bulk<BoundUserRow>(db, findBound, userKeys(appId, userIds))
    return new Set(rows.map((row) => row.user_id))
  }

  /** Members with a device that is bound to a gateway, by ID, above `after`. */
  async listMembers(
    db: Queryable,
    group: GroupKey,
    after: Int64,
    limit: number,
  ): Promise<MemberReader[]> {
    return this.#members.all(db, { ...group, after, limit })
  }

  /**
   * All users with a device that is bound to a gateway, by ID, above `after`, as readers of a
   * sender's broadcasts.
   */
  async listBroadcastReaders(
    db: Queryable,
    sender: { readonly appId: string; readonly senderId: Int64 },
    after: Int64,
    limit: number,
  ): Promise<BoundBroadcastReader[]> {
    const rows = await this.#broadcastReaders.all(db, { ...sender, after, limit })
    return rows.map((row) => ({
      userId: row.user_id,
      seenSeq: row.seen_seq ?? 0,
      afterId: row.broadcasts_after,
      isSenderMuted: row.mute_notification === 1 || row.is_blocked === 1,
    }))
  }

  /** The number of members of a group. */
  async countMembers(db: Queryable, { appId, groupId }: GroupKey): Promise<number> {
    const row = await db
      .selectFrom('groups')
      .select('member_count')
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
      .executeTakeFirst()
    return row?.member_count ?? 0
  }

  /** The pairs, by {@link pairName}, of which the receiver has muted or blocked the sender. */
  async findMutes(
    db: Queryable,
    appId: string,
    pairs: readonly MessagePair[],
  ): Promise<ReadonlySet<string>> {
    const rows = await this.database.bulk<{
      readonly user_id: Int64
      readonly peer_id: Int64
      readonly mute_notification: number
      readonly is_blocked: number
    }>(
      db,
      findMutes,
      pairs.map(({ senderId, targetId }) => [appId, targetId, senderId]),
    )
    const muted = rows.filter((row) => row.mute_notification === 1 || row.is_blocked === 1)
    return new Set(
      muted.map(({ user_id, peer_id }) => pairName({ senderId: peer_id, targetId: user_id })),
    )
  }

  /**
   * The positions up to which receivers have read or hidden their conversations with senders; by
   * {@link pairName}.
   */
  async findSeen(
    db: Queryable,
    appId: string,
    pairs: readonly MessagePair[],
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.bulk<ReceiverRow>(
      db,
      findReaders,
      pairs.map(({ senderId, targetId }) => [
        appId,
        targetId,
        ...(senderId < targetId ? [senderId, targetId] : [targetId, senderId]),
      ]),
    )
    return new Map(
      rows.map(({ user_id: targetId, low_id, high_id, seen_seq, sent_seq }) => [
        pairName({ senderId: low_id === targetId ? high_id : low_id, targetId }),
        Math.max(seen_seq, sent_seq),
      ]),
    )
  }

  /** The roles of the members among the senders, by {@link pairName} with the group as the target. */
  async findRoles(
    db: Queryable,
    appId: string,
    pairs: readonly MessagePair[],
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.bulk<{
      readonly group_id: Int64
      readonly user_id: Int64
      readonly role: number
    }>(
      db,
      findRoles,
      pairs.map(({ senderId, targetId }) => [appId, targetId, senderId]),
    )
    return new Map(
      rows.map(({ group_id, user_id, role }) => [
        pairName({ senderId: user_id, targetId: group_id }),
        role,
      ]),
    )
  }

  /** The senders of the messages that these replies name and that are there, by reply. */
  async findOriginalSenders(
    db: Queryable,
    appId: string,
    replies: readonly Pick<EventPayloads['message.stored'], 'conversation' | 'msg_id'>[],
  ): Promise<ReadonlyMap<Int64, Int64>> {
    const rows = await this.database.bulk<{ readonly msg_id: Int64; readonly sender_id: Int64 }>(
      db,
      findOriginalSenders,
      replies.map(({ conversation, msg_id }) => [
        appId,
        conversation.low_id,
        conversation.high_id,
        msg_id,
      ]),
    )
    return new Map(rows.map(({ msg_id, sender_id }) => [msg_id, sender_id]))
  }

  /** The names of users who are there. */
  async findSenders(
    db: Queryable,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<Int64, SenderNames>> {
    const keys = userKeys(appId, userIds)
    const [users, settings] = await Promise.all([
      this.database.bulk<BoundUserRow & { username: string; nick_name: string }>(
        db,
        findSenders,
        keys,
      ),
      this.database.bulk<BoundUserRow & { push_nick_name: string }>(db, findPushNames, keys),
    ])
    const pushNames = new Map(settings.map((row) => [row.user_id, row.push_nick_name]))
    return new Map(
      users.map(({ user_id, username, nick_name: nickName }) => [
        user_id,
        { username, nickName, pushNickName: pushNames.get(user_id) ?? '' },
      ]),
    )
  }
}

/** Names a sender and a receiver within their application. */
export function pairName({ senderId, targetId }: MessagePair): string {
  return `${senderId} ${targetId}`
}

function userKeys(appId: string, userIds: readonly Int64[]): unknown[][] {
  return [...new Set(userIds)].map((userId) => [appId, userId])
}
