import type { UserStore } from './user-store.js'

/** What logging in needs of the users: to find them by what they are called, and to lock and change what they prove themselves with. */
export type UserCredentials = Pick<
  UserStore,
  | 'find'
  | 'findBy'
  | 'lockKeyShare'
  | 'lockForUpdate'
  | 'raiseCredentialEpoch'
  | 'replacePasswordHash'
  | 'update'
>
