import type { Queryable } from '../../../db/database.js'
import { isConversation } from '../conversations/conversation-sql.js'
import type { ConversationKey } from '../model/conversation-model.js'
import { changedFields, fieldsOf } from '../model/message-fields.js'
import type { HistoryMessage } from '../model/message-model.js'

/** UTF-16 units of the texts of open streams in one page; more messages come without their text. */
const maxPageUnits = 131_072
/** The cost of reading a piece in such units; a stream may have thousands of short and empty ones. */
const unitsPerChunk = 64

/**
 * Adds the text so far to messages of one conversation that are being written (rule E19). The text
 * is for answers; events have none.
 * @param messages in the order of the page; texts are added to the newest first
 */
export async function withOpenStreams(
  db: Queryable,
  conversation: ConversationKey,
  messages: HistoryMessage[],
): Promise<HistoryMessage[]> {
  if (!messages.some(isOpen)) return messages
  const newestFirst = messages.filter(isOpen).sort((a, b) => b.messageId - a.messageId)
  const filled = new Map<number, HistoryMessage>()
  let units = 0
  for (const message of newestFirst) {
    if (units >= maxPageUnits) break
    const chunks = await db
      .selectFrom('stream_chunks')
      .select(['chunk_index', 'content'])
      .where(isConversation(conversation))
      .where('msg_id', '=', message.messageId)
      .orderBy('chunk_index')
      .execute()
    const text = chunks.map(({ content }) => content).join('')
    units += text.length + chunks.length * unitsPerChunk
    filled.set(message.messageId, withText(message, (chunks.at(-1)?.chunk_index ?? 0) + 1, text))
  }
  return messages.map((message) => filled.get(message.messageId) ?? message)
}

/** A text test first: nearly all messages have no such field. */
function isOpen({ fields }: HistoryMessage): boolean {
  return fields?.includes('"stream"') === true && fieldsOf({ fields }).stream?.state === 'open'
}

function withText(message: HistoryMessage, nextIndex: number, text: string): HistoryMessage {
  const { stream } = fieldsOf(message)
  if (!stream) return message
  const fields = changedFields(message, { stream: { ...stream, next_index: nextIndex, text } })
  return { ...message, fields }
}
