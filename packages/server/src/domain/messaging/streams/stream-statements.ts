/** Bulk statements of streams. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { camelCaseText } from '../../../db/columns.js'
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import { compare } from '../../../lib/compare.js'
import { compareConversations } from '../model/conversation-model.js'
import { type MessageRow, rowValue } from '../model/message-model.js'
import { type Chunk, type Stream, type StreamKey, streamState } from './stream-model.js'

/** The time until the upkeep looks at a new stream; appends do not move it. */
const firstLookMs = 5_000

const streamKey = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
  msg_id: 'bigint',
} as const

/** A row of {@link lockStreams}. */
export const streamKeyRow = rowOf(streamKey, ({ appId, lowId, highId, messageId }: StreamKey) => ({
  app_id: appId,
  low_id: lowId,
  high_id: highId,
  msg_id: messageId,
}))

/** The order in which all transactions lock streams. */
export function compareStreams(a: StreamKey, b: StreamKey): number {
  return compareConversations(a, b) || compare(a.messageId, b.messageId)
}

const newColumns = {
  ...streamKey,
  sender_id: 'bigint',
  is_group: 'smallint',
  state: 'smallint',
  next_index: 'bigint',
  length: 'bigint',
  bytes: 'bigint',
  last_hash: 'text',
  rate_at: 'bigint',
  started_at: 'bigint',
  appended_at: 'bigint',
  due_at: 'bigint',
} as const

/** Begins the streams of new messages. */
export const insertStreams: BulkInsert = { table: 'message_streams', columns: newColumns }

export const newStreamRow = rowOf(
  newColumns,
  (message: MessageRow, isGroup: boolean, now: number) => {
    const { appId, lowId, highId } = rowValue.conversation(message)
    return {
      app_id: appId,
      low_id: lowId,
      high_id: highId,
      msg_id: rowValue.messageId(message),
      sender_id: rowValue.senderId(message),
      is_group: isGroup ? 1 : 0,
      state: streamState.open,
      next_index: 1,
      length: 0,
      bytes: rowValue.otherBytes(message),
      last_hash: '',
      rate_at: now,
      started_at: now,
      appended_at: now,
      due_at: now + firstLookMs,
    }
  },
)

/** The columns of a stream beside its key. */
export const streamColumns = [
  'sender_id',
  'is_group',
  'state',
  'next_index',
  'length',
  'bytes',
  'last_hash',
  'rate_at',
  'is_cancelled',
  'started_at',
  'appended_at',
] as const

/** A stream with the columns of its key. */
export interface StreamRow extends Stream {
  readonly appId: string
  readonly lowId: Int64
  readonly highId: Int64
  readonly msgId: number
}

/** Locks streams. */
export const lockStreams: BulkSelect = {
  table: 'message_streams',
  keys: streamKey,
  columns: camelCaseText(['app_id', 'low_id', 'high_id', 'msg_id', ...streamColumns]),
  lock: 'for no key update',
}

const appendedColumns = {
  next_index: 'bigint',
  length: 'bigint',
  bytes: 'bigint',
  last_hash: 'text',
  rate_at: 'bigint',
  appended_at: 'bigint',
} as const

/** Moves locked streams to the state after appends. */
export const setAppended: BulkUpdate = {
  table: 'message_streams',
  set: appendedColumns,
  keys: streamKey,
}

export const appendedRow = rowOf(
  { ...appendedColumns, ...streamKey },
  ({ appId, lowId, highId, messageId }: StreamKey, stream: Stream) => ({
    next_index: stream.nextIndex,
    length: stream.length,
    bytes: stream.bytes,
    last_hash: stream.lastHash,
    rate_at: stream.rateAt,
    appended_at: stream.appendedAt,
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    msg_id: messageId,
  }),
)

const chunkColumns = {
  ...streamKey,
  chunk_index: 'bigint',
  sender_id: 'bigint',
  content: 'text',
} as const

/** Stores pieces of text. */
export const insertChunks: BulkInsert = { table: 'stream_chunks', columns: chunkColumns }

export const chunkRow = rowOf(
  chunkColumns,
  ({ appId, lowId, highId, messageId }: StreamKey, senderId: Int64, { index, text }: Chunk) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    msg_id: messageId,
    chunk_index: index,
    sender_id: senderId,
    content: text,
  }),
)
