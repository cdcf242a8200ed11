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
import { insertBroadcastPositions, insertedBroadcastRow } from './broadcast-position-statements.js'

/** The positions of a user in the broadcasts of a sender. */
export interface BroadcastPositions extends ReaderPositions {
  readonly senderId: Int64
  /** The seen position: messages up to it are not unread. */
  readonly seen: number
  /** Broadcasts up to and including this one precede the user's registration. */
  readonly afterId: number
  /** The last broadcast that the stream ever held. */
  readonly lastMessageId: number
}

interface StreamPositionsRow {
  readonly sender_id: Int64
  readonly seq: number
  readonly last_msg_id: number
  readonly broadcasts_after: number
  readonly seen_seq: number
  /** null: no position was ever moved. */
  readonly read_seq: number | null
  readonly delivered_seq: number | null
}

const columns = [
  'c.high_id as sender_id',
  'c.seq',
  'c.last_msg_id',
  'u.broadcasts_after',
  seenInStream.as('seen_seq'),
  'b.read_seq',
  'b.delivered_seq',
] as const

/** The positions of users in broadcast streams (decision page 028). */
export class BroadcastPositionStore {
  readonly #database: Database
  readonly #find
  readonly #listAll
  readonly #holder

  constructor(database: Database) {
    this.#database = database
    this.#find = database.prepared<BroadcastReader, StreamPositionsRow>((db, param) =>
      streamsOf(db, param).select(columns).where('c.high_id', '=', param('senderId')),
    )
    this.#listAll = database.prepared<UserKey, StreamPositionsRow>((db, param) =>
      streamsOf(db, param).select(columns).where('c.high_id', '<>', param('userId')),
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

  /** @returns null when the sender has no broadcast for the user */
  async find(db: Queryable, reader: BroadcastReader): Promise<BroadcastPositions | null> {
    const row = await this.#find.first(db, reader)
    return row && toBroadcastPositions(row)
  }

  /** Lists positions in streams that the user has not read to the end, in no particular order and without the user's own stream. */
  async listNotRead(db: Queryable, { appId, userId }: UserKey): Promise<BroadcastPositions[]> {
    const rows = await this.#listAll.all(db, { appId, userId })
    return rows.map(toBroadcastPositions).filter(({ at, end }) => end > at.read_seq)
  }

  /** Finds the sender of a broadcast for the user, recalled or not; null when the message is none. */
  async findSender(
    db: Queryable,
    { appId, userId }: UserKey,
    messageId: Int64,
  ): Promise<Int64 | null> {
    return (await this.#holder.first(db, { appId, userId, messageId }))?.senderId ?? null
  }

  /** Hides the present broadcasts of a sender. @returns their end; null when there is none for the user */
  async hide(
    tx: Tx,
    reader: BroadcastReader,
  ): Promise<Pick<BroadcastPositions, 'end' | 'lastMessageId'> | null> {
    const positions = await this.find(tx, reader)
    if (!positions) return null
    const { end, lastMessageId } = positions
    await this.#database.bulk(tx, insertBroadcastPositions, [insertedBroadcastRow(reader, end)])
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
    return positions
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('broadcast_marks')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}

/** Positions that were never moved are at the seen position, which begins at the user's registration. */
function toBroadcastPositions(row: StreamPositionsRow): BroadcastPositions {
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
