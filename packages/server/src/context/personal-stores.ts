import type { ContactRequestStore } from '../domain/contacts/contact-request-store.js'
import type { ContactStore } from '../domain/contacts/contact-store.js'
import type { DeviceStore } from '../domain/devices/device-store.js'
import type { PushBindingStore } from '../domain/devices/push-binding-store.js'
import type { InvitationStore } from '../domain/groups/admission/invitation-store.js'
import type { JoinRequestStore } from '../domain/groups/admission/join-request-store.js'
import type { MemberStore } from '../domain/groups/membership/member-store.js'
import type { RemovalStore } from '../domain/groups/membership/removal-store.js'
import type { BlockStore } from '../domain/groups/moderation/block-store.js'
import type { ConversationStore } from '../domain/messaging/reading/conversation-store.js'
import type { PinStore } from '../domain/messaging/reading/pin-store.js'
import type { PushPreferenceStore } from '../domain/push/push-preference-store.js'
import type { UserRows } from '../domain/users/deletion/user-erasure.js'
import type { SettingsStore } from '../domain/users/settings/settings-store.js'

export interface PersonalStores {
  readonly contactRequests: ContactRequestStore
  readonly contacts: ContactStore
  readonly devices: DeviceStore
  readonly joinRequests: JoinRequestStore
  readonly blocks: BlockStore
  readonly invitations: InvitationStore
  readonly members: MemberStore
  readonly removals: RemovalStore
  readonly pins: PinStore
  readonly pushPreferences: PushPreferenceStore
  readonly pushBindings: PushBindingStore
  readonly conversations: ConversationStore
  readonly settings: SettingsStore
}

/**
 * Every store with rows that go with a user (decision D5). What stays is what belongs to the others: conversations, messages, their
 * recalls and receipts, groups with their announcements and files; what ends by itself: revoked tokens, transaction IDs and events; and
 * the user's row, which keeps the ID from being unknown. Devices come before what is added to them by those who lock them.
 */
export function personalStores(stores: PersonalStores): readonly UserRows[] {
  return [
    stores.contactRequests,
    stores.contacts,
    stores.devices,
    stores.joinRequests,
    stores.blocks,
    stores.invitations,
    stores.members,
    stores.removals,
    stores.pins,
    stores.pushPreferences,
    stores.pushBindings,
    stores.conversations,
    stores.settings,
  ]
}
