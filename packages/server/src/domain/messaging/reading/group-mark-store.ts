import type { Int64 } from '@hermod/protocol'
import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.js'
import { lockForUpdate } from '../../../db/locking.js'
import { greater, isConversation, joinedGroups, type Mark } from './conversation-store.js'

export interface MemberKey {
  readonly appId: string
  readonly groupId: Int64
  readonly userId: Int64
}

/** The groups of a user by ID. */
export interface GroupsAfter {
  readonly appId: string
  readonly userId: Int64
  readonly afterGroupId: Int64
}

/** A mark of a member that has moved. */
export interface MovedMark {
  readonly from: number
  readonly to: number
  /** The last message that the conversation ever held. */
  readonly lastMessageId: number
}

export interface MovedGroupMark extends MovedMark {
  readonly groupId: Int64
  readonly hasReadAck: boolean
}

/** A message whose sender wants to know who has read it. */
export interface ReceiptRequest {
  readonly messageId: number
  readonly senderId: Int64
}

/** How many groups one transaction moves marks in. */
export const groupsPerStep = 100
const maxReceiptRequests = 1_000

/**
 * The marks of members in the conversations of groups. Whatever changes both locks the conversation's row before the member's, as sends
 * do.
 */
export class GroupMarkStore {
  /**
   * Moves a mark of a member forward to a position, or to the end of the conversation; never back. Reading counts as moved until it has
   * been acknowledged, though the member's own sends have moved the mark before.
   * @returns null when the mark did not move, or there is no such conversation or member
   */
  async move(tx: Tx, member: MemberKey, mark: Mark, seq: number | null): Promise<MovedMark | null> {
    const told = mark === 'read_seq' ? 'acked_seq' : mark
    const conversation = await tx
      .selectFrom('conversations as c')
      .innerJoin('group_members as m', (join) =>
        join.onRef('m.app_id', '=', 'c.app_id').onRef('m.group_id', '=', 'c.low_id'),
      )
      .select(['c.seq', 'c.last_msg_id', `m.${told} as at`])
      .where('c.app_id', '=', member.appId)
      .where('c.low_id', '=', member.groupId)
      .where('c.high_id', '=', member.groupId)
      .where('m.user_id', '=', member.userId)
      .executeTakeFirst()
    if (!conversation) return null
    const to = seq ?? conversation.seq
    if (to <= conversation.at) return null
    const { appId, groupId, userId } = member
    if (mark === 'read_seq') {
      const end = sql<number>`${to}`
      const place = isConversation({ appId, lowId: groupId, highId: groupId })
      await tx
        .updateTable('conversations')
        .set(furthest(userId, end))
        .where(place)
        .where(isFurther(userId, end))
        .execute()
    }
    const own = tx.selectFrom('group_members').select(`${told} as at`).where(isMember(member))
    const before = await lockForUpdate(tx, own).executeTakeFirst()
    if (!before || to <= before.at) return null
    await tx
      .updateTable('group_members')
      .set(
        mark === 'read_seq'
          ? { read_seq: greater('read_seq', to), seen_seq: greater('seen_seq', to), acked_seq: to }
          : { [mark]: to },
      )
      .where(isMember(member))
      .execute()
    return { from: before.at, to, lastMessageId: conversation.last_msg_id }
  }

  /** Hides everything that the conversation holds now. @returns false when there is no such conversation or member */
  async hide(tx: Tx, member: MemberKey): Promise<boolean> {
    const end = await tx
      .selectFrom('conversations')
      .select(['seq', 'last_msg_id'])
      .where(isConversation({ appId: member.appId, lowId: member.groupId, highId: member.groupId }))
      .executeTakeFirst()
    if (!end) return false
    const { numUpdatedRows } = await tx
      .updateTable('group_members')
      // Meanwhile the member may have sent or deleted again.
      .set({
        seen_seq: greater('seen_seq', end.seq),
        hidden_msg_id: greater('hidden_msg_id', end.last_msg_id),
      })
      .where(isMember(member))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  async isMember(tx: Tx, member: MemberKey): Promise<boolean> {
    return (
      (await tx
        .selectFrom('group_members')
        .select('user_id')
        .where(isMember(member))
        .executeTakeFirst()) !== undefined
    )
  }

  async hasReadAck(tx: Tx, { appId, groupId }: MemberKey): Promise<boolean> {
    const row = await tx
      .selectFrom('groups')
      .select('read_ack')
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
      .executeTakeFirst()
    return row?.read_ack === 1
  }

  /**
   * Moves the read marks of a user to the ends of the conversations of some groups; others wait until it is committed, so they are few.
   * @returns those that were not there yet; as many as {@link groupsPerStep} when there may be more
   */
  async moveSome(tx: Tx, { appId, userId, afterGroupId }: GroupsAfter): Promise<MovedGroupMark[]> {
    const found = joinedGroups(tx)
      .select(['p.group_id', 'p.acked_seq', 'c.seq', 'c.last_msg_id', 'g.read_ack'])
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where('p.group_id', '>', afterGroupId)
      .whereRef('c.seq', '>', 'p.acked_seq')
      // In the order in which batches of sends lock them; the members too, so that each message is told of as read once only.
      .orderBy('p.group_id')
      .limit(groupsPerStep)
    const moved = (await lockForUpdate(tx, found, { of: ['c', 'p'] }).execute()).map(
      (row): MovedGroupMark => ({
        groupId: row.group_id,
        from: row.acked_seq,
        to: row.seq,
        lastMessageId: row.last_msg_id,
        hasReadAck: row.read_ack === 1,
      }),
    )
    if (moved.length === 0) return moved
    const groupIds = moved.map(({ groupId }) => groupId)
    const end = sql<number>`seq`
    await tx
      .updateTable('conversations')
      .set(furthest(userId, end))
      .where('app_id', '=', appId)
      .where('low_id', 'in', groupIds)
      .whereRef('high_id', '=', 'low_id')
      .where(isFurther(userId, end))
      .execute()
    await tx
      .updateTable('group_members')
      .set({ read_seq: endOfGroup, seen_seq: endOfGroup, acked_seq: endOfGroup })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('group_id', 'in', groupIds)
      .execute()
    return moved
  }

  /**
   * Messages above one position and up to another whose senders want to know that the member has read them, in their order; of very many
   * requests the latest ones.
   */
  async listReceiptRequests(
    tx: Tx,
    { appId, groupId, userId }: MemberKey,
    { from, to }: MovedMark,
  ): Promise<ReceiptRequest[]> {
    const latest = tx
      .selectFrom('receipt_requests')
      .select(['seq', 'msg_id', 'sender_id', 'member_ids'])
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
      .where('seq', '>', from)
      .where('seq', '<=', to)
      .orderBy('seq', 'desc')
      .limit(maxReceiptRequests)
    const rows = await tx
      .selectFrom(latest.as('r'))
      .select(['r.msg_id', 'r.sender_id'])
      .where('r.sender_id', '<>', userId)
      .where('r.member_ids', 'like', `%,${userId},%`)
      .orderBy('r.seq')
      .execute()
    return rows.map((row) => ({ messageId: row.msg_id, senderId: row.sender_id }))
  }
}

/** A conversation's row holds how far the furthest reader has read, and how far the furthest of all others: what it holds once the user has read to a position. */
function furthest(userId: Int64, to: RawBuilder<number>) {
  return {
    high_read_seq: sql<number>`case when reader_id = ${userId} then high_read_seq
      when low_read_seq < ${to} then low_read_seq when high_read_seq < ${to} then ${to} else high_read_seq end`,
    reader_id: sql<Int64>`case when low_read_seq < ${to} then ${userId} else reader_id end`,
    low_read_seq: sql<number>`case when low_read_seq < ${to} then ${to} else low_read_seq end`,
  }
}

function isFurther(userId: Int64, to: RawBuilder<number>) {
  return sql<boolean>`(low_read_seq < ${to} or (reader_id <> ${userId} and high_read_seq < ${to}))`
}

/** Of a row of group_members. */
const endOfGroup = sql<number>`(select c.seq from conversations c
  where c.app_id = group_members.app_id and c.low_id = group_members.group_id and c.high_id = group_members.group_id)`

function isMember({ appId, groupId, userId }: MemberKey) {
  return sql<boolean>`app_id = ${appId} and group_id = ${groupId} and user_id = ${userId}`
}
