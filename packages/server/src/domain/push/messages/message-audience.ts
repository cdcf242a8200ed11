import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import type { MessageReceivers } from '../audience/audience-reader.js'
import type { RecipientPage } from '../audience/recipient.js'
import type { PushedMessage } from '../content/pushed-message.js'
import type { ReceiverStore } from './receiver-store.js'
import { memberInputs, recipientOf } from './rules/message-rules.js'

/** Lists the receivers of a message who have a device that is bound to a gateway, by user ID. */
export class MessageAudience implements MessageReceivers {
  constructor(
    private readonly options: { readonly database: Database; readonly store: ReceiverStore },
  ) {}

  /** @param after users with IDs above it */
  async page(
    appId: string,
    message: PushedMessage,
    after: Int64,
    limit: number,
  ): Promise<RecipientPage> {
    // The one receiver of a direct message has the deliveries from the start.
    if (message.kind === 'direct' || message.collapsedBy !== null)
      return { recipients: [], upTo: after, isLast: true }
    return message.kind === 'group'
      ? this.#members(appId, message, after, limit)
      : this.#everybody(appId, message, after, limit)
  }

  async countMembers(group: GroupKey): Promise<number> {
    const { database, store } = this.options
    return database.read((db) => store.countMembers(db, group))
  }

  async #members(
    appId: string,
    message: PushedMessage,
    after: Int64,
    limit: number,
  ): Promise<RecipientPage> {
    const { database, store } = this.options
    const group = { appId, groupId: message.targetId }
    const members = await database.read((db) => store.listMembers(db, group, after, limit))
    return {
      recipients: members
        .filter(({ userId }) => userId !== message.senderId)
        .map((member) => recipientOf(message, memberInputs(message, member))),
      upTo: members.at(-1)?.userId ?? after,
      isLast: members.length < limit,
    }
  }

  async #everybody(
    appId: string,
    message: PushedMessage,
    after: Int64,
    limit: number,
  ): Promise<RecipientPage> {
    const { database, store } = this.options
    const { senderId, msgId, seq } = message
    const readers = await database.read((db) =>
      store.listBroadcastReaders(db, { appId, senderId }, after, limit),
    )
    return {
      recipients: readers
        .filter(({ userId, afterId }) => userId !== senderId && afterId < msgId)
        .map(({ userId, seenSeq, isSenderMuted }) =>
          recipientOf(message, { userId, isSeen: seenSeq >= seq, isSenderMuted, membership: null }),
        ),
      upTo: readers.at(-1)?.userId ?? after,
      isLast: readers.length < limit,
    }
  }
}
