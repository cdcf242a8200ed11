import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../db/database.js'
import type { Event, EventKind } from '../events/event-model.js'
import type { EventService } from '../events/event-service.js'
import { configOf } from '../messages/message-config.js'
import type { Mark } from './conversation-store.js'
import type { GroupMarkStore, MemberKey, MovedMark } from './group-mark-store.js'

export interface GroupReadServiceOptions {
  readonly marks: GroupMarkStore
  readonly events: EventService
}

const eventsPerStatement = 1_000

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
    const { marks, events } = this.options
    const moved = await marks.move(tx, member, mark, to.seq)
    if (!moved) return false
    const { messageId = moved.lastMessageId } = to
    await events.append(tx, markEvent(member, mark, [member.userId], Number(messageId)))
    if (mark === 'read_seq' && (await marks.hasReadAck(tx, member))) await this.#append(tx, await this.#receipts(tx, member, moved))
    return true
  }

  /** Moves the read marks of all groups of the user to the ends. @returns how many have moved */
  async moveAll(tx: Tx, appId: string, userId: Int64): Promise<number> {
    const moved = await this.options.marks.moveAll(tx, appId, userId)
    const told: Event[] = []
    for (const { groupId, lastMessageId, hasReadAck, ...mark } of moved) {
      const member = { appId, groupId, userId }
      told.push(markEvent(member, 'read_seq', [userId], lastMessageId))
      if (hasReadAck) told.push(...(await this.#receipts(tx, member, { ...mark, lastMessageId })))
    }
    await this.#append(tx, told)
    return moved.length
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
    return requests
      .filter(({ config }) => configOf(config).groupMemberList.has(member.userId))
      .map(({ senderId, messageId }) => markEvent(member, 'read_seq', [senderId], messageId))
  }

  async #append(tx: Tx, told: readonly Event[]): Promise<void> {
    for (let start = 0; start < told.length; start += eventsPerStatement)
      await this.options.events.append(tx, ...told.slice(start, start + eventsPerStatement))
  }
}

const kinds = { read_seq: 'message.read', delivered_seq: 'message.delivered' } as const satisfies Record<Mark, EventKind>

function markEvent({ appId, groupId, userId }: MemberKey, mark: Mark, userIds: readonly Int64[], messageId: number): Event {
  return { appId, groupId, kind: kinds[mark], actorId: userId, userIds, content: JSON.stringify({ msg_id: messageId }) }
}
