import { personalData } from '../../../db/personal-data.js'
import { personalTables } from '../personal-rows-store.js'

/** A table as the export of a person has it. */
export interface ExportedTable {
  readonly table: string
  /** The column by which rows are the person's own words. */
  readonly author: string
  /** The columns by which a row is the person's. */
  readonly owners: readonly string[]
  /** The columns of a line. */
  readonly columns: readonly string[]
  /** Columns that are left out of rows of other authors. */
  readonly words: readonly string[]
  readonly order: readonly string[]
}

/** Credentials, which are of no use to a person, and forms of other columns for searches. */
const withheld = /(?:_hash|^token_hash|^device_token|^push_token|_key|^removal_id|^upload_id)$/
/** Rows in which another person has the user, which would tell who blocks the user. */
const ofOthers: Readonly<Record<string, string>> = { contacts: 'peer_id' }
/** The author of rows that name two persons. */
const authors: Readonly<Record<string, string>> = {
  contact_requests: 'applicant_id',
  group_invitations: 'inviter_id',
}
/** Columns that only the author of a row gets. */
const ofAuthor: Readonly<Record<string, (column: string) => boolean>> = {
  contact_requests: (column) => /^(?:alias|reason)$/.test(column),
  group_invitations: (column) => column === 'reason',
}
/** The key of the one table that may be large. */
const orders: Readonly<Record<string, readonly string[]>> = {
  messages: ['low_id', 'high_id', 'msg_id'],
}

/** The tables with rows of persons, by the table of personal data. */
export const exportedTables: readonly ExportedTable[] = personalTables.flatMap(
  ([table, entries]) => {
    const owners = Object.keys(entries).filter(
      (column) => entries[column]?.isOwner && column !== ofOthers[table],
    )
    const [first] = owners
    if (first === undefined) return []
    const columns = Object.keys(entries).filter((column) => !withheld.test(column))
    const isOfAuthor = ofAuthor[table]
    return [
      {
        ...{ table, owners, columns },
        author: authors[table] ?? first,
        words: isOfAuthor ? columns.filter(isOfAuthor) : [],
        order: orders[table] ?? columns,
      },
    ]
  },
)

/** The profile: the columns of users that an erasure empties. */
export const profileColumns: readonly string[] = Object.entries(personalData.users)
  .filter(([column, { erase }]) => erase === 'anonymise' && !withheld.test(column))
  .map(([column]) => column)
