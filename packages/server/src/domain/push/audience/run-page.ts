import type { Database } from '../../../db/database.js'
import type { Procedure } from '../../../db/procedure.js'
import type { Recipient } from '../tasks/task-model.js'

/** So many are looked at beside the event loop; fewer take it less time than a thread takes to start. */
const manyUsers = 40

/** Runs a procedure on users of an audience where it keeps calls waiting least. */
export function runPage<Input extends { readonly recipients: readonly Recipient[] }, Output>(
  database: Database,
  procedure: Procedure<Input, Output>,
  page: Input,
): Promise<Output> {
  return page.recipients.length < manyUsers
    ? database.procedure(procedure, page, null)
    : database.procedureBeside(procedure, page)
}
