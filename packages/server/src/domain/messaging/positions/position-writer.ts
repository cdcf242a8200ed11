import { AppError, type Int64 } from '@hermod/protocol'
import { actorEvent, type Event } from '@hermod/protocol/events'
import type { Database } from '../../../db/database.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import { type BatchObserver, BatchQueue } from '../../../lib/concurrency/batch-queue.js'
import type { UserKey } from '../../users/user-model.js'
import type { BroadcastSenders } from '../conversations/broadcast-senders.js'
import type { ConversationListStore } from '../conversations/conversation-list-store.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import {
  broadcastStream,
  type Conversation,
  groupConversation,
  isBroadcastStream,
  type Party,
  partiesOf,
  readersOf,
  toEventConversation,
} from '../model/conversation-model.js'
import type { ReaderPositions, ReceiptPosition } from '../model/reader-positions.js'
import type { BroadcastPositionStore, BroadcastPositions } from './broadcast-position-store.js'
import type { MemberPositionStore, MemberPositions } from './member-position-store.js'
import { isFurther } from './moves/furthest-readers.js'
import type {
  BroadcastMove,
  CallerMoves,
  DirectMove,
  MemberMove,
  PositionEvent,
  PositionMove,
} from './moves/move-model.js'
import { movePositions } from './moves/move-positions.js'
import type { ReceiptRequestStore } from './receipt-request-store.js'

export interface PositionWriterOptions {
  readonly database: Database
  readonly store: ConversationStore
  readonly lists: ConversationListStore
  readonly memberPositions: MemberPositionStore
  readonly receiptRequests: ReceiptRequestStore
  readonly broadcastPositions: BroadcastPositionStore
  readonly broadcastSenders: BroadcastSenders
  readonly clock: Clock
  readonly maxBatchMoves: number
  readonly maxQueuedMoves: number
  readonly observer: BatchObserver
  /** Called after the commit of events of this app. */
  appended(appId: string): void
}

/** A user as reader of a conversation. */
interface ConversationReader {
  readonly conversation: Conversation
  readonly userId: Int64
}

/** A reader and its positions: a party of a direct conversation, a group member, or a user with the broadcasts of a sender. */
export type KnownReader = ConversationReader & { readonly conversation: ReadableLog } & (
    | { readonly kind: 'direct'; readonly party: Party; readonly positions: ReaderPositions }
    | { readonly kind: 'member'; readonly positions: MemberPositions }
    | { readonly kind: 'broadcast'; readonly positions: BroadcastPositions }
  )

/** The new position and the message there, which the event names; null = the end of the conversation and its last message. */
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

/** Moves read and delivered positions for all callers in batches (rules E5, E6). A move resolves when it is durable. */
export class PositionWriter {
  readonly #queue: BatchQueue<CallerMoves, boolean>

  constructor(private readonly options: PositionWriterOptions) {
    const { maxBatchMoves, maxQueuedMoves, observer } = options
    this.#queue = new BatchQueue({
      sizeOf: (each) => Math.min(sizeOf(each), maxBatchMoves),
      maxBatchSize: maxBatchMoves,
      maxQueuedSize: maxQueuedMoves,
      maxBatches: options.database.dialect.concurrentBatches,
      run: (callers) => this.#commit(callers),
      full: () => new AppError('unavailable', 'too many marks are waiting'),
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
    const { database, store, memberPositions, broadcastPositions } = this.options
    const { appId, userId, lowId, highId } = conversation
    if (conversation.isGroup) {
      const key = { appId, groupId: lowId, userId }
      const positions = await database.read((db) => memberPositions.find(db, key))
      return positions && { kind: 'member', conversation, userId, positions }
    }
    if (isBroadcastStream(conversation)) {
      const key = { appId, userId, senderId: highId }
      const positions = await database.read((db) => broadcastPositions.find(db, key))
      return positions && { kind: 'broadcast', conversation, userId, positions }
    }
    const [party] = partiesOf(conversation, userId)
    if (party === undefined) return null
    const positions = await database.read((db) => store.findPositions(db, conversation, party))
    return positions && { kind: 'direct', conversation, userId, party, positions }
  }

  /**
   * Moves a position forward and notifies the parties of a direct conversation; in a group the member's own devices and, where read_ack
   * is on, the senders who requested receipts (groupMemberList); for broadcasts the own devices. Skips positions that are there already.
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
   * Reads all conversations of a user to their ends, in steps: direct ones, then broadcasts, then groups. Notifies as {@link move} does,
   * for each position that moves, after one event that announces them all.
   * @throws as {@link move}; then some conversations may have been read
   */
  async readAll(user: UserKey): Promise<void> {
    const { database, lists, memberPositions, broadcastPositions, broadcastSenders } = this.options
    const { appId, userId } = user
    let isAnnounced = false
    const step = async (moves: readonly PositionMove[]) => {
      const announcement = isAnnounced ? null : readAllRow(user)
      if (moves.length > 0 && (await this.#queue.add({ moves, announcement }))) isAnnounced = true
    }
    const direct = await database.read((db) => lists.listNotRead(db, user))
    for (const chunk of chunksOf(direct, movesPerStep))
      await step(
        chunk.map(({ conversation, party }) =>
          directMove({ conversation, userId }, party, 'read_seq', null),
        ),
      )
    if ((await broadcastSenders.find(appId)).size > 0) {
      const streams = await database.read((db) => broadcastPositions.listNotRead(db, user))
      for (const chunk of chunksOf(streams, movesPerStep))
        await step(
          chunk.map((positions) => {
            const conversation = broadcastStream(appId, positions.senderId)
            return broadcastMove({ conversation, userId }, positions, 'read_seq', null)
          }),
        )
    }
    const page = { afterGroupId: 0 as Int64, limit: movesPerStep }
    for (;;) {
      const members = await database.read((db) => memberPositions.listNotRead(db, user, page))
      const moves = members.map((member) => {
        const reader = { conversation: groupConversation(appId, member.groupId), userId }
        return this.#memberMove(reader, member, 'read_seq', null)
      })
      await step(await Promise.all(moves))
      if (members.length < movesPerStep) return
      page.afterGroupId = members.at(-1)?.groupId ?? 0
    }
  }

  async #moveOf(
    reader: KnownReader,
    position: ReceiptPosition,
    to: MoveTarget,
  ): Promise<PositionMove> {
    switch (reader.kind) {
      case 'direct':
        return directMove(reader, reader.party, position, to)
      case 'member':
        return this.#memberMove(reader, reader.positions, position, to)
      case 'broadcast':
        return broadcastMove(reader, reader.positions, position, to)
    }
  }

  /** Reads the requests before the procedure: none is added at or below a present position, and the procedure skips those already answered. */
  async #memberMove(
    reader: ConversationReader,
    member: MemberPositions,
    position: ReceiptPosition,
    to: MoveTarget,
  ): Promise<MemberMove> {
    const { database, receiptRequests } = this.options
    const { conversation, userId } = reader
    const { appId, lowId: groupId } = conversation
    const { seq, messageId } = to ?? { seq: member.end, messageId: member.lastMessageId }
    const isRead = position === 'read_seq'
    const range = { appId, groupId, userId, from: member.at[position], to: seq }
    return {
      kind: 'member',
      conversation: conversationKeyOf(conversation),
      userId,
      position,
      seq,
      isFurther: isRead && isFurther(member, userId, seq),
      event: positionEvent(reader, position, [userId], { seq, messageId }),
      receipts:
        isRead && member.hasReadAck
          ? await database.read((db) => receiptRequests.listBetween(db, range))
          : [],
    }
  }

  async #commit(callers: readonly CallerMoves[]): Promise<readonly boolean[]> {
    const { database, clock, appended } = this.options
    const moved = await database.procedure(movePositions, { callers, now: clock.now() }, null)
    const successful = callers.filter((_, index) => moved[index])
    const appIds = successful.flatMap(({ moves }) => moves[0]?.conversation.appId ?? [])
    for (const appId of new Set(appIds)) appended(appId)
    return moved
  }
}

function directMove(
  reader: ConversationReader,
  party: Party,
  position: ReceiptPosition,
  to: MoveTarget,
): DirectMove {
  const { conversation } = reader
  return {
    kind: 'direct',
    conversation: conversationKeyOf(conversation),
    party,
    position,
    seq: to?.seq ?? null,
    event: positionEvent(reader, position, readersOf(conversation), to),
  }
}

/** Notifies the own devices only, since a broadcast may have as many readers as there are users. */
function broadcastMove(
  reader: ConversationReader,
  { end, seen, lastMessageId }: BroadcastPositions,
  position: ReceiptPosition,
  to: MoveTarget,
): BroadcastMove {
  const { conversation, userId } = reader
  const { seq, messageId } = to ?? { seq: end, messageId: lastMessageId }
  return {
    kind: 'broadcast',
    conversation: conversationKeyOf(conversation),
    userId,
    position,
    seq,
    seen,
    event: positionEvent(reader, position, [userId], { seq, messageId }),
  }
}

function positionEvent(
  { conversation, userId }: ConversationReader,
  position: ReceiptPosition,
  userIds: readonly Int64[],
  to: MoveTarget,
): PositionEvent {
  return {
    kind: positionEvents[position],
    payload: {
      actor_id: userId,
      user_ids: [...userIds],
      conversation: toEventConversation(conversation),
      msg_id: to?.messageId ?? 0,
      seq: to?.seq ?? 0,
    },
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

function conversationKeyOf({ appId, lowId, highId }: Conversation) {
  return { appId, lowId, highId }
}

function sizeOf({ moves }: CallerMoves): number {
  return moves.reduce(
    (sum, move) => sum + 1 + (move.kind === 'member' ? move.receipts.length : 0),
    0,
  )
}
