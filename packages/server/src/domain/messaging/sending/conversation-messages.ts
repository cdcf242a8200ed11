/**
 * The messages of a batch by conversation, and the rows that follow from them. Loaded by the
 * writer's thread too.
 */
import type { Int64 } from '@hermod/protocol'
import { chunksOf } from '../../../lib/chunks.js'
import { compare } from '../../../lib/compare.js'
import { groupBy } from '../../../lib/group-by.js'
import type { NewRow } from '../../../outbox/outbox-statements.js'
import { systemUserId } from '../../users/system-user.js'
import {
  type AppendedMessages,
  advanceRow,
  type LastSenders,
} from '../conversations/conversation-statements.js'
import { type ConversationKey, compareConversations } from '../model/conversation-model.js'
import { type MessageRow, rowValue } from '../model/message-model.js'
import { encodeRanges, type MessageRange } from '../model/message-ranges.js'
import { advancedReaderRow, readerOf } from '../readers/reader-statements.js'
import type { PlannedSend } from './claims.js'

/** The messages of a batch to one conversation, at least one. */
export interface ConversationMessages {
  readonly conversation: ConversationKey
  readonly isGroup: boolean
  readonly rows: MessageRow[]
  /** The edits and recalls in the conversation before these messages, once their positions are taken. */
  alterations: number
  /** Messages with a request for read receipts, and the members who are asked. */
  readonly receipts: { readonly row: MessageRow; readonly memberIds: string }[]
}

/**
 * Sorts messages by conversation, in the order in which all transactions lock conversations. The
 * messages of each conversation are in the order of the batch.
 */
export function byConversation(sends: readonly PlannedSend[]): ConversationMessages[] {
  const messages = sends.flatMap(({ rows, groups }) =>
    rows.map((row, index) => ({
      row,
      conversation: rowValue.conversation(row),
      isGroup: groups !== undefined,
      memberIds: groups?.[index],
    })),
  )
  messages.sort((a, b) => compareConversations(a.conversation, b.conversation))
  const found: ConversationMessages[] = []
  for (const { row, conversation, isGroup, memberIds } of messages) {
    const last = found.at(-1)
    if (last && compareConversations(last.conversation, conversation) === 0) last.rows.push(row)
    else found.push({ conversation, isGroup, rows: [row], alterations: 0, receipts: [] })
    if (memberIds) found.at(-1)?.receipts.push({ row, memberIds })
  }
  return found
}

/** Returns the ID of the oldest of the messages. */
export function firstIdOf({ rows }: ConversationMessages): number {
  return rowValue.messageId(rows[0] as MessageRow)
}

/** Returns the ID of the newest of the messages. */
export function lastIdOf({ rows }: ConversationMessages): number {
  return rowValue.messageId(rows.at(-1) as MessageRow)
}

/** The messages of a batch are written at the same time. */
export function timeOfRows({ rows }: ConversationMessages): number {
  return rowValue.sentAt(rows[0] as MessageRow)
}

/** Returns the row that takes the positions of the messages. */
export function conversationRow(messages: ConversationMessages): unknown[] {
  return advanceRow(appendedOf(messages), lastSendersOf(messages))
}

/** The system is a party of its direct conversations, and no reader of groups. */
function lastSendersOf({ rows, isGroup }: ConversationMessages): LastSenders {
  const senders = rows.map(readingSender)
  const isReader = (id: Int64 | null): id is Int64 =>
    id !== null && !(isGroup && id === systemUserId)
  const senderId = senders.findLast(isReader)
  if (senderId === undefined) return { senderId: systemUserId, last: 0, othersLast: 0 }
  return {
    senderId,
    last: senders.lastIndexOf(senderId) + 1,
    othersLast: senders.findLastIndex((id) => isReader(id) && id !== senderId) + 1,
  }
}

/**
 * Returns the positions of members who have read their own messages by sending them (rule E5), in
 * the order in which all transactions lock readers.
 */
export function senderRows({ conversation, rows }: ConversationMessages): unknown[][] {
  const positions = new Map<Int64, number>()
  for (const row of rows) {
    const userId = readingSender(row)
    if (userId !== null && userId !== systemUserId) positions.set(userId, rowValue.seq(row))
  }
  return [...positions]
    .sort(([a], [b]) => compare(a, b))
    .map(([userId, seq]) => advancedReaderRow(readerOf(conversation, userId), seq))
}

/** Notifications in users' names, which move no positions. */
export function notificationsIn({ rows }: ConversationMessages): MessageRow[] {
  return rows.filter(
    (row) => rowValue.isNotification(row) && rowValue.senderId(row) !== systemUserId,
  )
}

/** Conversations in one outbox row. The row stays small enough that both databases store it in one piece. */
const conversationsPerRow = 27

/** The conversations of one app whose messages one outbox row names. */
interface RowContent {
  readonly appId: string
  readonly conversations: readonly ConversationMessages[]
}

/** The content of the outbox rows of a batch, in their order. */
export function rowContents(conversations: readonly ConversationMessages[]): RowContent[] {
  const byApp = groupBy(conversations, ({ conversation }) => conversation.appId)
  return [...byApp].flatMap(([appId, ofApp]) =>
    chunksOf(ofApp, conversationsPerRow).map((chunk) => ({ appId, conversations: chunk })),
  )
}

/** Returns the outbox row of stored messages, which names them as ranges of IDs. */
export function outboxRow({ appId, conversations }: RowContent): NewRow {
  const ranges = conversations.map(rangeOf)
  return {
    appId,
    kind: 'message.stored',
    payload: encodeRanges(ranges),
    messageIds: {
      first: Math.min(...ranges.map(({ firstId }) => firstId)),
      last: Math.max(...ranges.map(({ lastId }) => lastId)),
    },
  }
}

/** The range holds no other messages, because the row of the conversation is locked. */
function rangeOf(messages: ConversationMessages): MessageRange {
  const { conversation, isGroup, rows, alterations } = messages
  const firstSeq = rowValue.seq(rows[0] as MessageRow)
  const { appId, lowId, highId } = conversation
  return {
    conversation: { appId, lowId, highId, isGroup },
    firstId: firstIdOf(messages),
    lastId: lastIdOf(messages),
    count: rows.length,
    firstSeq,
    firstChange: firstSeq + alterations,
  }
}

function appendedOf(messages: ConversationMessages): AppendedMessages {
  const { conversation, rows } = messages
  return {
    conversation,
    count: rows.length,
    firstId: firstIdOf(messages),
    sentAt: timeOfRows(messages),
  }
}

/** The user who has read a message by sending it; null for a notification (rule E5). */
function readingSender(row: MessageRow): Int64 | null {
  return rowValue.isNotification(row) ? null : rowValue.senderId(row)
}
