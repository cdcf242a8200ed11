import type { Tx } from '../../../db/database.js'
import type { UserKey } from '../user-model.js'

/** A store with rows that are deleted with their user. */
export interface UserRows {
  /** Deletes the rows within a transaction that has locked the user's row. */
  eraseUser(tx: Tx, user: UserKey): Promise<void>
}
