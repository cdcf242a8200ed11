import type { UserRows } from '../domain/users/deletion/user-erasure.js'
import type { Stores } from './stores.js'

/**
 * Every store with rows that are deleted with a user (rule D5). Rows that belong to others too are
 * kept: conversations, messages, their recalls and receipts, groups with their announcements and
 * files. So are rows that expire: revoked tokens, transaction IDs and events; the counts of pushes;
 * and the user's row, which keeps the ID known. Deliveries of pushes come before devices, and
 * devices before the rows added to them. Transactions that change several of them lock in this
 * order.
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
    stores.loginNetworks,
    stores.identities,
    stores.readers,
    stores.settings,
  ]
}
