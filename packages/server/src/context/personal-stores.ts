import type { ErasedTable } from '../db/personal-data.js'
import type { UserRows } from '../domain/users/deletion/user-erasure.js'
import type { Stores } from './stores.js'

/**
 * The stores that delete the rows of a user, or empty them (rule D5), in lock order: transactions
 * that change several of them lock in this order. Deliveries of pushes come before devices, and
 * devices before the rows added to them. A table with deleted rows that is missing does not compile
 * (db/personal-data.ts); those of user_changes are deleted later, with the texts of events, and those of
 * message_reactions by a job that changes the messages.
 */
export function personalStores(stores: Stores): readonly UserRows[] {
  const storeOf: Record<
    | Exclude<ErasedTable, 'user_changes' | 'message_reactions'>
    | 'readers'
    | 'users'
    | 'message_streams',
    UserRows
  > = {
    contact_requests: stores.contactRequests,
    contacts: stores.contacts,
    push_deliveries: stores.pushDeliveries,
    devices: stores.devices,
    group_join_requests: stores.joinRequests,
    group_blocks: stores.groupBlocks,
    group_invitations: stores.groupInvitations,
    group_invitation_counts: stores.groupInvitations,
    group_mute_gaps: stores.muteGaps,
    group_members: stores.members,
    group_removals: stores.removals,
    pinned_conversations: stores.pins,
    push_aliases: stores.pushPreferences,
    push_tags: stores.pushPreferences,
    push_bindings: stores.pushBindings,
    silent_push_bindings: stores.pushBindings,
    login_networks: stores.loginNetworks,
    user_identities: stores.identities,
    readers: stores.readers,
    message_streams: stores.streams,
    imported_items: stores.imports,
    user_settings: stores.settings,
    user_badges: stores.users,
    users: stores.users,
  }
  return [...new Set(Object.values(storeOf))]
}
