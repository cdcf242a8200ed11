import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { MessageRules } from '../../domain/contacts/message-rules.js'
import { BroadcastSenders } from '../../domain/messaging/conversations/broadcast-senders.js'
import { ConversationFinder } from '../../domain/messaging/conversations/conversation-finder.js'
import { ReadRights } from '../../domain/messaging/conversations/readable-log.js'
import { PinService } from '../../domain/messaging/conversations/pin-service.js'
import { MessageOperations } from '../../domain/messaging/operations/message-operations.js'
import { AcknowledgementService } from '../../domain/messaging/positions/acknowledgement-service.js'
import { ConversationDeletionService } from '../../domain/messaging/positions/conversation-deletion-service.js'
import { DeliveryAcknowledgementService } from '../../domain/messaging/positions/delivery-acknowledgement-service.js'
import { PositionWriter } from '../../domain/messaging/positions/position-writer.js'
import { ChangeService } from '../../domain/messaging/reading/change-service.js'
import { ConversationListService } from '../../domain/messaging/reading/conversation-list-service.js'
import { HistoryService } from '../../domain/messaging/reading/history-service.js'
import { LogHistoryService } from '../../domain/messaging/reading/log-history-service.js'
import { PageReads } from '../../domain/messaging/reading/page-reads.js'
import { HistoryRetention } from '../../domain/messaging/retention/history-retention.js'
import { BroadcastService } from '../../domain/messaging/sending/broadcast-service.js'
import { MessageService } from '../../domain/messaging/sending/message-service.js'
import { MessageWriter } from '../../domain/messaging/sending/message-writer.js'
import { RecipientRules } from '../../domain/messaging/sending/recipient-rules.js'
import { TransientMessages } from '../../domain/messaging/transient/transient-messages.js'
import { HeadContents } from '../../domain/messaging/sync/head-content.js'
import { MessageReceiptService } from '../../domain/messaging/sync/message-receipt-service.js'
import { SyncService } from '../../domain/messaging/sync/sync-service.js'
import { SyncWalk } from '../../domain/messaging/sync/sync-walk.js'
import { TransactionSweeper } from '../../domain/messaging/transactions/transaction-sweeper.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { minuteMs } from '../../lib/clock.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import type { GroupServices } from './groups.js'

export interface MessagingServices {
  readonly acknowledgements: AcknowledgementService
  readonly broadcasts: BroadcastService
  readonly changes: ChangeService
  readonly deliveryAcknowledgements: DeliveryAcknowledgementService
  readonly conversationDeletions: ConversationDeletionService
  readonly conversationLists: ConversationListService
  readonly history: HistoryService
  readonly logHistory: LogHistoryService
  readonly positions: PositionWriter
  readonly messageOperations: MessageOperations
  readonly messageReceipts: MessageReceiptService
  readonly messages: MessageService
  readonly pins: PinService
  readonly recipientRules: RecipientRules
  readonly sync: SyncService
  readonly writer: MessageWriter
}

export interface MessagingOptions {
  readonly config: Pick<ServerConfig, 'messages' | 'writer'>
  /** Announces that an app has new messages. */
  readonly appended: (appId: string) => void
  readonly accounts: AccountService
  readonly apps: AppService
  readonly groups: Pick<GroupServices, 'groupAccess' | 'groupCache' | 'groupMessageRules'>
  readonly messageRules: MessageRules
}

export function createMessaging(
  { database, caches, stores, outbox, delivery, ids, clock, metrics, log }: Infrastructure,
  {
    config,
    appended,
    accounts,
    apps,
    groups: { groupAccess, groupCache, groupMessageRules: groupRules },
    messageRules,
  }: MessagingOptions,
): Domain<MessagingServices> {
  const recipientRules = new RecipientRules({ accounts, rules: messageRules, groupRules })
  const { maxMessageBytes, maxTargets, transactionTtlMs } = config.messages
  const { transactions, broadcastPositions } = stores
  const broadcastSenders = new BroadcastSenders({
    database,
    store: stores.conversations,
    cache: caches.broadcastSenders,
  })
  const rights = new ReadRights(stores.members)
  const finder = new ConversationFinder({
    kinds: stores.peerKinds,
    rights,
    broadcastSenders,
  })
  const writer = new MessageWriter({
    database,
    ids,
    clock,
    transactionLifeMs: transactionTtlMs,
    maxBatchMessages: config.writer.batchMessages,
    maxQueuedMessages: config.writer.queueMessages,
    maxQueuedBytes: config.writer.queueBytes,
    observer: metrics.storage.batches.messages,
    outbox,
    broadcastSenders,
    handOver: delivery,
    handOverFailed: (error) => log.error({ err: error }, 'messages were not handed over'),
    appended,
  })
  const positions = new PositionWriter({
    database,
    store: stores.conversations,
    lists: stores.conversationLists,
    memberPositions: stores.memberPositions,
    receiptRequests: stores.receiptRequests,
    broadcastPositions,
    broadcastSenders,
    clock,
    maxBatchMoves: config.writer.batchMessages,
    maxQueuedMoves: config.writer.queueMessages,
    observer: metrics.storage.batches.positions,
    appended,
  })
  const acknowledgements = new AcknowledgementService({
    database,
    finder,
    store: stores.conversations,
    lists: stores.conversationLists,
    messageLog: stores.history,
    positions,
    broadcastSenders,
    broadcastPositions,
    outbox,
  })
  const messageOperations = new MessageOperations({
    database,
    store: stores.messages,
    conversationStore: stores.conversations,
    changes: stores.changes,
    messageLog: stores.history,
    broadcastPositions,
    receiptRequests: stores.receiptRequests,
    fileWithdrawals: stores.fileWithdrawals,
    finder,
    acknowledgements,
    accounts,
    apps,
    groupRules,
    transactions,
    outbox,
    clock,
    maxMessageBytes,
    transactionTtlMs,
  })
  const historyRetention = new HistoryRetention({
    database,
    apps,
    conversations: stores.conversations,
    walk: stores.retentionWalk,
    messages: stores.messages,
    changes: stores.changes,
    receiptRequests: stores.receiptRequests,
    outbox,
    clock,
  })
  const sweeper = new TransactionSweeper({ database, store: transactions, clock })
  const pages = new PageReads()
  const changes = new ChangeService({
    database,
    store: stores.changes,
    messageLog: stores.history,
    finder,
    pages,
  })
  const services: MessagingServices = {
    acknowledgements,
    broadcasts: new BroadcastService({
      database,
      ids,
      accounts,
      counts: stores.userCounts,
      conversationStore: stores.conversations,
      outbox,
      clock,
      maxMessageBytes,
    }),
    changes,
    deliveryAcknowledgements: new DeliveryAcknowledgementService({
      database,
      finder,
      messageLog: stores.history,
      positions,
    }),
    conversationDeletions: new ConversationDeletionService({
      database,
      finder,
      store: stores.conversations,
      members: stores.members,
      broadcastPositions,
      outbox,
    }),
    conversationLists: new ConversationListService({
      database,
      store: stores.conversationLists,
      broadcastSenders,
    }),
    history: new HistoryService({
      database,
      finder,
      messageLog: stores.history,
      positions,
      pages,
    }),
    logHistory: new LogHistoryService({
      database,
      store: stores.changes,
      messageLog: stores.history,
      finder,
      pages,
    }),
    positions,
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
      transients: new TransientMessages({ transient: delivery, clock }),
      clock,
      maxMessageBytes,
      maxTargets,
      acknowledgements,
    }),
    messageReceipts: new MessageReceiptService({
      database,
      finder,
      messageLog: stores.history,
      requests: stores.receiptRequests,
    }),
    recipientRules,
    sync: new SyncService({
      database,
      store: stores.sync,
      rights,
      heads: stores.heads,
      contents: new HeadContents({ database, changes, messageLog: stores.history, pages }),
      walk: new SyncWalk({
        database,
        store: stores.outbox,
        messages: stores.storedMessages,
        recent: delivery,
      }),
      outbox: stores.outbox,
      lists: stores.conversationLists,
      broadcastSenders,
    }),
    pins: new PinService({
      database,
      store: stores.pins,
      accounts,
      groupAccess,
      groupCache,
      outbox,
      clock,
    }),
    writer,
  }
  return {
    services,
    maintenanceTasks: [
      {
        name: 'old messages',
        intervalMs: 10 * minuteMs,
        run: (signal) =>
          historyRetention.run(signal, {
            removed: metrics.background.historyRemoved.bind(metrics.background),
            walked: (walk) => log.info(walk, 'old messages removed'),
          }),
      },
      { name: 'old transaction IDs', intervalMs: minuteMs, run: () => sweeper.run() },
    ],
  }
}
