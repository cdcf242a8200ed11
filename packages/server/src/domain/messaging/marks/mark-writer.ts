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
import type { BroadcastMarkStore, BroadcastMarks } from './broadcast-mark-store.js'
import { isFurther } from './furthest-readers.js'
import type { GroupMarkStore, MemberMarks } from './group-mark-store.js'
import {
  type BroadcastMove,
  type DirectMove,
  type GroupMove,
  type MarkEvent,
  type MarkMove,
  type MarkMoves,
  moveMarks,
} from './move-marks.js'
import type { ReceiptRequestStore } from './receipt-request-store.js'

export interface MarkWriterOptions {
  readonly database: Database
  readonly store: ConversationStore
  readonly lists: ConversationListStore
  readonly groupMarks: GroupMarkStore
  readonly receiptRequests: ReceiptRequestStore
  readonly broadcastMarks: BroadcastMarkStore
  readonly broadcastSenders: BroadcastSenders
  readonly clock: Clock
  readonly maxBatchMoves: number
  readonly maxQueuedMoves: number
  readonly observer: BatchObserver
  /** Called after the commit of events of this app. */
  appended(appId: string): void
}

/** Who reads which conversation. */
interface ConversationReader {
  readonly conversation: Conversation
  readonly userId: Int64
}

/** A party of a direct conversation, a member of a group, or a user with the broadcasts of a sender, and where the marks stand. */
export type KnownReader = ConversationReader &
  (
    | { readonly party: Party; readonly marks: ReaderPositions }
    | { readonly member: MemberMarks }
    | { readonly broadcasts: BroadcastMarks }
  )

/** Where a mark is to move, and what is told of it; null = to the end of the conversation, and its last message. */
export type MarkTarget = { readonly seq: number; readonly messageId: number } | null

const markEvents = {
  read_seq: 'message.read',
  delivered_seq: 'message.delivered',
} as const satisfies Record<ReceiptPosition, MarkEvent['kind']>

/** Reading everything moves so many marks together, so that nobody's sends wait long. */
const movesPerStep = 100

/** Moves the marks of conversations for all callers in batches (rules E5, E6). A move resolves when it is durable. */
export class MarkWriter {
  readonly #queue: BatchQueue<MarkMoves, boolean>

  constructor(private readonly options: MarkWriterOptions) {
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

  /** Moves that wait, with the receipts that they make. */
  get queuedMoves(): number {
    return this.#queue.queuedSize
  }

  /** Resolves when everything that was asked for is durable. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  /** @returns null when there is no such conversation, the user is no member, or no broadcast of the sender is for the user */
  async find(conversation: Conversation, userId: Int64): Promise<KnownReader | null> {
    const { database, store, groupMarks, broadcastMarks } = this.options
    if (conversation.isGroup) {
      const key = { appId: conversation.appId, groupId: conversation.lowId, userId }
      const member = await database.read((db) => groupMarks.find(db, key))
      return member && { conversation, userId, member }
    }
    if (isBroadcastStream(conversation)) {
      const { appId, highId: senderId } = conversation
      const broadcasts = await database.read((db) =>
        broadcastMarks.find(db, { appId, userId, senderId }),
      )
      return broadcasts && { conversation, userId, broadcasts }
    }
    const [party] = partiesOf(conversation, userId)
    if (party === undefined) return null
    const marks = await database.read((db) => store.findPositions(db, conversation, party))
    return marks && { conversation, userId, party, marks }
  }

  /**
   * Moves a mark forward and tells of it: the parties of a direct conversation, or the member's own devices and, where read_ack is on,
   * the senders who asked for it (groupMemberList). Of broadcasts only the own devices are told. A mark that is there already costs nothing.
   * @param isTold false: nobody is told; for broadcasts only
   * @throws AppError unavailable when too many marks wait, storage_failed
   */
  async move(
    reader: KnownReader,
    mark: ReceiptPosition,
    to: MarkTarget,
    { isTold = true }: { readonly isTold?: boolean } = {},
  ): Promise<void> {
    const { at, end } = marksOf(reader)
    if ((to?.seq ?? end) <= at[mark]) return
    const move =
      'broadcasts' in reader
        ? { ...broadcastMove(reader, reader.broadcasts, mark, to), isTold }
        : 'party' in reader
          ? directMove(reader, reader.party, mark, to)
          : await this.#groupMove(reader, reader.member, mark, to)
    await this.#queue.add({ moves: [move], announcement: null })
  }

  /**
   * Reads all conversations of a user to their ends: direct ones first, then broadcasts, then groups, some at a time. Tells the parties of direct
   * conversations and the senders who asked for it; the own devices that everything was read, once, before all else.
   * @throws as {@link move}; then some may have been read
   */
  async readAll(user: UserKey): Promise<void> {
    const { database, lists, groupMarks, broadcastMarks, broadcastSenders } = this.options
    const { appId, userId } = user
    let isTold = false
    const step = async (moves: readonly MarkMove[]) => {
      const announcement = isTold ? null : readAllRow(user)
      if (moves.length > 0 && (await this.#queue.add({ moves, announcement }))) isTold = true
    }
    const direct = await database.read((db) => lists.listNotRead(db, user))
    for (const chunk of chunksOf(direct, movesPerStep))
      await step(
        chunk.map(({ conversation, party }) =>
          directMove({ conversation, userId }, party, 'read_seq', null),
        ),
      )
    if ((await broadcastSenders.find(appId)).size > 0) {
      const streams = await database.read((db) => broadcastMarks.listNotRead(db, user))
      for (const chunk of chunksOf(streams, movesPerStep))
        await step(
          chunk.map((marks) => {
            const conversation = broadcastStream(appId, marks.senderId)
            const move = broadcastMove({ conversation, userId }, marks, 'read_seq', null)
            return { ...move, isTold: false }
          }),
        )
    }
    const page = { afterGroupId: 0 as Int64, limit: movesPerStep }
    for (;;) {
      const members = await database.read((db) => groupMarks.listNotRead(db, user, page))
      const moves = members.map((member) => {
        const reader = { conversation: groupConversation(appId, member.groupId), userId }
        return this.#groupMove(reader, member, 'read_seq', null)
      })
      await step((await Promise.all(moves)).map((move) => ({ ...move, isTold: false })))
      if (members.length < movesPerStep) return
      page.afterGroupId = members.at(-1)?.groupId ?? 0
    }
  }

  /** Receipts are looked up here: none is added any more up to a position that is there, and the procedure leaves out what was told. */
  async #groupMove(
    reader: ConversationReader,
    member: MemberMarks,
    mark: ReceiptPosition,
    to: MarkTarget,
  ): Promise<GroupMove> {
    const { database, receiptRequests } = this.options
    const { conversation, userId } = reader
    const { appId, lowId: groupId } = conversation
    const { seq, messageId } = to ?? { seq: member.end, messageId: member.lastMessageId }
    const isRead = mark === 'read_seq'
    const asked = { appId, groupId, userId, from: member.at[mark], to: seq }
    return {
      conversation: conversationKeyOf(conversation),
      userId,
      mark,
      seq,
      isFurther: isRead && isFurther(member, userId, seq),
      event: markEvent(reader, mark, [userId], messageId),
      isTold: true,
      receipts:
        isRead && member.hasReadAck
          ? await database.read((db) => receiptRequests.listBetween(db, asked))
          : [],
    }
  }

  async #commit(callers: readonly MarkMoves[]): Promise<readonly boolean[]> {
    const { database, clock, appended } = this.options
    const moved = await database.procedure(moveMarks, { callers, now: clock.now() }, null)
    const told = callers.filter((_, index) => moved[index])
    for (const appId of new Set(told.flatMap(({ moves }) => moves[0]?.conversation.appId ?? [])))
      appended(appId)
    return moved
  }
}

function directMove(
  reader: ConversationReader,
  party: Party,
  mark: ReceiptPosition,
  to: MarkTarget,
): DirectMove {
  const { conversation } = reader
  return {
    conversation: conversationKeyOf(conversation),
    party,
    mark,
    seq: to?.seq ?? null,
    event: markEvent(reader, mark, readersOf(conversation), to?.messageId ?? 0),
  }
}

/** Of the readers of a broadcast there may be as many as there are users, so only the own devices are told. */
function broadcastMove(
  reader: ConversationReader,
  { end, seen, lastMessageId }: BroadcastMarks,
  mark: ReceiptPosition,
  to: MarkTarget,
): BroadcastMove {
  const { conversation, userId } = reader
  const { seq, messageId } = to ?? { seq: end, messageId: lastMessageId }
  return {
    conversation: conversationKeyOf(conversation),
    userId,
    mark,
    seq,
    seen,
    event: markEvent(reader, mark, [userId], messageId),
    isTold: true,
  }
}

function marksOf(reader: KnownReader): ReaderPositions {
  if ('broadcasts' in reader) return reader.broadcasts
  return 'party' in reader ? reader.marks : reader.member
}

function markEvent(
  { conversation, userId }: ConversationReader,
  mark: ReceiptPosition,
  userIds: readonly Int64[],
  messageId: number,
): MarkEvent {
  return {
    kind: markEvents[mark],
    payload: {
      actor_id: userId,
      user_ids: [...userIds],
      conversation: toEventConversation(conversation),
      msg_id: messageId,
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

function sizeOf({ moves }: MarkMoves): number {
  return moves.reduce((sum, move) => sum + 1 + ('receipts' in move ? move.receipts.length : 0), 0)
}
