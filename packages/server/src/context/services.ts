import { cacheInvalidation } from '../bus/cache-invalidation.js'
import { MemoryBus } from '../bus/memory-bus.js'
import type { ServerConfig } from '../config/config.js'
import type { ServerSecrets } from '../config/secrets.js'
import type { Database } from '../db/database.js'
import { idReservations } from '../db/id-reservations.js'
import { AppService } from '../domain/apps/app-service.js'
import { AppStore } from '../domain/apps/app-store.js'
import { DeviceAccessService } from '../domain/devices/device-access-service.js'
import { DeviceService } from '../domain/devices/device-service.js'
import { DeviceStore } from '../domain/devices/device-store.js'
import { PresenceService } from '../domain/devices/presence-service.js'
import { PushBindingStore } from '../domain/devices/push-binding-store.js'
import { FileCredentialService } from '../domain/files/file-credential-service.js'
import { IntegrityService } from '../domain/integrity/integrity-service.js'
import { IntegrityStore } from '../domain/integrity/integrity-store.js'
import { LoginGuard } from '../domain/login/login-guard.js'
import { PasswordHasher } from '../domain/login/password-hasher.js'
import { TokenService } from '../domain/login/token-service.js'
import { TokenStore } from '../domain/login/token-store.js'
import { ChangeStore } from '../domain/messaging/log/change-store.js'
import { HistoryStore } from '../domain/messaging/log/history-store.js'
import { PeerKinds } from '../domain/messaging/log/peer-kinds.js'
import { MessageOperations } from '../domain/messaging/operations/message-operations.js'
import { MessageStore } from '../domain/messaging/operations/message-store.js'
import { ChangeService } from '../domain/messaging/reading/change-service.js'
import { ConversationService } from '../domain/messaging/reading/conversation-service.js'
import { ConversationStore } from '../domain/messaging/reading/conversation-store.js'
import { GroupMarkStore } from '../domain/messaging/reading/group-mark-store.js'
import { GroupReadService } from '../domain/messaging/reading/group-read-service.js'
import { PinService } from '../domain/messaging/reading/pin-service.js'
import { PinStore } from '../domain/messaging/reading/pin-store.js'
import { MessageService } from '../domain/messaging/sending/message-service.js'
import { type BatchObserver, MessageWriter } from '../domain/messaging/sending/message-writer.js'
import { TransactionStore } from '../domain/messaging/sending/transaction-store.js'
import { TransactionSweeper } from '../domain/messaging/sending/transaction-sweeper.js'
import { PushPreferenceService } from '../domain/push/push-preference-service.js'
import { PushPreferenceStore } from '../domain/push/push-preference-store.js'
import { PendingErasureStore } from '../domain/users/deletion/pending-erasure-store.js'
import { TextErasureService } from '../domain/users/deletion/text-erasure-service.js'
import { UserStore } from '../domain/users/user-store.js'
import { systemClock } from '../lib/clock.js'
import { IdGenerator } from '../lib/ids.js'
import { EventStore } from '../outbox/event-log.js'
import { EventService } from '../outbox/event-service.js'
import { type AccountServices, createAccountServices } from './accounts.js'
import { type ContactServices, createContactBook, createContactServices } from './contacts.js'
import { createGroupServices, type GroupServices } from './groups.js'
import { loadSecretKey } from './secret-key.js'

export interface Services extends AccountServices, ContactServices, GroupServices {
  readonly apps: AppService
  readonly changes: ChangeService
  readonly conversations: ConversationService
  readonly deviceAccess: DeviceAccessService
  readonly devices: DeviceService
  readonly events: EventService
  readonly fileCredentials: FileCredentialService
  readonly integrity: IntegrityService
  readonly messageOperations: MessageOperations
  readonly messages: MessageService
  readonly pins: PinService
  readonly presence: PresenceService
  readonly pushPreferences: PushPreferenceService
  readonly sweeper: TransactionSweeper
  readonly textErasures: TextErasureService
  readonly tokens: TokenService
  readonly writer: MessageWriter
}

export interface ServicesOptions {
  readonly config: ServerConfig
  readonly secrets: ServerSecrets
  readonly database: Database
  readonly batchObserver: BatchObserver
  /** Has the texts that were ordered to be erased be erased soon. */
  wakeTextErasures(): void
}

/** The rules of the service, wired to one database. */
export function createServices({
  config,
  secrets,
  database,
  batchObserver,
  wakeTextErasures,
}: ServicesOptions): Services {
  const clock = systemClock
  const ids = new IdGenerator(idReservations(database), clock.now)
  const bus = new MemoryBus()
  const eventStore = new EventStore()
  const events = new EventService({ database, store: eventStore, ids, clock })
  const textErasures = new TextErasureService({
    database,
    store: new PendingErasureStore(),
    events: eventStore,
    clock,
    wake: wakeTextErasures,
  })
  const hasher = new PasswordHasher()
  const users = new UserStore(database)
  const apps = new AppService({
    database,
    store: new AppStore(database),
    ids,
    clock,
    operatorToken: secrets.operatorToken,
    channels: {
      apps: cacheInvalidation(bus, 'applications'),
      adminTokens: cacheInvalidation(bus, 'admin-tokens'),
    },
  })
  const devices = new DeviceService({
    database,
    store: new DeviceStore(database),
    bindings: new PushBindingStore(),
    events,
    clock,
    devicesPerUser: config.accounts.devicesPerUser,
  })
  const guard = new LoginGuard({ clock, ...config.logins })
  const secretKey = loadSecretKey(config.dataDir, secrets.secretKey)
  const fileCredentials = new FileCredentialService({ database, users, clock, secretKey })
  const tokens = new TokenService({
    database,
    store: new TokenStore(database),
    users,
    devices,
    hasher,
    guard,
    fileCredentials,
    clock,
    tokenLifeMs: config.accounts.userTokenTtlMs,
    channel: cacheInvalidation(bus, 'user-tokens'),
  })
  const contactBook = createContactBook({ database, users, events, clock })
  const groups = createGroupServices({
    database,
    bus,
    users,
    apps,
    events,
    ids,
    clock,
    secretKey,
  })
  const messageLog = new HistoryStore(database)
  const changeStore = new ChangeStore(database)
  const conversations = new ConversationService({
    database,
    store: new ConversationStore(database),
    messageLog,
    kinds: new PeerKinds(database),
    groupReads: new GroupReadService({ marks: new GroupMarkStore(database), events }),
    groupCache: groups.groupCache,
    events,
  })
  const accountServices = createAccountServices({
    config: config.accounts,
    bus,
    database,
    users,
    apps,
    contacts: contactBook,
    devices,
    tokens,
    conversations,
    events,
    textErasures,
    succession: groups.groupSuccession,
    guard,
    hasher,
    ids,
    clock,
  })
  const { accounts } = accountServices
  const contacts = createContactServices({
    database,
    book: contactBook,
    bus,
    accounts,
    apps,
    events,
    clock,
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
  const messageOperations = new MessageOperations({
    database,
    store: new MessageStore(database, changeStore),
    conversations,
    apps,
    groupRules: groups.groupMessageRules,
    transactions,
    events,
    clock,
    ...config.messages,
  })
  return {
    ...accountServices,
    ...contacts,
    ...groups,
    apps,
    changes: new ChangeService({ database, store: changeStore, messageLog, conversations }),
    conversations,
    deviceAccess: new DeviceAccessService({ database, devices, tokens, events, clock }),
    devices,
    events,
    fileCredentials,
    integrity: new IntegrityService({ database, store: new IntegrityStore() }),
    messageOperations,
    messages: new MessageService({
      database,
      transactions,
      accounts,
      rules: contacts.messageRules,
      groupRules: groups.groupMessageRules,
      writer,
      operations: messageOperations,
      ids,
      clock,
      ...config.messages,
    }),
    pins: new PinService({ database, store: new PinStore(), accounts, ...groups, clock }),
    presence: new PresenceService(),
    pushPreferences: new PushPreferenceService({
      database,
      store: new PushPreferenceStore(),
      accounts,
    }),
    sweeper: new TransactionSweeper({ database, store: transactions, clock }),
    textErasures,
    tokens,
    writer,
  }
}
