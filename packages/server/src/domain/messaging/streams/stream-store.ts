import type { Int64 } from '@hermod/protocol'
import type { Queryable, Tx } from '../../../db/database.js'
import { camelCase } from '../../../db/columns.js'
import { sql } from '../../../db/kysely.js'
import { lockNoKeyUpdate } from '../../../db/locking.js'
import type { UserKey } from '../../users/user-model.js'
import { isConversation } from '../conversations/conversation-sql.js'
import type { Conversation } from '../model/conversation-model.js'
import { type Stream, type StreamKey, streamState } from './stream-model.js'
import { streamColumns } from './stream-statements.js'

const selected = camelCase(streamColumns)
const dueColumns = camelCase([
  'app_id',
  'low_id',
  'high_id',
  'msg_id',
  'is_group',
  'state',
  'started_at',
  'appended_at',
])
const chunkKey = ['app_id', 'low_id', 'high_id', 'msg_id', 'chunk_index'] as const

/** A stream that the upkeep looks at. */
export interface DueStream extends StreamKey {
  readonly isGroup: boolean
  readonly state: number
  readonly startedAt: number
  readonly appendedAt: number
}

/** The streams of messages and their text (rule E19). */
export class StreamStore {
  /** Locks a stream. @returns null when the message is none */
  async lock(tx: Tx, key: StreamKey): Promise<Stream | null> {
    const found = tx.selectFrom('message_streams').select(selected).where(isStream(key))
    return (await lockNoKeyUpdate(tx, found).executeTakeFirst()) ?? null
  }

  /** Returns the text so far. */
  async text(db: Queryable, key: StreamKey): Promise<string> {
    const chunks = await db
      .selectFrom('stream_chunks')
      .select('content')
      .where(isStream(key))
      .orderBy('chunk_index')
      .execute()
    return chunks.map(({ content }) => content).join('')
  }

  /** Counts the open streams of a sender. */
  async countOpen(db: Queryable, { appId, userId }: UserKey): Promise<number> {
    const row = await db
      .selectFrom('message_streams')
      .select(({ fn }) => fn.countAll<number>().as('open'))
      .where('app_id', '=', appId)
      .where('sender_id', '=', userId)
      .where('state', '=', sql.lit(streamState.open))
      .executeTakeFirstOrThrow()
    return Number(row.open)
  }

  /** Ends a locked stream. Its text is swept from `due` on. */
  async end(
    tx: Tx,
    key: StreamKey,
    { nextIndex, length, bytes, lastHash }: Stream,
    { state, due }: { readonly state: number; readonly due: number },
  ): Promise<void> {
    await tx
      .updateTable('message_streams')
      .set({ state, next_index: nextIndex, length, bytes, last_hash: lastHash, due_at: due })
      .where(isStream(key))
      .execute()
  }

  /** Ends the stream of a message that is gone; it may be none. */
  async endOfGone(tx: Tx, key: StreamKey): Promise<void> {
    await tx
      .updateTable('message_streams')
      .set({ state: streamState.gone, due_at: 0 })
      .where(isStream(key))
      .execute()
  }

  /** Notes that a reader asks to end a stream. @returns false when it is not open, or was asked before */
  async cancel(tx: Tx, key: StreamKey): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('message_streams')
      .set({ is_cancelled: 1 })
      .where(isStream(key))
      .where('state', '=', sql.lit(streamState.open))
      .where('is_cancelled', '=', 0)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** Makes the upkeep end the open streams of a group soon. */
  async endSoon(tx: Tx, { appId, groupId }: { appId: string; groupId: Int64 }): Promise<void> {
    await tx
      .updateTable('message_streams')
      .set({ appended_at: 0, due_at: 0 })
      .where(isConversation({ appId, lowId: groupId, highId: groupId }))
      .where('state', '=', sql.lit(streamState.open))
      .execute()
  }

  /** Makes the upkeep end the open streams of a deleted user soon; messages stay. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .updateTable('message_streams')
      .set({ appended_at: 0, due_at: 0 })
      .where('app_id', '=', appId)
      .where('sender_id', '=', userId)
      .where('state', '=', sql.lit(streamState.open))
      .execute()
  }

  /** Lists streams that are due, the longest due first. */
  async listDue(db: Queryable, now: number, limit: number): Promise<DueStream[]> {
    const rows = await db
      .selectFrom('message_streams')
      .select(dueColumns)
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .limit(limit)
      .execute()
    return rows.map(toDueStream)
  }

  /** Lists streams of a sender, in no particular order. */
  async listOfSender(
    db: Queryable,
    { appId, userId }: UserKey,
    limit: number,
  ): Promise<DueStream[]> {
    const rows = await db
      .selectFrom('message_streams')
      .select(dueColumns)
      .where('app_id', '=', appId)
      .where('sender_id', '=', userId)
      .limit(limit)
      .execute()
    return rows.map(toDueStream)
  }

  /** Sets when the upkeep looks at a stream again. */
  async setDue(tx: Tx, key: StreamKey, due: number): Promise<void> {
    await tx.updateTable('message_streams').set({ due_at: due }).where(isStream(key)).execute()
  }

  /**
   * Deletes the first chunks of a stream.
   * @returns the number of deleted chunks
   */
  async deleteChunks(tx: Tx, key: StreamKey, limit: number): Promise<number> {
    const first = tx
      .selectFrom('stream_chunks')
      .select([...chunkKey])
      .where(isStream(key))
      .orderBy('chunk_index')
      .limit(limit)
    const { numDeletedRows } = await tx
      .deleteFrom('stream_chunks')
      // By the whole key: PostgreSQL would compare each row with each in a table without statistics.
      .where((eb) => eb(eb.refTuple(...chunkKey), 'in', first.$asTuple(...chunkKey)))
      .executeTakeFirst()
    return Number(numDeletedRows)
  }

  /** Forgets a stream without chunks; a repeat of its last append is then not recognized. */
  async delete(tx: Tx, key: StreamKey): Promise<void> {
    await tx.deleteFrom('message_streams').where(isStream(key)).execute()
  }
}

/** Returns the key of the stream of a message. */
export function streamOf(
  { appId, lowId, highId }: Pick<Conversation, 'appId' | 'lowId' | 'highId'>,
  messageId: Int64,
): StreamKey {
  return { appId, lowId, highId, messageId: Number(messageId) }
}

function toDueStream({
  msgId,
  isGroup,
  ...row
}: Omit<DueStream, 'messageId' | 'isGroup'> & {
  readonly msgId: number
  readonly isGroup: number
}): DueStream {
  return { ...row, messageId: msgId, isGroup: isGroup === 1 }
}

function isStream(key: StreamKey) {
  return sql<boolean>`${isConversation(key)} and msg_id = ${key.messageId}`
}
