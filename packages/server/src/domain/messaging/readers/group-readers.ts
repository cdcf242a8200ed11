import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { GroupKey, MemberKey } from '../../groups/core/group-model.js'
import type {
  ConversationEnd,
  GroupConversations,
} from '../../groups/membership/group-conversations.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { MuteGapStore } from './mute-gap-store.js'
import type { ReaderKey } from './reader-positions.js'
import { noStart } from './reader-statements.js'
import type { ReaderStore } from './reader-store.js'

export interface GroupReadersOptions {
  readonly conversations: Pick<ConversationStore, 'insertOfGroup' | 'lockEnd'>
  readonly readers: ReaderStore
  readonly muteGaps: MuteGapStore
  readonly streams: { endSoon(tx: Tx, group: GroupKey): Promise<void> }
}

/** The members of groups as readers of the groups' conversations. */
export class GroupReaders implements GroupConversations {
  constructor(private readonly options: GroupReadersOptions) {}

  async begin(tx: Tx, group: GroupKey, ownerId: Int64): Promise<void> {
    const { conversations, readers } = this.options
    await conversations.insertOfGroup(tx, group)
    await readers.insert(tx, [readerIn(group, ownerId)], noStart)
  }

  lockEnd(tx: Tx, group: GroupKey): Promise<ConversationEnd> {
    return this.options.conversations.lockEnd(tx, group)
  }

  async add(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    {
      end: { lastMessageId: messageId, seq },
      isHistoryVisible,
    }: Parameters<GroupConversations['add']>[3],
  ): Promise<void> {
    // Where newcomers see the history, they can still be its first readers.
    const start = { messageId, seq, ackedSeq: isHistoryVisible ? 0 : seq }
    const added = userIds.map((userId) => readerIn(group, userId))
    await this.options.readers.insert(tx, added, start)
  }

  async remove(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<void> {
    const { readers, muteGaps } = this.options
    await Promise.all([
      readers.deleteOfGroup(tx, group, userIds),
      muteGaps.deleteOfMembers(tx, group, userIds),
    ])
  }

  async setReception(tx: Tx, member: MemberKey, receives: boolean): Promise<void> {
    const { conversations, readers, muteGaps } = this.options
    const reader = readerIn(member, member.userId)
    const { seq } = await conversations.lockEnd(tx, member)
    const { seen_seq: seenSeq, muted_seq } = await readers.lockUnread(tx, reader)
    await muteGaps.deleteUpTo(tx, member, seenSeq)
    if (!receives) return readers.setUnread(tx, reader, { muted_seq: seq })
    const mutedSeq = muted_seq ?? seq
    if (seenSeq >= mutedSeq)
      return readers.setUnread(tx, reader, { muted_seq: null, seen_seq: Math.max(seenSeq, seq) })
    if (seq > mutedSeq) await muteGaps.insert(tx, member, { from: mutedSeq, to: seq })
    const gap = seq > mutedSeq ? { gaps_end_seq: seq } : {}
    await readers.setUnread(tx, reader, { muted_seq: null, ...gap })
  }

  async end(tx: Tx, group: GroupKey): Promise<void> {
    const { muteGaps, streams } = this.options
    await muteGaps.deleteOfGroup(tx, group)
    await streams.endSoon(tx, group)
  }
}

function readerIn({ appId, groupId }: GroupKey, userId: Int64): ReaderKey {
  return { appId, userId, lowId: groupId, highId: groupId }
}
