import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { MessageRules } from '../../domain/contacts/message-rules.js'
import { BroadcastSenders } from '../../domain/messaging/conversations/broadcast-senders.js'
import { ConversationListStore } from '../../domain/messaging/readers/conversation-list-store.js'
import { ConversationFinder } from '../../domain/messaging/conversations/conversation-finder.js'
import { ReadRights } from '../../domain/messaging/conversations/readable-log.js'
import { PinService } from '../../domain/messaging/conversations/pin-service.js'
import { HistoryStore } from '../../domain/messaging/log/history-store.js'
import { ReplyStore } from '../../domain/messaging/log/reply-store.js'
import { MessageAlterations } from '../../domain/messaging/operations/message-alterations.js'
import { MessageErasure } from '../../domain/messaging/operations/message-erasure.js'
import { MessageOperations } from '../../domain/messaging/operations/message-operations.js'
import { MessageRecalls } from '../../domain/messaging/operations/message-recalls.js'
import { AcknowledgementService } from '../../domain/messaging/positions/acknowledgement-service.js'
import { ConversationDeletionService } from '../../domain/messaging/positions/conversation-deletion-service.js'
import { DeliveryAcknowledgementService } from '../../domain/messaging/positions/delivery-acknowledgement-service.js'
import { PositionWriter } from '../../domain/messaging/positions/position-writer.js'
import { PinnedMessageService } from '../../domain/messaging/pinned/pinned-message-service.js'
import { OwnReactions } from '../../domain/messaging/reactions/own-reactions.js'
import {
  ReactionRemoval,
  reactionRemovalHandler,
} from '../../domain/messaging/reactions/reaction-removal.js'
import { ReactionService } from '../../domain/messaging/reactions/reaction-service.js'
import { ReactionWriter } from '../../domain/messaging/reactions/reaction-writer.js'
import { ReceiptRequestStore } from '../../domain/messaging/positions/receipt-request-store.js'
import { ChangeService } from '../../domain/messaging/reading/change-service.js'
import { ConversationListService } from '../../domain/messaging/reading/conversation-list-service.js'
import { HistoryService } from '../../domain/messaging/reading/history-service.js'
import { LogHistoryService } from '../../domain/messaging/reading/log-history-service.js'
import { MessageLookupService } from '../../domain/messaging/reading/message-lookup-service.js'
import { PageReads } from '../../domain/messaging/reading/page-reads.js'
import { QuoteService } from '../../domain/messaging/reading/quote-service.js'
import { HistoryRetention } from '../../domain/messaging/retention/history-retention.js'
import { RetentionWalkStore } from '../../domain/messaging/retention/retention-walk-store.js'
import { BroadcastService } from '../../domain/messaging/sending/broadcast-service.js'
import { MessageService } from '../../domain/messaging/sending/message-service.js'
import { MessageWriter } from '../../domain/messaging/sending/message-writer.js'
import { ChunkWriter } from '../../domain/messaging/streams/chunk-writer.js'
import { StreamEnds } from '../../domain/messaging/operations/stream-ends.js'
import { StreamUpkeep } from '../../domain/messaging/operations/stream-upkeep.js'
import { StreamService } from '../../domain/messaging/sending/stream-service.js'
import { RecipientRules } from '../../domain/messaging/sending/recipient-rules.js'
import { ReplyRules } from '../../domain/messaging/sending/reply-rules.js'
import { TransientMessages } from '../../domain/messaging/transient/transient-messages.js'
import { HeadContents } from '../../domain/messaging/sync/head-content.js'
import { HeadStore } from '../../domain/messaging/sync/head-store.js'
import { MessageReceiptService } from '../../domain/messaging/sync/message-receipt-service.js'
import { SyncService } from '../../domain/messaging/sync/sync-service.js'
import { SyncStore } from '../../domain/messaging/sync/sync-store.js'
import { SyncWalk } from '../../domain/messaging/sync/sync-walk.js'
import { TransactionStore } from '../../domain/messaging/transactions/transaction-store.js'
import { TransactionSweeper } from '../../domain/messaging/transactions/transaction-sweeper.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { minuteMs } from '../../lib/clock.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import type { GroupServices } from './groups.js'

interface MessagingOptions {
  readonly config: Pick<ServerConfig, 'messages' | 'streams' | 'writer'>
  /** Announces that an app has new events. @param position of the last one, where it is known */
  readonly appended: (appId: string, position?: number) => void
  readonly accounts: AccountService
  readonly apps: AppService
  readonly groups: Pick<GroupServices, 'groupAccess' | 'groupCache' | 'groupMessageRules'>
  readonly messageRules: MessageRules
}

export function createMessaging(
  {
    database,
    caches,
    stores,
    outbox,
    delivery,
    ids,
    state,
    clock,
    metrics,
    seen,
    log,
  }: Infrastructure,
  {
    config,
    appended,
    accounts,
    apps,
    groups: { groupAccess, groupCache, groupMessageRules: groupRules },
    messageRules,
  }: MessagingOptions,
) {
  const recipientRules = new RecipientRules({ accounts, rules: messageRules, groupRules })
  const { maxMessageBytes, maxTargets, transactionTtlMs } = config.messages
  const { conversations, readers } = stores
  const changeStore = stores.changes
  const lists = new ConversationListStore(database)
  const messageLog = new HistoryStore(database)
  const receiptRequests = new ReceiptRequestStore(database)
  const transactions = new TransactionStore()
  const broadcastSenders = new BroadcastSenders({
    database,
    store: conversations,
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
    appended(appId, position, time) {
      seen?.saw(appId, position, time)
      appended(appId, position)
    },
  })
  const positions = new PositionWriter({
    database,
    readers,
    receiptRequests,
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
    store: conversations,
    lists,
    messageLog,
    positions,
    broadcastSenders,
    outbox,
  })
  const alterations = new MessageAlterations({
    store: stores.messages,
    conversationStore: conversations,
    changes: changeStore,
    outbox,
  })
  const recalls = new MessageRecalls({
    store: stores.messages,
    streams: stores.streams,
    alterations,
    reactions: stores.reactions,
    pinnedMessages: stores.pinnedMessages,
    receiptRequests,
    fileWithdrawals: stores.fileWithdrawals,
    outbox,
  })
  const messageOperations = new MessageOperations({
    database,
    store: stores.messages,
    conversationStore: conversations,
    alterations,
    recalls,
    messageLog,
    readers,
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
  const chunks = new ChunkWriter({
    database,
    clock,
    limits: {
      maxBytes: maxMessageBytes,
      pace: {
        intervalMs: config.streams.appendIntervalMs,
        burst: config.streams.appendBurst,
      },
    },
    maxBatchChunks: config.writer.batchMessages,
    maxQueuedChunks: config.writer.queueMessages,
    observer: metrics.storage.batches.chunks,
  })
  const streamEnds = new StreamEnds({
    database,
    store: stores.messages,
    streams: stores.streams,
    conversationStore: conversations,
    alterations,
    outbox,
    clock,
    maxMessageBytes,
  })
  const streamUpkeep = new StreamUpkeep({
    database,
    streams: stores.streams,
    ends: streamEnds,
    clock,
    silentMs: config.streams.silentMs,
    longestMs: config.streams.longestMs,
    rememberMs: transactionTtlMs,
  })
  const transients = new TransientMessages({ transient: delivery, clock })
  const historyRetention = new HistoryRetention({
    database,
    apps,
    conversations,
    walk: new RetentionWalkStore(database),
    messages: stores.messages,
    changes: changeStore,
    receiptRequests,
    reactions: stores.reactions,
    pinnedMessages: stores.pinnedMessages,
    holds: stores.erasureHolds,
    outbox,
    clock,
  })
  const messageLookup = new MessageLookupService({
    database,
    store: changeStore,
    messageLog,
    finder,
  })
  const reactionWriter = new ReactionWriter({
    database,
    store: stores.reactions,
    messages: stores.messages,
    conversations,
    alterations,
    members: stores.members,
    users: stores.users,
    groupCache,
    recipients: recipientRules,
    apps,
    outbox,
    clock,
    maxWaiting: config.writer.queueMessages,
  })
  const reactionRemoval = new ReactionRemoval({
    database,
    store: stores.reactions,
    writer: reactionWriter,
    finder,
  })
  const sweeper = new TransactionSweeper({ database, store: transactions, clock })
  const pages = new PageReads()
  const replyStore = new ReplyStore(database)
  const changes = new ChangeService({
    database,
    store: changeStore,
    messageLog,
    finder,
    pages,
  })
  const services = {
    acknowledgements,
    broadcasts: new BroadcastService({
      database,
      ids,
      accounts,
      counts: stores.userCounts,
      conversationStore: conversations,
      outbox,
      clock,
      maxMessageBytes,
    }),
    changes,
    deliveryAcknowledgements: new DeliveryAcknowledgementService({
      database,
      finder,
      messageLog,
      positions,
    }),
    conversationDeletions: new ConversationDeletionService({
      database,
      finder,
      store: conversations,
      readers,
      outbox,
    }),
    conversationLists: new ConversationListService({
      database,
      store: lists,
      broadcastSenders,
    }),
    history: new HistoryService({
      database,
      finder,
      messageLog,
      positions,
      pages,
      state,
    }),
    logHistory: new LogHistoryService({
      database,
      store: changeStore,
      messageLog,
      finder,
      pages,
    }),
    messageErasure: new MessageErasure({
      database,
      messages: stores.messages,
      conversations,
      finder,
      recalls,
      alterations,
      receiptRequests,
      streams: stores.streams,
      streamEnds,
      transactions,
      holds: stores.erasureHolds,
      outbox,
      clock,
    }),
    messageLookup,
    reactionRemoval,
    ownReactions: new OwnReactions({ database, store: stores.reactions }),
    pinnedMessages: new PinnedMessageService({
      database,
      store: stores.pinnedMessages,
      messages: stores.messages,
      conversations,
      alterations,
      lookup: messageLookup,
      recipients: recipientRules,
      groupAccess,
      groupCache,
      outbox,
      clock,
    }),
    reactions: new ReactionService({
      database,
      store: stores.reactions,
      writer: reactionWriter,
      lookup: messageLookup,
      finder,
      groupCache,
    }),
    quotes: new QuoteService({ database, store: replyStore }),
    positions,
    messageOperations,
    messages: new MessageService({
      database,
      transactions,
      accounts,
      recipients: recipientRules,
      rules: messageRules,
      groupRules,
      replies: new ReplyRules({ database, store: replyStore, finder, messageLog }),
      writer,
      operations: messageOperations,
      ids,
      transients,
      streams: stores.streams,
      maxOpenStreams: { user: config.streams.perSender, bot: config.streams.perBot },
      clock,
      maxMessageBytes,
      maxTargets,
      acknowledgements,
    }),
    chunks,
    streams: new StreamService({
      database,
      accounts,
      recipients: recipientRules,
      finder,
      groupRules,
      streams: stores.streams,
      messages: stores.messages,
      writer: chunks,
      ends: streamEnds,
      outbox: stores.outbox,
      deltas: delivery,
      transients,
      isReviewed: async (appId) => (await apps.get(appId)).settings.stream_review,
    }),
    messageReceipts: new MessageReceiptService({
      database,
      finder,
      messageLog,
      requests: receiptRequests,
    }),
    recipientRules,
    sync: new SyncService({
      database,
      store: new SyncStore(database),
      rights,
      heads: new HeadStore(database),
      contents: new HeadContents({ database, changes, messageLog, pages }),
      walk: new SyncWalk({
        database,
        store: stores.outbox,
        messages: stores.storedMessages,
        recent: delivery,
      }),
      outbox: stores.outbox,
      lists,
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
    jobHandlers: [reactionRemovalHandler(reactionRemoval)],
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
      { name: 'streams', intervalMs: 1_000, run: (signal) => streamUpkeep.run(signal) },
      { name: 'old transaction IDs', intervalMs: minuteMs, run: () => sweeper.run() },
    ],
  } satisfies Domain
}
