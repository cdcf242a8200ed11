import { MemoryBus } from '../bus/memory-bus.js'
import type { ServerConfig } from '../config/config.js'
import type { ServerSecrets } from '../config/secrets.js'
import type { Database } from '../db/database.js'
import { idReservations } from '../db/id-reservations.js'
import { AccountService } from '../domain/accounts/account-service.js'
import { PasswordHasher } from '../domain/accounts/password-hasher.js'
import { TokenService } from '../domain/accounts/token-service.js'
import { TokenStore } from '../domain/accounts/token-store.js'
import { UserStore } from '../domain/accounts/user-store.js'
import { ApplicationService } from '../domain/applications/application-service.js'
import { ApplicationStore } from '../domain/applications/application-store.js'
import { ConversationService } from '../domain/conversations/conversation-service.js'
import { ConversationStore } from '../domain/conversations/conversation-store.js'
import { HistoryStore } from '../domain/conversations/history-store.js'
import { DeviceService } from '../domain/devices/device-service.js'
import { DeviceStore } from '../domain/devices/device-store.js'
import { EventService } from '../domain/events/event-service.js'
import { EventStore } from '../domain/events/event-store.js'
import { IntegrityService } from '../domain/integrity/integrity-service.js'
import { IntegrityStore } from '../domain/integrity/integrity-store.js'
import { MessageService } from '../domain/messages/message-service.js'
import { type BatchObserver, MessageWriter } from '../domain/messages/message-writer.js'
import { TransactionStore } from '../domain/messages/transaction-store.js'
import { TransactionSweeper } from '../domain/messages/transaction-sweeper.js'
import { systemClock } from '../lib/clock.js'
import { IdGenerator } from '../lib/ids.js'
import { loadSecretKey } from './secret-key.js'

export interface Services {
  readonly accounts: AccountService
  readonly applications: ApplicationService
  readonly conversations: ConversationService
  readonly events: EventService
  readonly integrity: IntegrityService
  readonly messages: MessageService
  readonly sweeper: TransactionSweeper
  readonly tokens: TokenService
  readonly writer: MessageWriter
}

export interface ServicesOptions {
  readonly config: ServerConfig
  readonly secrets: ServerSecrets
  readonly database: Database
  readonly batchObserver: BatchObserver
}

/** The rules of the service, wired to one database. */
export function createServices({ config, secrets, database, batchObserver }: ServicesOptions): Services {
  const clock = systemClock
  const ids = new IdGenerator(idReservations(database), clock.now)
  const bus = new MemoryBus()
  const events = new EventService({ database, store: new EventStore(), ids, clock })
  const hasher = new PasswordHasher()
  const users = new UserStore(database)
  const applications = new ApplicationService({
    database,
    store: new ApplicationStore(),
    ids,
    clock,
    operatorToken: secrets.operatorToken,
  })
  const devices = new DeviceService({ store: new DeviceStore(), clock, devicesPerUser: config.accounts.devicesPerUser })
  const tokens = new TokenService({
    database,
    store: new TokenStore(database),
    users,
    devices,
    hasher,
    clock,
    tokenLifeMs: config.accounts.userTokenTtlMs,
    secretKey: loadSecretKey(config.dataDir, secrets.secretKey),
  })
  const accounts = new AccountService({
    database,
    store: users,
    applications,
    devices,
    tokens,
    hasher,
    ids,
    clock,
    names: { reservedPrefixes: config.accounts.reservedUsernamePrefixes },
    passwordMinLength: config.accounts.passwordMinLength,
  })
  const transactions = new TransactionStore()
  const writer = new MessageWriter({
    database,
    ids,
    clock,
    transactionLifeMs: config.messages.transactionTtlMs,
    maxBatchMessages: config.writer.batchMessages,
    maxQueuedMessages: config.writer.queueMessages,
    observer: batchObserver,
  })
  return {
    accounts,
    applications,
    conversations: new ConversationService({
      database,
      store: new ConversationStore(database),
      messageLog: new HistoryStore(database),
      accounts,
    }),
    events,
    integrity: new IntegrityService({ database, store: new IntegrityStore() }),
    messages: new MessageService({ database, transactions, accounts, writer, ids, clock, ...config.messages }),
    sweeper: new TransactionSweeper({ database, store: transactions, clock }),
    tokens,
    writer,
  }
}
