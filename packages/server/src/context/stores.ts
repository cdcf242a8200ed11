import type { Database } from '../db/database.js'
import { ReaderStore } from '../delivery/receivers/reader-store.js'
import { AppStore } from '../domain/apps/app-store.js'
import { ContactRequestStore } from '../domain/contacts/contact-request-store.js'
import { ContactStore } from '../domain/contacts/contact-store.js'
import { DeviceStore } from '../domain/devices/device-store.js'
import { PushBindingStore } from '../domain/devices/push-binding-store.js'
import { FileReferenceStore } from '../domain/files/file-reference-store.js'
import { FileStore } from '../domain/files/file-store.js'
import { FileUsageStore } from '../domain/files/file-usage-store.js'
import { FileWithdrawalStore } from '../domain/files/file-withdrawal-store.js'
import { ReferencingTextStore } from '../domain/files/references/referencing-text-store.js'
import { InvitationStore } from '../domain/groups/admission/invitation-store.js'
import { JoinRequestStore } from '../domain/groups/admission/join-request-store.js'
import { AnnouncementStore } from '../domain/groups/content/announcement-store.js'
import { SharedFileStore } from '../domain/groups/content/shared-file-store.js'
import { GroupStore } from '../domain/groups/core/group-store.js'
import { MemberListStore } from '../domain/groups/membership/member-list-store.js'
import { MemberStore } from '../domain/groups/membership/member-store.js'
import { MuteGapStore } from '../domain/groups/membership/mute-gap-store.js'
import { RemovalStore } from '../domain/groups/membership/removal-store.js'
import { BlockStore } from '../domain/groups/moderation/block-store.js'
import { IntegrityStore } from '../domain/integrity/integrity-store.js'
import { LoginNetworkStore } from '../domain/login/login-network-store.js'
import { TokenStore } from '../domain/login/token-store.js'
import { ConversationListStore } from '../domain/messaging/conversations/conversation-list-store.js'
import { ConversationStore } from '../domain/messaging/conversations/conversation-store.js'
import { PeerKinds } from '../domain/messaging/conversations/peer-kinds.js'
import { PinStore } from '../domain/messaging/conversations/pin-store.js'
import { ChangeStore } from '../domain/messaging/log/change-store.js'
import { HistoryStore } from '../domain/messaging/log/history-store.js'
import { MessageStore } from '../domain/messaging/log/message-store.js'
import { StoredMessages } from '../domain/messaging/log/stored-messages.js'
import { BroadcastPositionStore } from '../domain/messaging/positions/broadcast-position-store.js'
import { MemberPositionStore } from '../domain/messaging/positions/member-position-store.js'
import { ReceiptRequestStore } from '../domain/messaging/positions/receipt-request-store.js'
import { RetentionWalkStore } from '../domain/messaging/retention/retention-walk-store.js'
import { HeadStore } from '../domain/messaging/sync/head-store.js'
import { SyncStore } from '../domain/messaging/sync/sync-store.js'
import { TransactionStore } from '../domain/messaging/transactions/transaction-store.js'
import { AudienceStore } from '../domain/push/audience/audience-store.js'
import { CertificateStore } from '../domain/push/certificates/certificate-store.js'
import { DeliveryStore } from '../domain/push/deliveries/delivery-store.js'
import { RecipientStore } from '../domain/push/deliveries/recipient-inputs.js'
import { ReadMessageStore } from '../domain/push/messages/read-message-store.js'
import { ReceiverStore } from '../domain/push/messages/receiver-store.js'
import { PushPreferenceStore } from '../domain/push/preferences/push-preference-store.js'
import { TaskStore } from '../domain/push/tasks/task-store.js'
import { KeyCheckStore } from '../domain/secrets/key-check-store.js'
import { UserImportStore } from '../domain/users/import/user-import-store.js'
import { UserCountStore } from '../domain/users/registration/user-count-store.js'
import { SettingsStore } from '../domain/users/settings/settings-store.js'
import { UserStore } from '../domain/users/user-store.js'
import { AttemptStore } from '../domain/webhooks/attempts/attempt-store.js'
import { ConsumerStore } from '../domain/events/consumer-store.js'
import { EndpointStore } from '../domain/webhooks/endpoints/endpoint-store.js'
import { WaitingEventStore } from '../domain/webhooks/waiting/waiting-event-store.js'
import { JobStore } from '../jobs/job-store.js'
import { LeaseStore } from '../jobs/lease-store.js'
import type { Clock } from '../lib/clock.js'
import { OutboxStore } from '../outbox/outbox-store.js'
import type { Caches } from './caches.js'

export type Stores = ReturnType<typeof createStores>

/** Every store, once. A store that writes the sources of a cache invalidates the cache. */
export function createStores({
  database,
  clock,
  caches: {
    adminTokens,
    apps,
    broadcastSenders,
    certificateOwners,
    certificates,
    groups,
    members,
    relations,
    tokens,
    userStates,
  },
}: {
  readonly database: Database
  readonly clock: Clock
  readonly caches: Caches
}) {
  return {
    eventConsumers: new ConsumerStore(),
    waitingEvents: new WaitingEventStore(database),
    webhookAttempts: new AttemptStore(database),
    webhookEndpoints: new EndpointStore(),
    announcements: new AnnouncementStore(),
    apps: new AppStore({ apps, adminTokens }),
    broadcastPositions: new BroadcastPositionStore(database),
    certificates: new CertificateStore({ certificates, certificateOwners }),
    changes: new ChangeStore(database),
    contactRequests: new ContactRequestStore(),
    contacts: new ContactStore(database, { relations, userStates }),
    conversationLists: new ConversationListStore(database),
    conversations: new ConversationStore(database),
    devices: new DeviceStore(),
    fileReferences: new FileReferenceStore(database),
    files: new FileStore(database),
    fileUsage: new FileUsageStore(),
    fileWithdrawals: new FileWithdrawalStore(database),
    groupBlocks: new BlockStore(database),
    groupInvitations: new InvitationStore(database),
    memberPositions: new MemberPositionStore(database),
    groups: new GroupStore(database, groups),
    history: new HistoryStore(database),
    integrity: new IntegrityStore(),
    jobs: new JobStore(),
    leases: new LeaseStore(database, clock),
    joinRequests: new JoinRequestStore(database),
    keyChecks: new KeyCheckStore(),
    memberLists: new MemberListStore(),
    members: new MemberStore(database, members),
    messages: new MessageStore(database),
    muteGaps: new MuteGapStore(database),
    referencingTexts: new ReferencingTextStore(database),
    outbox: new OutboxStore(database),
    peerKinds: new PeerKinds(database),
    pins: new PinStore(database),
    pushBindings: new PushBindingStore(database),
    pushAudiences: new AudienceStore(database),
    pushDeliveries: new DeliveryStore(database),
    pushPreferences: new PushPreferenceStore(),
    pushRecipients: new RecipientStore(database),
    pushTasks: new TaskStore(database),
    readers: new ReaderStore(database),
    readMessages: new ReadMessageStore(database),
    receiptRequests: new ReceiptRequestStore(database),
    receivers: new ReceiverStore(database),
    removals: new RemovalStore(database),
    settings: new SettingsStore(database, userStates),
    retentionWalk: new RetentionWalkStore(database),
    sharedFiles: new SharedFileStore(),
    storedMessages: new StoredMessages(database),
    heads: new HeadStore(database),
    sync: new SyncStore(database),
    loginNetworks: new LoginNetworkStore(),
    tokens: new TokenStore(database, tokens),
    transactions: new TransactionStore(),
    userCounts: new UserCountStore(broadcastSenders),
    userImports: new UserImportStore(),
    users: new UserStore(database, userStates),
  }
}
