import { AppError, type Int64 } from '@hermod/protocol'
import { actorEvent, type Event } from '@hermod/protocol/events'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { type BatchObserver, BatchQueue } from '../../../lib/concurrency/batch-queue.js'
import type { UserKey } from '../../users/user-model.js'
import type { BroadcastSenders } from '../conversations/broadcast-senders.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import {
  type Conversation,
  type ConversationKey,
  isBroadcastStream,
  readersOf,
  toEventConversation,
} from '../model/conversation-model.js'
import { isFurther } from '../model/furthest-readers.js'
import type { ReaderPositions, ReceiptPosition } from '../readers/reader-positions.js'
import { readerOf, startOf } from '../readers/reader-statements.js'
import type { ListedPositions, ReaderStore } from '../readers/reader-store.js'
import type { CallerMoves, PositionEvent, PositionMove } from './moves/move-model.js'
import { movePositions } from './moves/move-positions.js'
import type { ReceiptRequestStore } from './receipt-request-store.js'

export interface PositionWriterOptions {
  readonly database: Database
  readonly readers: ReaderStore
  readonly receiptRequests: ReceiptRequestStore
  readonly broadcastSenders: BroadcastSenders
  readonly clock: Clock
  readonly maxBatchMoves: number
  readonly maxQueuedMoves: number
  readonly observer: BatchObserver
  /** Called after the commit of events of this app. */
  appended(appId: string): void
}

/** A user as reader of a conversation, with its positions. */
interface ConversationReader {
  readonly conversation: Conversation
  readonly userId: Int64
  readonly positions: ReaderPositions
}

/** A {@link ConversationReader} who may read the conversation. */
export interface KnownReader extends ConversationReader {
  readonly conversation: ReadableLog
}

/**
 * The new position and the message there, which the event names; null = the end of the conversation
 * and its last message.
 */
export type MoveTarget = { readonly seq: number; readonly messageId: number } | null

/** A move of a position of a known reader. */
export interface RequestedMove {
  readonly reader: KnownReader
  readonly position: ReceiptPosition
  readonly to: MoveTarget
}

const positionEvents = {
  read_seq: 'message.read',
  delivered_seq: 'message.delivered',
} as const satisfies Record<ReceiptPosition, PositionEvent['kind']>

/** Moves per step of reading everything, so that sends do not wait long. */
const movesPerStep = 100

/**
 * Moves read and delivered positions for all callers in batches (rules E5, E6). A move resolves
 * when it is durable.
 */
export class PositionWriter {
  readonly #queue: BatchQueue<CallerMoves, boolean>

  constructor(private readonly options: PositionWriterOptions) {
    const { maxBatchMoves, maxQueuedMoves, observer } = options
    this.#queue = new BatchQueue({
      sizeOf: (each) => Math.min(countMoves(each), maxBatchMoves),
      maxBatchSize: maxBatchMoves,
      maxQueuedSize: maxQueuedMoves,
      maxBatches: options.database.dialect.concurrentBatches,
      run: (callers) => this.#commit(callers),
      full: () => new AppError('unavailable', 'too many positions are waiting'),
      isErrorOfOne: (error) => !(error instanceof AppError),
      observer,
    })
  }

  /** Waiting moves and their receipts. */
  get queuedMoves(): number {
    return this.#queue.queuedSize
  }

  /** Resolves when all requested moves are durable. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  /** @returns null when there is no such conversation, or the sender has no broadcast for the user */
  async find(conversation: ReadableLog): Promise<KnownReader | null> {
    const { database, readers } = this.options
    const positions = await database.read((db) => readers.find(db, conversation))
    return positions && { conversation, userId: conversation.userId, positions }
  }

  /**
   * Moves a position forward and notifies the parties of a direct conversation; in a group the
   * member's own devices and, where read_ack is on, the senders who requested receipts
   * (groupMemberList); for broadcasts the own devices. Skips positions that are there already.
   * @throws AppError unavailable when too many moves wait, storage_failed
   */
  async move(reader: KnownReader, position: ReceiptPosition, to: MoveTarget): Promise<void> {
    const { at, end } = reader.positions
    if ((to?.seq ?? end) <= at[position]) return
    const move = await this.#moveOf(reader, position, to)
    await this.#queue.add({ moves: [move], announcement: null })
  }

  /**
   * Makes moves of one caller in one transaction, as {@link move} makes one.
   * @throws as {@link move}; then none was made
   */
  async moveAll(moves: readonly RequestedMove[]): Promise<void> {
    if (moves.length === 0) return
    const prepared = moves.map(({ reader, position, to }) => this.#moveOf(reader, position, to))
    await this.#queue.add({ moves: await Promise.all(prepared), announcement: null })
  }

  /**
   * Reads all conversations of a user to their ends, in steps. Notifies as {@link move} does, for
   * each position that moves, after one event that announces them all.
   * @throws as {@link move}; then some conversations may have been read
   */
  async readAll(user: UserKey): Promise<void> {
    const { database, readers, broadcastSenders } = this.options
    const { userId } = user
    const hasBroadcasts = (await broadcastSenders.find(user.appId)).size > 0
    let isAnnounced = false
    let after: ConversationKey | null = null
    for (;;) {
      const page = { after, limit: movesPerStep, hasBroadcasts }
      const listed: ListedPositions[] = await database.read((db) =>
        readers.listNotRead(db, user, page),
      )
      const moves = await Promise.all(
        listed.map((each) => this.#moveOf({ ...each, userId }, 'read_seq', null)),
      )
      const announcement = isAnnounced ? null : readAllRow(user)
      if (moves.length > 0 && (await this.#queue.add({ moves, announcement }))) isAnnounced = true
      if (listed.length < movesPerStep) return
      after = listed.at(-1)?.conversation ?? null
    }
  }

  /**
   * Reads the requests of receipts before the procedure: none is added at or below a present
   * position, and the procedure skips those already answered.
   */
  async #moveOf(
    { conversation, userId, positions }: ConversationReader,
    position: ReceiptPosition,
    to: MoveTarget,
  ): Promise<PositionMove> {
    const { database, receiptRequests } = this.options
    const { at, end, lastMessageId, group } = positions
    const { seq, messageId } = to ?? { seq: end, messageId: lastMessageId }
    const { appId, lowId } = conversation
    const isStream = isBroadcastStream(conversation)
    const isRead = position === 'read_seq'
    const from = at[position]
    // A group and the broadcasts of a sender may have as many readers as there are users.
    const userIds = conversation.isGroup || isStream ? [userId] : readersOf(conversation)
    const range = { appId, groupId: lowId, userId, from, to: seq }
    return {
      reader: readerOf(conversation, userId),
      position,
      seq,
      from,
      start: isStream ? startOf(positions) : null,
      isFurther: isRead && group !== null && isFurther(group.furthest, userId, seq),
      receipts:
        isRead && group?.hasReadAck
          ? await database.read((db) => receiptRequests.listBetween(db, range))
          : [],
      event: {
        kind: positionEvents[position],
        payload: {
          actor_id: userId,
          user_ids: [...userIds],
          conversation: toEventConversation(conversation),
          msg_id: messageId,
          seq,
        },
      },
    }
  }

  async #commit(callers: readonly CallerMoves[]): Promise<readonly boolean[]> {
    const { database, clock, appended } = this.options
    const moved = await database.procedure(movePositions, { callers, now: clock.now() }, null)
    const successful = callers.filter((_, index) => moved[index])
    const appIds = successful.flatMap(({ moves }) => moves[0]?.reader.appId ?? [])
    for (const appId of new Set(appIds)) appended(appId)
    return moved
  }
}

function readAllRow({ appId, userId }: UserKey) {
  const { kind, payload }: Event = actorEvent('message.read_all', {
    appId,
    actorId: userId,
    userIds: [userId],
  })
  return { appId, kind, payload: JSON.stringify(payload) }
}

function countMoves({ moves }: CallerMoves): number {
  return moves.reduce((sum, { receipts }) => sum + 1 + receipts.length, 0)
}
