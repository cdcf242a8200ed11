import type { UserRows } from '../domain/users/deletion/user-erasure.js'
import type { Stores } from './stores.js'

/**
 * Every store with rows that go with a user (rule D5). What stays is what belongs to the others: conversations, messages, their recalls
 * and receipts, groups with their announcements and files; what ends by itself: revoked tokens, transaction IDs and events; the
 * counts of pushes; and the user's row, which keeps the ID from being unknown. Deliveries of pushes come before devices, and devices
 * before what is added to them, as those lock who change several of them.
 */
export function personalStores(stores: Stores): readonly UserRows[] {
  return [
    stores.contactRequests,
    stores.contacts,
    stores.pushDeliveries,
    stores.devices,
    stores.joinRequests,
    stores.groupBlocks,
    stores.groupInvitations,
    stores.muteGaps,
    stores.members,
    stores.removals,
    stores.pins,
    stores.pushPreferences,
    stores.pushBindings,
    stores.conversations,
    stores.broadcastMarks,
    stores.settings,
  ]
}
