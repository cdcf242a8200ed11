import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { MessageRules } from '../../domain/contacts/message-rules.js'
import { PinService } from '../../domain/messaging/conversations/pin-service.js'
import { Broadcasters } from '../../domain/messaging/marks/broadcasters.js'
import { MarkWriter } from '../../domain/messaging/marks/mark-writer.js'
import { MessageOperations } from '../../domain/messaging/operations/message-operations.js'
import { ChangeService } from '../../domain/messaging/reading/change-service.js'
import { ConversationService } from '../../domain/messaging/reading/conversation-service.js'
import { HistoryRetention } from '../../domain/messaging/retention/history-retention.js'
import { BroadcastService } from '../../domain/messaging/sending/broadcast-service.js'
import { MessageService } from '../../domain/messaging/sending/message-service.js'
import { MessageWriter } from '../../domain/messaging/sending/message-writer.js'
import { RecipientRules } from '../../domain/messaging/sending/recipient-rules.js'
import { TransactionSweeper } from '../../domain/messaging/sending/transaction-sweeper.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { BatchObserver } from '../../lib/concurrency/batch-queue.js'
import type { Foundation } from '../foundation.js'
import type { Groups } from './groups.js'

export interface Messaging {
  readonly broadcasts: BroadcastService
  readonly changes: ChangeService
  readonly conversations: ConversationService
  readonly historyRetention: HistoryRetention
  readonly marks: MarkWriter
  readonly messageOperations: MessageOperations
  readonly messages: MessageService
  readonly pins: PinService
  readonly recipientRules: RecipientRules
  readonly sweeper: TransactionSweeper
  readonly writer: MessageWriter
}

/** Of what is committed in batches. */
export interface BatchObservers {
  readonly messages: BatchObserver
  readonly marks: BatchObserver
}

export interface MessagingOptions {
  readonly config: Pick<ServerConfig, 'messages' | 'writer'>
  readonly batchObservers: BatchObservers
  /** The app has new messages. */
  readonly appended: (appId: string) => void
  readonly accounts: AccountService
  readonly apps: AppService
  readonly groups: Pick<Groups, 'groupAccess' | 'groupCache' | 'groupMessageRules'>
  readonly messageRules: MessageRules
}

export function createMessaging(
  { database, caches, stores, outbox, ids, clock }: Foundation,
  {
    config,
    batchObservers,
    appended,
    accounts,
    apps,
    groups: { groupAccess, groupCache, groupMessageRules: groupRules },
    messageRules,
  }: MessagingOptions,
): Messaging {
  const recipientRules = new RecipientRules({ accounts, rules: messageRules, groupRules })
  const { maxMessageBytes, maxTargets, transactionTtlMs } = config.messages
  const { transactions, broadcastMarks } = stores
  const broadcasters = new Broadcasters({
    database,
    store: broadcastMarks,
    cache: caches.broadcasters,
  })
  const writer = new MessageWriter({
    database,
    ids,
    clock,
    transactionLifeMs: transactionTtlMs,
    maxBatchMessages: config.writer.batchMessages,
    maxQueuedMessages: config.writer.queueMessages,
    maxQueuedBytes: config.writer.queueBytes,
    observer: batchObservers.messages,
    outbox,
    broadcasters,
    appended,
  })
  const marks = new MarkWriter({
    database,
    store: stores.conversations,
    groupMarks: stores.groupMarks,
    receiptRequests: stores.receiptRequests,
    broadcastMarks,
    broadcasters,
    clock,
    maxBatchMoves: config.writer.batchMessages,
    maxQueuedMoves: config.writer.queueMessages,
    observer: batchObservers.marks,
    appended,
  })
  const conversations = new ConversationService({
    database,
    store: stores.conversations,
    messageLog: stores.history,
    kinds: stores.peerKinds,
    marks,
    members: stores.members,
    groupCache,
    broadcasters,
    broadcastMarks,
  })
  const messageOperations = new MessageOperations({
    database,
    store: stores.messages,
    conversationStore: stores.conversations,
    changes: stores.changes,
    messageLog: stores.history,
    broadcastMarks,
    receiptRequests: stores.receiptRequests,
    conversations,
    accounts,
    apps,
    groupRules,
    transactions,
    outbox,
    clock,
    maxMessageBytes,
    transactionTtlMs,
  })
  return {
    broadcasts: new BroadcastService({
      database,
      ids,
      accounts,
      counts: stores.userCounts,
      conversationStore: stores.conversations,
      outbox,
      maxMessageBytes,
    }),
    changes: new ChangeService({
      database,
      store: stores.changes,
      messageLog: stores.history,
      conversations,
    }),
    conversations,
    historyRetention: new HistoryRetention({
      database,
      apps,
      conversations: stores.conversations,
      messages: stores.messages,
      changes: stores.changes,
      receiptRequests: stores.receiptRequests,
      outbox,
      clock,
    }),
    marks,
    messageOperations,
    messages: new MessageService({
      database,
      transactions,
      accounts,
      recipients: recipientRules,
      rules: messageRules,
      groupRules,
      writer,
      operations: messageOperations,
      ids,
      clock,
      maxMessageBytes,
      maxTargets,
      conversations,
    }),
    recipientRules,
    pins: new PinService({
      database,
      store: stores.pins,
      accounts,
      groupAccess,
      groupCache,
      clock,
    }),
    sweeper: new TransactionSweeper({ database, store: transactions, clock }),
    writer,
  }
}
