import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { ItemOutcome } from '../../item-outcome.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { HistoryStore } from '../log/history-store.js'
import type { KnownReader, PositionWriter, RequestedMove } from './position-writer.js'

export interface DeliveryAcknowledgementServiceOptions {
  readonly database: Database
  readonly finder: Pick<ConversationFinder, 'find' | 'requireReader'>
  readonly messageLog: Pick<HistoryStore, 'findUpTo' | 'findAtSeq'>
  readonly positions: Pick<PositionWriter, 'find' | 'moveAll'>
}

/** A conversation and the position up to which its messages have reached a device. */
export interface DeliveredUpTo {
  /** The other user. */
  readonly peerId: Int64
  readonly seq: Int64
}

/** Moves delivered positions for clients that confirm messages (rules E5, E6). */
export class DeliveryAcknowledgementService {
  constructor(private readonly options: DeliveryAcknowledgementServiceOptions) {}

  /**
   * Moves the positions in one transaction. A position beyond the end is the end, and one that was
   * passed changes nothing.
   * @returns an outcome for each, in their order; groups and unknown IDs are refused
   * @throws AppError unavailable, storage_failed; then nothing has moved
   */
  async acknowledge(user: UserKey, delivered: readonly DeliveredUpTo[]): Promise<ItemOutcome[]> {
    const found = await Promise.all(delivered.map((each) => this.#find(user, each)))
    await this.options.positions.moveAll(
      found.flatMap((each) => (each === null || each instanceof AppError ? [] : [each])),
    )
    return found.map((each) => (each instanceof AppError ? each : null))
  }

  /** @returns null: there is nothing to move */
  async #find(
    user: UserKey,
    { peerId, seq }: DeliveredUpTo,
  ): Promise<RequestedMove | AppError | null> {
    const { database, finder, positions } = this.options
    const named = await database.read((db) => finder.find(db, user, peerId))
    if (!named) return new AppError('conversation_not_found')
    if (named.isGroup) return new AppError('invalid_parameter', 'groups have no delivery receipts')
    const log = await database.read((db) => finder.requireReader(db, user, named))
    const reader = await positions.find(log)
    if (!reader) return null
    const { at, end } = reader.positions
    const position = Math.min(Number(seq), end)
    if (position <= at.delivered_seq) return null
    const messageId = await this.#messageAt(reader, position)
    return { reader, position: 'delivered_seq', to: { seq: position, messageId } }
  }

  /** Most clients confirm the end, which is found without a search. */
  async #messageAt({ conversation }: KnownReader, seq: number): Promise<number> {
    const { database, messageLog } = this.options
    return database.read(async (db) => {
      const newest = await messageLog.findUpTo(db, conversation, Number.MAX_SAFE_INTEGER)
      return newest.seq <= seq ? newest.messageId : messageLog.findAtSeq(db, conversation, seq)
    })
  }
}
