import type { Message, MessageStatus } from '../../api.js'
import type { Failure } from '../../errors.js'
import type { LogRecord, MessageRecord, UnsentRecord } from '../../model/records.js'
import { fromWire } from '../../wire/from-wire.js'

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

/** Returns the view of a stored message. */
export function storedMessage(
  record: MessageRecord,
  log: Pick<LogRecord, 'kind' | 'conversationId'>,
  me: number,
  status: MessageStatus,
): Message {
  const isOwn = record.senderId === me
  return {
    key: keyOfStored(record, me),
    id: record.msgId,
    seq: record.seq,
    conversationId: log.conversationId,
    senderId: record.senderId,
    isOwn,
    ...fromWire.content(record),
    isSystem: record.isSystem,
    isBroadcast: log.kind === 'broadcast',
    timestamp: record.timestamp,
    isEdited: record.editTimestamp !== 0,
    status,
  }
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

/** Returns the view of an unsent message. */
export function unsentMessage(entry: UnsentRecord, me: number, upload: Message['upload']): Message {
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
    status: state === 'failed' || state === 'unknown' || state === 'sent' ? state : 'sending',
    ...(state === 'failed' && entry.failure && { failure: entry.failure as Failure }),
    ...(file && { file: file.blob, upload: upload ?? { sent, total } }),
  }
}
