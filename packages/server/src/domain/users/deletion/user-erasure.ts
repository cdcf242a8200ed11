import type { Tx } from '../../../db/database.js'
import type { UserKey } from '../user-model.js'

/** A store with rows that are deleted or emptied with their user. */
export interface UserRows {
  /** Erases the rows at an instant, within a transaction that has locked the user's row. */
  eraseUser(tx: Tx, user: UserKey, at: number): Promise<void>
}
