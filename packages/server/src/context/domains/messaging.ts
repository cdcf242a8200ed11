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
import { minuteMs } from '../../lib/clock.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import type { GroupServices } from './groups.js'

export interface MessagingServices {
  readonly broadcasts: BroadcastService
  readonly changes: ChangeService
  readonly conversations: ConversationService
  readonly marks: MarkWriter
  readonly messageOperations: MessageOperations
  readonly messages: MessageService
  readonly pins: PinService
  readonly recipientRules: RecipientRules
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
  { database, caches, stores, outbox, ids, clock, metrics, log }: Infrastructure,
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
    observer: metrics.batches.messages,
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
    observer: metrics.batches.marks,
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
  const historyRetention = new HistoryRetention({
    database,
    apps,
    conversations: stores.conversations,
    messages: stores.messages,
    changes: stores.changes,
    receiptRequests: stores.receiptRequests,
    outbox,
    clock,
  })
  const sweeper = new TransactionSweeper({ database, store: transactions, clock })
  const services: MessagingServices = {
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
            removed: metrics.historyRemoved.bind(metrics),
            walked: (walk) => log.info(walk, 'old messages removed'),
          }),
      },
      { name: 'old transaction IDs', intervalMs: minuteMs, run: () => sweeper.run() },
    ],
  }
}
