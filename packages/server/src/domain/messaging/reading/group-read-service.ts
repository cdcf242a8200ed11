import type { Int64 } from '@hermod/protocol'
import { type Event, notice } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import { eventConversation, groupConversation } from '../log/conversation-model.js'
import type { Mark } from './conversation-store.js'
import {
  type GroupMarkStore,
  type GroupsAfter,
  groupsPerStep,
  type MemberKey,
  type MovedMark,
} from './group-mark-store.js'

export interface GroupReadServiceOptions {
  readonly marks: GroupMarkStore
  readonly outbox: Outbox
}

/** What members have read of the conversations of their groups, and who is told of it (decisions E5, E6). */
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
    const moved = await marks.move(tx, member, mark, to.seq)
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
    const moved = await this.options.marks.moveSome(tx, from)
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

  /** Hides what the conversation holds now (decision E13). @returns false when there is no such conversation or member */
  hide(tx: Tx, member: MemberKey): Promise<boolean> {
    return this.options.marks.hide(tx, member)
  }

  isMember(tx: Tx, member: MemberKey): Promise<boolean> {
    return this.options.marks.isMember(tx, member)
  }

  /** For the senders who want to know that the member has read their messages. */
  async #receipts(tx: Tx, member: MemberKey, moved: MovedMark): Promise<Event[]> {
    const requests = await this.options.marks.listReceiptRequests(tx, member, moved)
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
    { conversation: eventConversation(groupConversation(appId, groupId)), msg_id: messageId },
  )
}
