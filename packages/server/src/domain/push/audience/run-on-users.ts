import type { Database } from '../../../db/database.js'
import type { Procedure } from '../../../db/procedure.js'
import type { Recipient } from '../tasks/task-model.js'

/** So many are looked at beside the event loop; fewer take it less time than a thread takes to start. */
const manyUsers = 40

/** Runs a procedure that looks at users of an audience where it keeps calls waiting least. */
export function runOnUsers<Input extends { readonly recipients: readonly Recipient[] }, Output>(
  database: Database,
  procedure: Procedure<Input, Output>,
  users: Input,
): Promise<Output> {
  return users.recipients.length < manyUsers
    ? database.procedure(procedure, users, null)
    : database.procedureBeside(procedure, users)
}
