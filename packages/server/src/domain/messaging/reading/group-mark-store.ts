import type { Int64 } from '@hermod/protocol'
import { sql } from 'kysely'
import type { Tx } from '../../../db/database.js'
import { lockForUpdate } from '../../../db/locking.js'
import type { MemberKey } from '../../groups/core/group-model.js'
import { joinedGroups, type Mark } from './conversation-store.js'

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

/** How many groups one transaction moves marks in. */
export const groupsPerStep = 100

/** Where a mark of a member stands. */
export interface MarkPlace {
  readonly at: number
  /** Where the conversation ends. */
  readonly seq: number
  readonly lastMessageId: number
}

/** How the rows of members take their marks. */
export interface MemberMarks {
  /** Keeps the mark from moving until the transaction ends. @returns null when there is no such member */
  lockMark(tx: Tx, member: MemberKey, mark: Mark): Promise<number | null>
  moveMark(tx: Tx, member: MemberKey, mark: Mark, seq: number): Promise<void>
  /** Moves the read marks of a user to the ends of the conversations of groups. */
  moveReadMarksToEnds(
    tx: Tx,
    user: Pick<MemberKey, 'appId' | 'userId'>,
    groupIds: readonly Int64[],
  ): Promise<void>
  /** Hides what the conversation holds up to its end. @returns false when there is no such member */
  hide(
    tx: Tx,
    member: MemberKey,
    end: { readonly seq: number; readonly lastMessageId: number },
  ): Promise<boolean>
}

/** The column that says what was told of a mark: sending moves what is read, of which nobody is told. */
export const toldMark = {
  read_seq: 'acked_seq',
  delivered_seq: 'delivered_seq',
} as const satisfies Record<Mark, string>

/**
 * Looks up the marks of members in the conversations of groups. Whatever changes both locks the conversation's row before the member's,
 * as sends do.
 */
export class GroupMarkStore {
  /** @returns null when there is no such conversation or member */
  async find(tx: Tx, member: MemberKey, mark: Mark): Promise<MarkPlace | null> {
    const row = await tx
      .selectFrom('conversations as c')
      .innerJoin('group_members as m', (join) =>
        join.onRef('m.app_id', '=', 'c.app_id').onRef('m.group_id', '=', 'c.low_id'),
      )
      .select(['c.seq', 'c.last_msg_id as lastMessageId', `m.${toldMark[mark]} as at`])
      .where('c.app_id', '=', member.appId)
      .where('c.low_id', '=', member.groupId)
      .where('c.high_id', '=', member.groupId)
      .where('m.user_id', '=', member.userId)
      .executeTakeFirst()
    return row ?? null
  }

  /**
   * The conversations of some groups that the user has not read to the end, with the marks as they will be then. Others wait until the
   * transaction ends, so they are few.
   * @returns as many as {@link groupsPerStep} when there may be more
   */
  async lockUnread(
    tx: Tx,
    { appId, userId, afterGroupId }: GroupsAfter,
  ): Promise<MovedGroupMark[]> {
    const found = joinedGroups(tx)
      .select(['p.group_id', 'p.acked_seq', 'c.seq', 'c.last_msg_id', 'g.read_ack'])
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where('p.group_id', '>', afterGroupId)
      .whereRef('c.seq', '>', 'p.acked_seq')
      // In the order in which batches of sends lock them; the members too, so that each message is told of as read once only.
      .orderBy('p.group_id')
      .limit(groupsPerStep)
    return (await lockForUpdate(tx, found, { of: ['c', 'p'] }).execute()).map(
      (row): MovedGroupMark => ({
        groupId: row.group_id,
        from: row.acked_seq,
        to: row.seq,
        lastMessageId: row.last_msg_id,
        hasReadAck: row.read_ack === 1,
      }),
    )
  }

  async isMember(tx: Tx, member: MemberKey): Promise<boolean> {
    return (
      (await tx
        .selectFrom('group_members')
        .select('user_id')
        .where(isMarkOf(member))
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
}

function isMarkOf({ appId, groupId, userId }: MemberKey) {
  return sql<boolean>`app_id = ${appId} and group_id = ${groupId} and user_id = ${userId}`
}
