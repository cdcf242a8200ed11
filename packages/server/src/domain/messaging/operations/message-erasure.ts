import {
  alterationKind,
  AppError,
  type erasureModes,
  type Int64,
  systemUserId,
} from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import { pause } from '../../../lib/concurrency/pause.js'
import { groupBy } from '../../../lib/group-by.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { LoggedMessage, MessageStore, SentMessage } from '../log/message-store.js'
import { type Conversation, readersOf, toEventConversation } from '../model/conversation-model.js'
import type { ReceiptRequestStore } from '../positions/receipt-request-store.js'
import { streamState } from '../streams/stream-model.js'
import type { StreamStore } from '../streams/stream-store.js'
import type { TransactionKey } from '../transactions/transaction-statements.js'
import type { TransactionStore } from '../transactions/transaction-store.js'
import type { MessageAlterations } from './message-alterations.js'
import { editInstant } from './message-edit.js'
import type { MessageRecalls } from './message-recalls.js'
import type { StreamEnds } from './stream-ends.js'

/** The messages of a person after an erasure. */
type ErasureMode = (typeof erasureModes)[number]

interface MessageErasureOptions {
  readonly database: Database
  readonly messages: MessageStore
  readonly conversations: Pick<ConversationStore, 'lockForUpdate'>
  readonly finder: Pick<ConversationFinder, 'kindOf'>
  readonly recalls: Pick<MessageRecalls, 'recall'>
  readonly alterations: Pick<MessageAlterations, 'append'>
  readonly receiptRequests: Pick<ReceiptRequestStore, 'delete'>
  readonly streams: StreamStore
  readonly streamEnds: Pick<StreamEnds, 'interrupt'>
  readonly transactions: TransactionStore
  readonly holds: {
    /** Finds the name of a hold of the user or of the conversation; null: there is none. */
    findOf(tx: Tx, conversation: Conversation, userId: Int64): Promise<string | null>
  }
  readonly outbox: Pick<Outbox, 'append'>
  readonly clock: Clock
}

const messagesPerPage = 5_000
/** Messages of one transaction, because sends to the conversation wait for it. */
const messagesPerStep = 50
const chunksPerStep = 500
const transactionsPerStep = 5_000
/** The pause after a step, as a multiple of its duration. */
const restFactor = 1

/**
 * Erases the messages of a deleted user, with their numbers and events, the streams and the
 * transaction IDs. It may be killed at any moment: another run finds what is left.
 */
export class MessageErasure {
  constructor(private readonly options: MessageErasureOptions) {}

  /**
   * @param run.erased called with the number of messages of each step
   * @throws AppError erasure_held for a hold that was set meanwhile
   * @throws when the signal is aborted
   */
  async erase(
    user: UserKey,
    mode: ErasureMode,
    run: { readonly signal: AbortSignal; erased(messages: number): void },
  ): Promise<void> {
    if (mode !== 'keep') await this.#eraseMessages(user, mode, run)
    await this.#eraseStreams(user, run.signal)
    await this.#eraseTransactions(user, run.signal)
  }

  async #eraseMessages(
    user: UserKey,
    mode: 'anonymise' | 'delete',
    { signal, erased }: { readonly signal: AbortSignal; erased(messages: number): void },
  ): Promise<void> {
    const { database, messages } = this.options
    const page = { limit: messagesPerPage, onlyNaming: mode === 'anonymise' }
    for (let after: SentMessage | null = null; ; ) {
      const start: SentMessage | null = after
      const found: SentMessage[] = await database.snapshot((db) =>
        messages.listOfSender(db, user, { ...page, after: start }),
      )
      for (const ofConversation of groupBy(found, conversationName).values())
        for (const step of chunksOf(ofConversation, messagesPerStep)) {
          signal.throwIfAborted()
          const startedAt = performance.now()
          await this.#step(user, mode, step)
          erased(step.length)
          await pause(restFactor * (performance.now() - startedAt), signal)
        }
      after = found.at(-1) ?? null
      if (found.length < messagesPerPage) return
    }
  }

  /** @param sent messages of one conversation */
  async #step(
    { userId }: UserKey,
    mode: 'anonymise' | 'delete',
    sent: readonly SentMessage[],
  ): Promise<void> {
    const { database, messages, conversations, finder, recalls, holds, clock } = this.options
    const [first] = sent
    if (!first) return
    const { appId, lowId, highId } = first
    const isGroup =
      lowId === highId && (await database.read((db) => finder.kindOf(db, appId, lowId))) === 'group'
    const conversation = { appId, lowId, highId, isGroup }
    const messageIds = sent.map(({ messageId }) => messageId)
    await database.transaction(async (tx) => {
      await conversations.lockForUpdate(tx, conversation)
      const hold = await holds.findOf(tx, conversation, userId)
      if (hold !== null) throw new AppError('erasure_held', `the hold ${hold}`)
      const found = await messages.findSent(tx, conversation, userId, messageIds)
      if (found.length === 0) return
      if (mode === 'delete')
        await recalls.recall(tx, conversation, found, { by: systemUserId, at: clock.now() })
      else await this.#anonymise(tx, conversation, found)
    })
  }

  async #anonymise(
    tx: Tx,
    conversation: Conversation,
    found: readonly LoggedMessage[],
  ): Promise<void> {
    const { messages, receiptRequests, alterations, outbox, clock } = this.options
    const { appId, lowId: groupId, isGroup } = conversation
    for (const message of found) {
      const editedAt = editInstant(message, clock.now())
      await messages.anonymise(tx, conversation, message.messageId, editedAt)
      if (isGroup) await receiptRequests.delete(tx, { appId, groupId }, message.seq)
    }
    const first = await alterations.append(tx, conversation, found, alterationKind.edited)
    outbox.append(
      tx,
      ...found.map(({ messageId, seq }, index) => ({
        kind: 'message.replaced' as const,
        appId,
        payload: {
          actor_id: systemUserId,
          user_ids: isGroup ? [] : readersOf(conversation),
          conversation: toEventConversation(conversation),
          msg_id: messageId,
          seq,
        },
        change: first + index,
      })),
    )
  }

  /** Ends open streams, and removes the pieces of all of them. */
  async #eraseStreams(user: UserKey, signal: AbortSignal): Promise<void> {
    const { database, streams, streamEnds } = this.options
    for (;;) {
      const [stream] = await database.read((db) => streams.listOfSender(db, user, 1))
      if (!stream) return
      signal.throwIfAborted()
      if (stream.state === streamState.open) await streamEnds.interrupt(stream, stream)
      while (
        (await database.transaction((tx) => streams.deleteChunks(tx, stream, chunksPerStep))) ===
        chunksPerStep
      )
        signal.throwIfAborted()
      await database.transaction((tx) => streams.delete(tx, stream))
    }
  }

  async #eraseTransactions(user: UserKey, signal: AbortSignal): Promise<void> {
    const { database, transactions } = this.options
    for (let after: TransactionKey | null = null; ; ) {
      signal.throwIfAborted()
      const start: TransactionKey | null = after
      const upTo: TransactionKey | null = await database.read((db) =>
        transactions.findKeyAfter(db, start, transactionsPerStep),
      )
      await database.transaction((tx) =>
        transactions.deleteOfSender(tx, { after: start, upTo }, user),
      )
      after = upTo
      if (upTo === null) return
    }
  }
}

function conversationName({ lowId, highId }: SentMessage): string {
  return `${lowId} ${highId}`
}
