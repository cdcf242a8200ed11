import type { Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import { pause } from '../../../lib/concurrency/pause.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { AppService } from '../../apps/app-service.js'
import { systemUserId } from '../../users/system-user.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { ChangeStore } from '../log/change-store.js'
import type { MessageStore, OldMessage } from '../log/message-store.js'
import {
  type Conversation,
  type ConversationKey,
  toEventConversation,
} from '../model/conversation-model.js'
import type { PinnedMessageStore } from '../log/pinned-message-store.js'
import type { ReceiptRequestStore } from '../positions/receipt-request-store.js'
import type { ReactionStore } from '../log/reaction-store.js'
import type { RetentionWalkStore, WalkedConversation } from './retention-walk-store.js'

export interface HistoryRetentionOptions {
  readonly database: Database
  readonly apps: Pick<AppService, 'list'>
  readonly conversations: ConversationStore
  readonly walk: RetentionWalkStore
  readonly messages: MessageStore
  readonly changes: ChangeStore
  readonly receiptRequests: ReceiptRequestStore
  readonly reactions: Pick<ReactionStore, 'deleteOldest'>
  readonly pinnedMessages: Pick<PinnedMessageStore, 'deleteOldest'>
  readonly holds: {
    /** Tests whether messages of these senders in the conversation may not be removed. */
    isHeld(
      db: Queryable,
      conversation: ConversationKey,
      senderIds: ReadonlySet<Int64>,
    ): Promise<boolean>
  }
  readonly outbox: Outbox
  readonly clock: Clock
}

/** The numbers of removed rows. */
export interface RemovedRows {
  readonly messages: number
  /** Tombstones of recalled messages. */
  readonly recalled: number
  /** Edits and recalls in the change log. */
  readonly changes: number
}

/** The result of one walk over the conversations of an app. */
export interface RetentionWalk extends RemovedRows {
  readonly appId: string
  readonly historyDays: number
  /** Conversations on the walk, and those from which rows were removed. */
  readonly conversations: number
  readonly shortened: number
  readonly seconds: number
  /** false: it was aborted before the last conversation. */
  readonly isWhole: boolean
}

/** Receives the numbers of removed rows, for logs and metrics. */
export interface RetentionObserver {
  /** Called after each transaction. */
  removed(rows: RemovedRows): void
  /** Called after walks that removed rows. */
  walked(walk: RetentionWalk): void
}

/** The interval between walks over an app with an unchanged limit. */
const walkEveryMs = 3_600_000
const conversationsPerPage = 200
const pagePauseMs = 5
/** Bounds on a transaction, because sends to the conversation wait for it, and with one writer all sends. */
const messagesPerStep = 200
const bytesPerStep = 2 ** 20
const changesPerStep = 1_000
/** The pause after a step, as a multiple of its duration. */
const restFactor = 2
const nothing: RemovedRows = { messages: 0, recalled: 0, changes: 0 }

/**
 * Removes messages above the age limit of their app, oldest first, with all rows that belong to
 * them (rule E14, decision page 035). It may be aborted or killed at any moment: the next walk
 * continues.
 */
export class HistoryRetention {
  /** The end and the limit of the last complete walk, by app_id. */
  readonly #walked = new Map<string, { readonly historyDays: number; readonly at: number }>()

  constructor(private readonly options: HistoryRetentionOptions) {}

  /** Walks over apps with a limit that had no walk within the last hour. */
  async run(signal: AbortSignal, observer: RetentionObserver): Promise<void> {
    const { apps, clock } = this.options
    for (const { appId, settings } of await apps.list()) {
      const historyDays = settings.history_days
      const last = this.#walked.get(appId)
      const isDone =
        last?.historyDays === historyDays && Math.abs(clock.now() - last.at) < walkEveryMs
      if (historyDays === 0 || isDone || signal.aborted) continue
      const at = clock.now()
      const walk = await this.#walk(appId, historyDays, signal, observer)
      if (walk.isWhole) this.#walked.set(appId, { historyDays, at })
      if (walk.shortened > 0) observer.walked(walk)
    }
  }

  async #walk(
    appId: string,
    historyDays: number,
    signal: AbortSignal,
    observer: RetentionObserver,
  ): Promise<RetentionWalk> {
    const { database, walk, clock } = this.options
    const before = clock.now() - historyDays * dayMs
    const startedAt = performance.now()
    const total = { appId, historyDays, conversations: 0, shortened: 0, ...nothing }
    const walked = (isWhole: boolean): RetentionWalk => {
      return { ...total, isWhole, seconds: (performance.now() - startedAt) / 1_000 }
    }
    for (let after: Conversation | null = null; ; ) {
      const range = { after, before, limit: conversationsPerPage }
      const page: WalkedConversation[] = await database.read((db) => walk.list(db, appId, range))
      for (const conversation of page) {
        if (signal.aborted) return walked(false)
        total.conversations++
        if (!conversation.isDue) continue
        total.shortened++
        await this.#shorten(conversation, before, signal, (rows) => {
          total.messages += rows.messages
          total.recalled += rows.recalled
          total.changes += rows.changes
          observer.removed(rows)
        })
      }
      after = page.at(-1) ?? null
      if (page.length < conversationsPerPage) return walked(!signal.aborted)
      await pause(pagePauseMs, signal)
    }
  }

  /** Removes the beginning of a conversation, in steps. */
  async #shorten(
    conversation: Conversation,
    before: number,
    signal: AbortSignal,
    removed: (rows: RemovedRows) => void,
  ): Promise<void> {
    const { database, messages, walk } = this.options
    const lastId = await database.read((db) => walk.findLastOld(db, conversation, before))
    const page = { upToId: lastId, limit: messagesPerStep }
    for (let isMore = true; isMore && !signal.aborted; ) {
      const startedAt = performance.now()
      const found = await database.read((db) => messages.listOldest(db, conversation, page))
      const oldest = found.slice(0, countInStep(found))
      const rows = await database.transaction((tx) => this.#remove(tx, conversation, oldest))
      if (rows === null) return
      removed(rows)
      isMore =
        oldest.length < found.length ||
        found.length === messagesPerStep ||
        rows.changes === changesPerStep
      await pause(restFactor * (performance.now() - startedAt), signal)
    }
  }

  /**
   * @param oldest the beginning of the conversation; may be empty
   * @returns null when a hold forbids it
   */
  async #remove(
    tx: Tx,
    conversation: Conversation,
    oldest: readonly OldMessage[],
  ): Promise<RemovedRows | null> {
    const { conversations, changes, holds } = this.options
    const range = await conversations.lockRemovedRange(tx, conversation)
    if (!range) return nothing
    const senderIds = new Set(oldest.map(({ senderId }) => senderId))
    if (await holds.isHeld(tx, conversation, senderIds)) return null
    let { keptFrom } = range
    let removed = nothing
    const last = oldest.at(-1)
    // Another node, which held the lease before, may have removed them.
    if (last && last.messageId > range.removedMessageId) {
      const end = { messageId: last.messageId, seq: last.seq }
      // Later alterations of removed messages stay, and are read as skipped numbers.
      const storedAt = await changes.findStoredAt(tx, conversation, { ...range, seq: last.seq })
      keptFrom = Math.max(keptFrom, storedAt)
      await conversations.setRemovedRange(tx, conversation, { ...end, keptFrom })
      removed = await this.#deleteMessages(tx, conversation, oldest, last)
    }
    const page = { change: keptFrom, limit: changesPerStep }
    const deleted = keptFrom > 0 ? await changes.deleteOldest(tx, conversation, page) : 0
    return { ...removed, changes: deleted }
  }

  async #deleteMessages(
    tx: Tx,
    conversation: Conversation,
    oldest: readonly OldMessage[],
    last: OldMessage,
  ): Promise<RemovedRows> {
    const { messages, receiptRequests, reactions, pinnedMessages, outbox } = this.options
    const { appId, lowId: groupId, isGroup } = conversation
    const rows = await messages.deleteOldest(tx, conversation, oldest)
    await reactions.deleteOldest(tx, conversation, last.messageId)
    await pinnedMessages.deleteOldest(tx, conversation, last.messageId)
    if (isGroup) await receiptRequests.deleteOldest(tx, { appId, groupId }, last.seq)
    if (oldest.some(({ mayNameFiles }) => mayNameFiles === 1))
      outbox.append(
        tx,
        actorEvent(
          'message.expired',
          { appId, actorId: systemUserId, userIds: [] },
          { conversation: toEventConversation(conversation), msg_id: last.messageId },
        ),
      )
    return { ...rows, changes: 0 }
  }
}

/** The number of messages in one step: at least one, then as many as fit. */
function countInStep(messages: readonly OldMessage[]): number {
  let bytes = 0
  const end = messages.findIndex((message, index) => {
    bytes += message.bytes
    return bytes > bytesPerStep && index > 0
  })
  return end === -1 ? messages.length : end
}
