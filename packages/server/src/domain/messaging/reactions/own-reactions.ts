import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { groupBy } from '../../../lib/group-by.js'
import type { Conversation } from '../model/conversation-model.js'
import type { AnsweredMessage, StoredMessage } from '../model/message-model.js'
import type { ReactionStore } from '../log/reaction-store.js'

/** Returns the reactions of the reader to a message; null = none. */
export type OwnReactionsOf = (
  conversation: Conversation,
  message: Pick<StoredMessage, 'messageId'>,
) => string[] | null

/** Reads the reactions of one user to the messages of an answer. */
export class OwnReactions {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: Pick<ReactionStore, 'listOwn'>
    },
  ) {}

  /**
   * Reads them after the messages, so they are never older.
   * @param userId null: the answer is to no user
   */
  async find(userId: Int64 | null, messages: readonly AnsweredMessage[]): Promise<OwnReactionsOf> {
    const { database, store } = this.options
    // The fields are JSON; most messages have none.
    const reacted = messages
      .filter(({ message }) => message.fields?.includes('"reactions"'))
      .map(({ conversation, message: { messageId } }) => ({ ...keyOf(conversation), messageId }))
    if (userId === null || reacted.length === 0) return () => null
    const rows = await database.read((db) => store.listOwn(db, userId, reacted))
    const keys = groupBy(rows, (row) => placeOf(row, row.messageId))
    return (conversation, { messageId }) =>
      keys.get(placeOf(conversation, messageId))?.map(({ key }) => key) ?? null
  }
}

/** The getters of a checked log are no own members. */
function keyOf({ appId, lowId, highId }: Conversation) {
  return { appId, lowId, highId }
}

function placeOf(
  { lowId, highId }: Pick<Conversation, 'lowId' | 'highId'>,
  messageId: number,
): string {
  return `${lowId}/${highId}/${messageId}`
}
