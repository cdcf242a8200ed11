import type { Int64 } from '@hermod/protocol'
import { type Event, notice } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { MemberKey } from '../../groups/core/group-model.js'
import { groupConversation, toEventConversation } from '../log/conversation-model.js'
import type { ConversationStore, Mark } from './conversation-store.js'
import {
  type GroupMarkStore,
  type GroupsAfter,
  groupsPerStep,
  type MemberMarks,
  type MovedMark,
} from './group-mark-store.js'
import type { ReceiptRequestStore } from './receipt-request-store.js'

export interface GroupReadServiceOptions {
  readonly marks: GroupMarkStore
  readonly members: MemberMarks
  readonly conversations: ConversationStore
  readonly receiptRequests: ReceiptRequestStore
  readonly outbox: Outbox
}

/** What members have read of the conversations of their groups, and who is told of it (rules E5, E6). */
export class GroupReadService {
  constructor(private readonly options: GroupReadServiceOptions) {}

  /**
   * Moves a mark forward and tells the member's own devices; where read_ack is on also the senders who asked for it (groupMemberList).
   * @param to.seq null = to the end of the conversation
   * @returns false when it did not move
   */
  async move(
    tx: Tx,
    member: MemberKey,
    mark: Mark,
    to: { readonly seq: number | null; readonly messageId?: Int64 | undefined },
  ): Promise<boolean> {
    const { marks, outbox } = this.options
    const moved = await this.#moveMark(tx, member, mark, to.seq)
    if (!moved) return false
    const { messageId = moved.lastMessageId } = to
    outbox.append(tx, markEvent(member, mark, [member.userId], Number(messageId)))
    if (mark === 'read_seq' && (await marks.hasReadAck(tx, member)))
      outbox.append(tx, ...(await this.#receipts(tx, member, moved)))
    return true
  }

  /**
   * Moves the read marks of some groups of the user to the ends, and tells the senders who asked for it.
   * @returns how many have moved, and after which group the next step begins; null = there is none
   */
  async moveSome(
    tx: Tx,
    from: GroupsAfter,
  ): Promise<{ readonly count: number; readonly nextAfter: Int64 | null }> {
    const { appId, userId } = from
    const { marks, conversations, members } = this.options
    const moved = await marks.lockUnread(tx, from)
    if (moved.length === 0) return { count: 0, nextAfter: null }
    const groupIds = moved.map(({ groupId }) => groupId)
    await conversations.moveFurthestToEnds(tx, from, groupIds)
    await members.moveReadMarksToEnds(tx, from, groupIds)
    for (const { groupId, hasReadAck, ...mark } of moved)
      if (hasReadAck)
        this.options.outbox.append(
          tx,
          ...(await this.#receipts(tx, { appId, groupId, userId }, mark)),
        )
    return {
      count: moved.length,
      nextAfter: moved.length < groupsPerStep ? null : (moved.at(-1)?.groupId ?? null),
    }
  }

  /** Hides what the conversation holds now (rule E13). @returns false when there is no such conversation or member */
  async hide(tx: Tx, member: MemberKey): Promise<boolean> {
    const { conversations, members } = this.options
    const end = await conversations.findEnd(tx, member)
    return end.seq > 0 && members.hide(tx, member, end)
  }

  isMember(tx: Tx, member: MemberKey): Promise<boolean> {
    return this.options.marks.isMember(tx, member)
  }

  /** Reading counts as moved until it has been acknowledged, though the member's own sends have moved the mark before. */
  async #moveMark(
    tx: Tx,
    member: MemberKey,
    mark: Mark,
    seq: number | null,
  ): Promise<MovedMark | null> {
    const { marks, conversations, members } = this.options
    const place = await marks.find(tx, member, mark)
    if (!place) return null
    const to = seq ?? place.seq
    if (to <= place.at) return null
    if (mark === 'read_seq') await conversations.moveFurthest(tx, member, member.userId, to)
    const from = await members.lockMark(tx, member, mark)
    if (from === null || to <= from) return null
    await members.moveMark(tx, member, mark, to)
    return { from, to, lastMessageId: place.lastMessageId }
  }

  /** For the senders who want to know that the member has read their messages. */
  async #receipts(tx: Tx, member: MemberKey, moved: MovedMark): Promise<Event[]> {
    const requests = await this.options.receiptRequests.listBetween(tx, member, moved)
    return requests.map(({ senderId, messageId }) =>
      markEvent(member, 'read_seq', [senderId], messageId),
    )
  }
}

const kinds = {
  read_seq: 'message.read',
  delivered_seq: 'message.delivered',
} as const satisfies Record<Mark, string>

function markEvent(
  { appId, groupId, userId }: MemberKey,
  mark: Mark,
  userIds: readonly Int64[],
  messageId: number,
): Event {
  return notice(
    kinds[mark],
    { appId, actorId: userId, userIds },
    { conversation: toEventConversation(groupConversation(appId, groupId)), msg_id: messageId },
  )
}
