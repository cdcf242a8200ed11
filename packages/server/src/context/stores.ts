import type { Database } from '../db/database.js'
import { databaseNow } from '../db/database-now.js'
import { AppStore } from '../domain/apps/app-store.js'
import { ContactRequestStore } from '../domain/contacts/contact-request-store.js'
import { ContactStore } from '../domain/contacts/contact-store.js'
import { DeviceStore } from '../domain/devices/device-store.js'
import { PushBindingStore } from '../domain/devices/push-binding-store.js'
import { HoldStore } from '../domain/erasure/holds/hold-store.js'
import { FileStore } from '../domain/files/file-store.js'
import { FileWithdrawalStore } from '../domain/files/file-withdrawal-store.js'
import { InvitationStore } from '../domain/groups/admission/invitation-store.js'
import { JoinRequestStore } from '../domain/groups/admission/join-request-store.js'
import { GroupStore } from '../domain/groups/core/group-store.js'
import { MemberStore } from '../domain/groups/membership/member-store.js'
import { RemovalStore } from '../domain/groups/membership/removal-store.js'
import { BlockStore } from '../domain/groups/moderation/block-store.js'
import { IdentityStore } from '../domain/identity/identities/identity-store.js'
import { ImportStore } from '../domain/imports/import-store.js'
import { LoginNetworkStore } from '../domain/login/login-network-store.js'
import { TokenStore } from '../domain/login/token-store.js'
import { LongJobStore } from '../domain/long-jobs/long-job-store.js'
import { ConversationStore } from '../domain/messaging/conversations/conversation-store.js'
import { PeerKinds } from '../domain/messaging/conversations/peer-kinds.js'
import { PinStore } from '../domain/messaging/conversations/pin-store.js'
import { ChangeStore } from '../domain/messaging/log/change-store.js'
import { MessageStore } from '../domain/messaging/log/message-store.js'
import { StoredMessages } from '../domain/messaging/log/stored-messages.js'
import { PinnedMessageStore } from '../domain/messaging/log/pinned-message-store.js'
import { ReactionStore } from '../domain/messaging/log/reaction-store.js'
import { MuteGapStore } from '../domain/messaging/readers/mute-gap-store.js'
import { ReaderStore } from '../domain/messaging/readers/reader-store.js'
import { StreamStore } from '../domain/messaging/streams/stream-store.js'
import { DeliveryStore } from '../domain/push/deliveries/delivery-store.js'
import { PushPreferenceStore } from '../domain/push/preferences/push-preference-store.js'
import { TaskStore } from '../domain/push/tasks/task-store.js'
import { SessionStore } from '../domain/sessions/session-store.js'
import { UserCountStore } from '../domain/users/registration/user-count-store.js'
import { SettingsStore } from '../domain/users/settings/settings-store.js'
import { UserStore } from '../domain/users/user-store.js'
import { WaitingEventStore } from '../domain/webhooks/waiting/waiting-event-store.js'
import { JobStore } from '../jobs/job-store.js'
import type { Clock } from '../lib/clock.js'
import { NodeStore } from '../nodes/node-store.js'
import { ShareStore } from '../nodes/share-store.js'
import { OutboxStore } from '../outbox/outbox-store.js'
import type { Caches } from './caches.js'

export type Stores = ReturnType<typeof createStores>

/**
 * The stores that several domains use; each domain makes its own ones. A store that writes the
 * sources of a cache invalidates the cache.
 */
export function createStores({
  database,
  clock,
  caches: { adminTokens, apps, broadcastSenders, groups, members, relations, tokens, userStates },
}: {
  readonly database: Database
  readonly clock: Clock
  readonly caches: Caches
}) {
  return {
    apps: new AppStore({ apps, adminTokens }),
    changes: new ChangeStore(database),
    contactRequests: new ContactRequestStore(),
    contacts: new ContactStore(database, { relations, userStates }),
    conversations: new ConversationStore(database),
    devices: new DeviceStore(database),
    erasureHolds: new HoldStore(),
    files: new FileStore(database),
    fileWithdrawals: new FileWithdrawalStore(database),
    groups: new GroupStore(database, groups),
    groupBlocks: new BlockStore(database),
    groupInvitations: new InvitationStore(database),
    identities: new IdentityStore(database),
    imports: new ImportStore(database),
    jobs: new JobStore(databaseNow(database.dialect, clock)),
    joinRequests: new JoinRequestStore(database),
    loginNetworks: new LoginNetworkStore(),
    longJobs: new LongJobStore(),
    members: new MemberStore(database, members),
    messages: new MessageStore(database),
    muteGaps: new MuteGapStore(database),
    nodes: new NodeStore(database),
    outbox: new OutboxStore(database),
    peerKinds: new PeerKinds(database),
    pinnedMessages: new PinnedMessageStore(),
    pins: new PinStore(database),
    pushBindings: new PushBindingStore(database),
    pushDeliveries: new DeliveryStore(database),
    pushPreferences: new PushPreferenceStore(),
    pushTasks: new TaskStore(database),
    reactions: new ReactionStore(database),
    readers: new ReaderStore(database),
    removals: new RemovalStore(database),
    sessions: new SessionStore(),
    shares: new ShareStore(database),
    streams: new StreamStore(),
    settings: new SettingsStore(database, userStates),
    storedMessages: new StoredMessages(database),
    tokens: new TokenStore(database, tokens),
    userCounts: new UserCountStore(broadcastSenders),
    users: new UserStore(database, userStates),
    waitingEvents: new WaitingEventStore(database),
  }
}
