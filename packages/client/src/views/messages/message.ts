import type { Attachment, Message, MessageStatus } from '../../api.js'
import type { LogRecord, MessageContent, MessageRecord, UnsentRecord } from '../../model/records.js'

/** The key of an own message, from the moment it is written to the end of its life. */
export function keyOfTransaction(transactionId: number): string {
  return `t${transactionId}`
}

/** Returns the transaction ID of the key of an own message; undefined: it is the key of another one. */
export function transactionOf(key: string): number | undefined {
  const id = /^t(\d+)$/.exec(key)?.[1]
  return id === undefined ? undefined : Number(id)
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
    key:
      isOwn && record.transactionId !== undefined
        ? keyOfTransaction(record.transactionId)
        : `${record.log}/${record.msgId}`,
    id: record.msgId,
    conversationId: log.conversationId,
    senderId: record.senderId,
    isOwn,
    ...contentOf(record),
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
    conversationId: entry.conversationId,
    senderId: me,
    isOwn: true,
    ...contentOf(entry),
    isSystem: false,
    isBroadcast: false,
    timestamp: entry.createdAt,
    isEdited: false,
    status: state === 'failed' || state === 'unknown' || state === 'sent' ? state : 'sending',
    ...(state === 'failed' && entry.failure && { failure: entry.failure }),
    ...(file && { file: file.blob, upload: upload ?? { sent, total } }),
  }
}

function contentOf({ contentType, content, attachment, config, ext }: MessageContent) {
  const parsed = parseAttachment(attachment)
  return {
    contentType,
    text: content,
    ...(parsed && { attachment: parsed }),
    ext,
    raw: { attachment, config },
  }
}

function parseAttachment(text: string): Attachment | undefined {
  if (text === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const { dName, fLen } = value as Record<string, unknown>
    const read: Record<string, unknown> = { name: dName, size: fLen, ...value }
    // Other users write it: what an app shows without a check must have the type of the interface.
    for (const [member, isRight] of Object.entries(attachmentMembers))
      if (!isRight(read[member])) delete read[member]
    return read
  } catch {
    return undefined
  }
}

const isText = (value: unknown) => typeof value === 'string'
const isAmount = (value: unknown) => Number.isFinite(value) && (value as number) >= 0
const attachmentMembers = {
  url: isText,
  name: isText,
  size: isAmount,
  width: isAmount,
  height: isAmount,
  duration: isAmount,
}
