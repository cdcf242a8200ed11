import type { Tx } from '../../../db/database.js'
import type { UserKey } from '../user-model.js'

/** A store whose rows, or some of them, go with a user. */
export interface UserRows {
  /** Deletes them within a transaction that has locked the user's row. */
  eraseUser(tx: Tx, user: UserKey): Promise<void>
}
