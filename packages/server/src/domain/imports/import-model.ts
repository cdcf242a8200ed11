import type { Int64 } from '@hermod/protocol'
import type { TableRow } from '../../db/columns.js'
import type { importedItemsTable, importsTable } from '../../db/schema.js'

/** An import from another system. */
export type Import = TableRow<typeof importsTable>

/** The name of an import in its app. */
export interface ImportKey {
  readonly appId: string
  readonly source: string
}

/** A group or message that was imported, by its ID in the other system. */
export type ImportedItem = TableRow<typeof importedItemsTable>

/** The kinds of imported items. */
export const importedKind = { group: 0, message: 1 } as const

/** An item with its ID, new or known. */
export interface ImportedAs {
  readonly isNew: boolean
  readonly id: Int64
}
