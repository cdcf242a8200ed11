/** Loaded by the writer's thread too, so it imports only types from the protocol. */
import type { Int64, messageStatus, streamKinds } from '@hermod/protocol'
import type { ColumnType } from '../../../db/dialect/dialect.js'
import { positionsOf, rowOf } from '../../../db/rows.js'
import type { Conversation, ConversationKey } from './conversation-model.js'
import type { MessageContent } from './message-content.js'

/** The kind of the text of a stream. */
export type StreamKind = (typeof streamKinds)[number]

/** The size of a message. */
export interface MessageSize {
  readonly messageId: number
  readonly seq: number
  /** Bytes of its texts. */
  readonly bytes: number
}

/** A message before the writer has assigned its ID and position. */
export interface MessageDraft extends MessageContent {
  readonly conversation: ConversationKey
  readonly senderId: Int64
  /** 0 when the sender's device is not known. */
  readonly senderDeviceSn: number
  readonly isSystem: boolean
  /** Absent: it is no reply. */
  readonly replyTo?: ReplyTo | undefined
  /** The kind of the stream that the message begins; absent: none. */
  readonly stream?: StreamKind | undefined
}

/** The message of the same conversation that a message replies to. */
export interface ReplyTo {
  readonly messageId: number
  readonly seq: number
}

/**
 * A row of the message log, in the order of {@link messageColumns}. Messages go to the writer in
 * this form because a flat list of values crosses between threads several times faster than objects
 * with names.
 */
export type MessageRow = unknown[]

export const messageColumns = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
  msg_id: 'bigint',
  seq: 'bigint',
  sender_id: 'bigint',
  sender_device_sn: 'integer',
  content_type: 'smallint',
  content: 'text',
  attachment: 'text',
  config: 'text',
  ext: 'text',
  is_system: 'smallint',
  sent_at: 'bigint',
  transaction_id: 'bigint',
  reply_to_id: 'bigint',
  reply_to_seq: 'bigint',
  fields: 'text',
} as const satisfies Record<string, ColumnType>

const at = positionsOf(messageColumns)

/** The write of a message to the log. */
export interface MessageWrite {
  readonly now: number
  readonly transactionId: Int64 | null
}

/**
 * A row with position 0, which means that none is assigned yet.
 * @param write.now the clock when the message is written
 * @param write.transactionId null = the send has none
 */
export const messageRow: (
  draft: MessageDraft,
  messageId: number,
  write: MessageWrite,
) => MessageRow = rowOf(
  messageColumns,
  (draft: MessageDraft, messageId: number, { now, transactionId }: MessageWrite) => ({
    app_id: draft.conversation.appId,
    low_id: draft.conversation.lowId,
    high_id: draft.conversation.highId,
    msg_id: messageId,
    seq: 0,
    sender_id: draft.senderId,
    sender_device_sn: draft.senderDeviceSn,
    content_type: draft.contentType,
    content: draft.content,
    attachment: draft.attachment,
    config: draft.config,
    ext: draft.ext,
    is_system: draft.isSystem ? 1 : 0,
    sent_at: now,
    transaction_id: transactionId,
    reply_to_id: draft.replyTo?.messageId ?? null,
    reply_to_seq: draft.replyTo?.seq ?? null,
    fields: draft.stream === undefined ? null : openFields(draft.stream),
  }),
)

export const rowValue = {
  conversation: (row: MessageRow): ConversationKey => ({
    appId: row[at.app_id] as string,
    lowId: row[at.low_id] as Int64,
    highId: row[at.high_id] as Int64,
  }),
  senderId: (row: MessageRow) => row[at.sender_id] as Int64,
  isNotification: (row: MessageRow) => row[at.is_system] === 1,
  messageId: (row: MessageRow) => row[at.msg_id] as number,
  setMessageId: (row: MessageRow, messageId: number) => {
    row[at.msg_id] = messageId
  },
  seq: (row: MessageRow) => row[at.seq] as number,
  setSeq: (row: MessageRow, seq: number) => {
    row[at.seq] = seq
  },
  setFields: (row: MessageRow, fields: string | null) => {
    row[at.fields] = fields
  },
  setReplyTo: (row: MessageRow, { messageId, seq }: ReplyTo) => {
    row[at.reply_to_id] = messageId
    row[at.reply_to_seq] = seq
  },
  sentAt: (row: MessageRow) => row[at.sent_at] as number,
  /** The message as the log stores it now that it has its numbers. */
  stored: (row: MessageRow): StoredMessage => ({
    messageId: row[at.msg_id] as number,
    seq: row[at.seq] as number,
    senderId: row[at.sender_id] as Int64,
    senderDeviceSn: row[at.sender_device_sn] as number,
    contentType: row[at.content_type] as number,
    content: row[at.content] as string,
    attachment: row[at.attachment] as string,
    config: row[at.config] as string,
    ext: row[at.ext] as string,
    isSystem: row[at.is_system] as number,
    sentAt: row[at.sent_at] as number,
    editedAt: 0,
    transactionId: transactionText(row[at.transaction_id] as Int64 | null),
    fields: row[at.fields] as string | null,
    replyToId: row[at.reply_to_id] as number | null,
    replyToSeq: row[at.reply_to_seq] as number | null,
  }),
  /** Tests whether the message begins a stream. */
  isStream: (row: MessageRow) =>
    row[at.fields] !== null && 'stream' in JSON.parse(row[at.fields] as string),
  /** Bytes of the texts that the text of a stream does not replace. */
  otherBytes: (row: MessageRow) =>
    [at.attachment, at.config, at.ext].reduce(
      (sum, column) => sum + Buffer.byteLength(row[column] as string),
      0,
    ),
} as const

/** The changeable fields of a message that begins a stream. */
function openFields(kind: StreamKind): string {
  return JSON.stringify({ stream: { kind, state: 'open' } })
}

function transactionText(transactionId: Int64 | null): string | null {
  return transactionId === null ? null : String(transactionId)
}

/** A message as the log stores it. */
export interface StoredMessage extends MessageContent {
  readonly messageId: number
  /** Position in the conversation. */
  readonly seq: number
  readonly senderId: Int64
  readonly senderDeviceSn: number
  /** 0 or 1 */
  readonly isSystem: number
  /** Milliseconds since 1970 (rule E3). */
  readonly sentAt: number
  /** 0 = never edited */
  readonly editedAt: number
  /** A text, since it may be any 64-bit integer; null = the send had none. */
  readonly transactionId: string | null
  /** The changeable fields as a JSON object; null = none */
  readonly fields: string | null
  /** The message that it replies to; null = none */
  readonly replyToId: number | null
  readonly replyToSeq: number | null
}

/** The status of a message: stored, delivered or read (rule E6). */
export type MessageStatus = (typeof messageStatus)[keyof typeof messageStatus & string]

/** A message as a page of history shows it. */
export interface HistoryMessage extends StoredMessage {
  readonly status: MessageStatus
}

/** A message of an answer, and its log. */
export interface AnsweredMessage {
  readonly conversation: Conversation
  readonly message: Pick<StoredMessage, 'messageId' | 'replyToId' | 'fields'>
}
