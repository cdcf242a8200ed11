import type { Message, MessageStatus } from '../../api.js'
import type { Failure } from '../../errors.js'
import type {
  LogRecord,
  MessageRecord,
  QuoteRecord,
  ReplyTo,
  UnsentRecord,
} from '../../model/records.js'
import type { Wish } from '../../model/wishes.js'
import { fromWire } from '../../wire/from-wire.js'
import { messageState } from './message-state.js'

/** The key of an own message, from the moment it is written to the end of its life. */
export function keyOfTransaction(transactionId: number): string {
  return `t${transactionId}`
}

/** Returns the transaction ID of the key of an own message; undefined: it is the key of another one. */
export function transactionOf(key: string): number | undefined {
  const id = /^t(\d+)$/.exec(key)?.[1]
  return id === undefined ? undefined : Number(id)
}

/** Returns the key of a stored message. */
export function keyOfStored(
  { log, msgId, senderId, transactionId }: MessageRecord,
  me: number,
): string {
  return senderId === me && transactionId !== undefined
    ? keyOfTransaction(transactionId)
    : `${log}/${msgId}`
}

/** Returns the last edit or recall of a message that is not confirmed. */
export function alterationOf(
  alterations: readonly UnsentRecord[],
  { msgId = 0, transactionId }: Pick<UnsentRecord, 'msgId'> & { readonly transactionId?: number },
): UnsentRecord | undefined {
  return alterations.findLast(({ alters }) =>
    alters?.msgId ? alters.msgId === msgId : alters?.of === transactionId,
  )
}

/** Returns the view of a stored message, with the edit or recall of it that is not confirmed. */
export function storedMessage(
  record: MessageRecord,
  log: Pick<LogRecord, 'kind' | 'conversationId'>,
  { me, status, alteration, quote, streamed = '', wishes = [] }: StoredMessageState,
): Message {
  const { content, stream } = fromWire.stream(record, streamed)
  const isOwn = record.senderId === me
  return {
    key: keyOfStored(record, me),
    id: record.msgId,
    seq: record.seq,
    conversationId: log.conversationId,
    senderId: record.senderId,
    isOwn,
    ...fromWire.content(content),
    ...(stream && { stream }),
    isSystem: record.isSystem,
    isBroadcast: log.kind === 'broadcast',
    timestamp: record.timestamp,
    // The end of a stream is an edit that nobody is told of.
    isEdited: record.editTimestamp !== 0 && !stream,
    editedAt: record.editTimestamp,
    ...replyOf(record, quote),
    ...messageState(record, wishes, me),
    status,
    ...alteredBy(alteration, record.editTimestamp),
  }
}

/**
 * Returns the members of a message that an alteration changes. The text of an edit is shown while
 * no other edit has come and the server has not refused it.
 */
function alteredBy(alteration: UnsentRecord | undefined, editTimestamp: number): Partial<Message> {
  if (!alteration?.alters) return {}
  const { alters, content: text, state, failure, transactionId } = alteration
  const { kind, seenEdit = editTimestamp } = alters
  const isShown = kind === 'edit' && state !== 'failed' && editTimestamp <= seenEdit
  return {
    ...(isShown && { text, isEdited: true }),
    pending: {
      ...{ kind, key: keyOfTransaction(transactionId) },
      status: state === 'failed' ? 'failed' : 'sending',
      ...(kind === 'edit' && { text }),
      ...(failure && { failure: failure as Failure }),
    },
  }
}

function replyOf(
  { replyTo }: { readonly replyTo?: ReplyTo },
  quote: QuoteRecord | undefined,
): Pick<Message, 'replyTo' | 'quote'> {
  if (!replyTo) return {}
  const { msgId: id, seq } = replyTo
  return { replyTo: { id, seq }, ...(quote && { quote: fromWire.quote(quote) }) }
}

/** The state of a stored message that is not in its record. */
export interface StoredMessageState {
  readonly me: number
  readonly status: MessageStatus
  /** The edit or recall that is not confirmed. */
  readonly alteration?: UnsentRecord | undefined
  /** The original of a reply, as far as it is known. */
  readonly quote?: QuoteRecord | undefined
  /** The text so far of one that is being written, where events have brought it. */
  readonly streamed?: string | undefined
  /** The wishes of the own user about it, which the server may not have yet. */
  readonly wishes?: readonly Wish[]
}

/** Returns how far a stored message has come. */
export function statusOf(
  { senderId, seq }: MessageRecord,
  log: Pick<LogRecord, 'peerReadSeq' | 'peerDeliveredSeq'> | undefined,
  me: number,
): MessageStatus {
  if (senderId !== me || log === undefined) return 'sent'
  if (seq <= log.peerReadSeq) return 'read'
  return seq <= log.peerDeliveredSeq ? 'delivered' : 'sent'
}

/** The state of an unsent message that is not in its record. */
export interface UnsentMessageState
  extends Pick<StoredMessageState, 'me' | 'alteration' | 'quote'> {
  readonly upload: Message['upload']
}

/** Returns the view of an unsent message. */
export function unsentMessage(
  entry: UnsentRecord,
  { me, upload, alteration, quote }: UnsentMessageState,
): Message {
  const { state, file } = entry
  const total = file?.blob.size ?? 0
  // The message waits to be sent when its file is uploaded.
  const sent = state === 'uploading' || state === 'failed' ? 0 : total
  return {
    key: keyOfTransaction(entry.transactionId),
    id: entry.msgId ?? 0,
    seq: 0,
    conversationId: entry.conversationId,
    senderId: me,
    isOwn: true,
    ...fromWire.content(entry),
    isSystem: false,
    isBroadcast: false,
    timestamp: entry.createdAt,
    isEdited: false,
    editedAt: 0,
    ...replyOf(entry, quote),
    reactions: [],
    status: state === 'failed' || state === 'unknown' || state === 'sent' ? state : 'sending',
    ...(state === 'failed' && entry.failure && { failure: entry.failure as Failure }),
    ...(file && { file: file.blob, upload: upload ?? { sent, total } }),
    ...alteredBy(alteration, 0),
  }
}
