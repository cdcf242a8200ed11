import type { UserStore } from './user-store.js'

/**
 * Operations of login on users: finding them by login name, and locking and changing their
 * credentials.
 */
export type UserCredentials = Pick<
  UserStore,
  | 'find'
  | 'findBy'
  | 'lockKeyShare'
  | 'lockForUpdate'
  | 'endCredentials'
  | 'noteAssertion'
  | 'replacePasswordHash'
  | 'update'
>
