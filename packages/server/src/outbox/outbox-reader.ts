import type { OutboxStore } from './outbox-store.js'

export type { OutboxRow, PlacedUserChange } from './outbox-store.js'

/** Reads of the outbox for services that catch up by it. */
export type OutboxReader = Pick<
  OutboxStore,
  'firstSince' | 'head' | 'listAfter' | 'listOldest' | 'listUserChanges'
>
