import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { greater } from '../../../db/expressions.js'
import { sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import {
  type BroadcastReader,
  seenInStream,
  streamsOf,
} from '../conversations/broadcast-streams.js'
import { ofConversation } from '../conversations/conversation-sql.js'
import type { ReaderPositions } from '../model/reader-positions.js'
import { addBroadcastMarks, addedBroadcastMarks } from './broadcast-mark-statements.js'

/** Where the marks of a user stand among the broadcasts of a sender, as far as they are for that user. */
export interface BroadcastMarks extends ReaderPositions {
  readonly senderId: Int64
  /** Nothing up to and including this position is unread. */
  readonly seen: number
  /** Broadcasts up to and including this one are from before the user's time. */
  readonly afterId: number
  /** The last broadcast that there ever was. */
  readonly lastMessageId: number
}

interface BroadcastMarksRow {
  readonly sender_id: Int64
  readonly seq: number
  readonly last_msg_id: number
  readonly broadcasts_after: number
  readonly seen_seq: number
  /** null: no mark was ever moved. */
  readonly read_seq: number | null
  readonly delivered_seq: number | null
}

const marksColumns = [
  'c.high_id as sender_id',
  'c.seq',
  'c.last_msg_id',
  'u.broadcasts_after',
  seenInStream.as('seen_seq'),
  'b.read_seq',
  'b.delivered_seq',
] as const

/** What users have read of broadcasts, and whose there are (decision page 028). */
export class BroadcastMarkStore {
  readonly #database: Database
  readonly #marks
  readonly #allMarks
  readonly #holder

  constructor(database: Database) {
    this.#database = database
    this.#marks = database.prepared<BroadcastReader, BroadcastMarksRow>((db, param) =>
      streamsOf(db, param).select(marksColumns).where('c.high_id', '=', param('senderId')),
    )
    this.#allMarks = database.prepared<UserKey, BroadcastMarksRow>((db, param) =>
      streamsOf(db, param).select(marksColumns).where('c.high_id', '<>', param('userId')),
    )
    this.#holder = database.prepared<UserKey & { messageId: Int64 }, { senderId: Int64 }>(
      (db, param) => {
        const isIn = (log: string) =>
          sql<boolean>`exists (select 1 from ${sql.table(log)} m where ${ofConversation('m')} and m.msg_id = ${param('messageId')})`
        return streamsOf(db, param)
          .select('c.high_id as senderId')
          .where('u.broadcasts_after', '<', param('messageId') as number)
          .where(({ or }) => or([isIn('messages'), isIn('recalled_messages')]))
      },
    )
  }

  /** Null when there is no broadcast of the sender for the user. */
  async find(db: Queryable, reader: BroadcastReader): Promise<BroadcastMarks | null> {
    const row = await this.#marks.first(db, reader)
    return row && toBroadcastMarks(row)
  }

  /** Of the streams that the user has not read to their ends, in no particular order; one's own are left out. */
  async listNotRead(db: Queryable, { appId, userId }: UserKey): Promise<BroadcastMarks[]> {
    const rows = await this.#allMarks.all(db, { appId, userId })
    return rows.map(toBroadcastMarks).filter(({ at, end }) => end > at.read_seq)
  }

  /** Who sent the broadcast, which may have been recalled; null when it is none that is for the user. */
  async findSender(
    db: Queryable,
    { appId, userId }: UserKey,
    messageId: Int64,
  ): Promise<Int64 | null> {
    return (await this.#holder.first(db, { appId, userId, messageId }))?.senderId ?? null
  }

  /** Hides what the sender has sent until now. @returns false when there is nothing for the user */
  async hide(tx: Tx, reader: BroadcastReader): Promise<boolean> {
    const marks = await this.find(tx, reader)
    if (!marks) return false
    await this.#database.bulk(tx, addBroadcastMarks, [addedBroadcastMarks(reader, marks.end)])
    const { end, lastMessageId } = marks
    await tx
      .updateTable('broadcast_marks')
      .set({
        seen_seq: greater('seen_seq', end),
        hidden_msg_id: greater('hidden_msg_id', lastMessageId),
      })
      .where('app_id', '=', reader.appId)
      .where('user_id', '=', reader.userId)
      .where('sender_id', '=', reader.senderId)
      .execute()
    return true
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('broadcast_marks')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}

/** Marks that were never moved stand where the user's time began. */
function toBroadcastMarks(row: BroadcastMarksRow): BroadcastMarks {
  return {
    senderId: row.sender_id,
    at: {
      read_seq: row.read_seq ?? row.seen_seq,
      delivered_seq: row.delivered_seq ?? row.seen_seq,
    },
    end: row.seq,
    seen: row.seen_seq,
    afterId: row.broadcasts_after,
    lastMessageId: row.last_msg_id,
  }
}
