/** Rows of the tables as lines of JSON, which digests and exports are made of (decision page 079). */
import type { Table } from '../db/columns.js'
import type { Queryable } from '../db/database.js'
import type { ColumnType } from '../db/dialect/dialect.js'
import { sql } from '../db/kysely.js'
import { type PersonalColumn, personalData } from '../db/personal-data.js'
import { type Schema, tables } from '../db/schema.js'

/** A column whose values are in lines. */
export interface LineColumn {
  readonly name: string
  /** The name of its member. */
  readonly member: string
  readonly kind: ColumnType
}

/** A table whose rows are in lines; its name is the type of the lines. */
export interface LineType {
  readonly name: keyof Schema
  /** The columns in the order of the members of a line, which is that of RFC 8785. */
  readonly columns: readonly LineColumn[]
  /** The columns that have other values after an import, with their kinds. */
  readonly remade: Readonly<Record<string, ColumnType>>
  /** The primary key. */
  readonly key: readonly string[]
}

/** A row of a table: 64-bit integers are decimal texts. */
export type LineRow = Readonly<Record<string, string | number | null>>

/** The member of the name of the table. */
const typeMember = 'type'
const rowsPerPage = 500

/** `move`: all of an installation; `portable`: applications, without credentials. */
export type ExportKind = 'move' | 'portable'

/** The types of the lines of each kind of export, each type after those that its rows refer to. */
export const lineTypes: Readonly<Record<ExportKind, readonly LineType[]>> = {
  move: typesWith(['move', 'portable']),
  portable: typesWith(['portable']),
}

function typesWith(transfers: readonly string[]): readonly LineType[] {
  return Object.entries<Table>(tables).flatMap(([name, { columns, key }]) => {
    const entries: Readonly<Record<string, PersonalColumn>> = personalData[name as keyof Schema]
    const isIn = (column: string) => transfers.includes(entries[column]?.transfer ?? '')
    const [moved, remade] = [true, false].map((wanted) =>
      Object.entries<ColumnType>(columns).filter(([column]) => isIn(column) === wanted),
    )
    if (!moved?.length) return []
    return {
      name: name as keyof Schema,
      columns: moved
        .map(([column, kind]) => ({ name: column, member: memberOf(column), kind }))
        .sort((a, b) => (a.member < b.member ? -1 : 1)),
      remade: Object.fromEntries(remade ?? []),
      key,
    }
  })
}

/** A column named type would take the member that tells the table. */
function memberOf(column: string): string {
  return column === typeMember ? 'kind' : column
}

/** Rows of one snapshot of a database, as lines. */
export interface LineScope {
  readonly types: readonly LineType[]
  /** The applications with the rows; null = all rows. */
  readonly apps: readonly string[] | null
  /** Returns a text of an application as lines have it. */
  readonly textOf?: (appId: string, text: string) => string
}

/** The lines that move an installation. */
export const wholeScope: LineScope = { types: lineTypes.move, apps: null }

/**
 * Returns the text of the line of a row: RFC 8785, without a line break.
 * @param textOf see {@link LineScope}
 */
export function lineOf(
  { name, columns }: LineType,
  row: LineRow,
  textOf?: LineScope['textOf'],
): string {
  let text = ''
  let isTyped = false
  for (const column of columns) {
    const value = row[column.name]
    if (value === null || value === undefined) continue
    if (!isTyped && column.member > typeMember) {
      text += `,"${typeMember}":"${name}"`
      isTyped = true
    }
    text += `,"${column.member}":`
    if (column.kind === 'text')
      text += JSON.stringify(textOf ? textOf(String(row.app_id), String(value)) : value)
    else text += column.kind === 'bigint' ? `"${value}"` : value
  }
  if (!isTyped) text += `,"${typeMember}":"${name}"`
  return `{${text.slice(1)}}`
}

/** A line that is not as its type demands; the message is the end of a sentence about it. */
export class LineError extends Error {
  override readonly name = 'LineError'
}

/** Returns the values of a line in the order of the columns. @throws LineError */
export function valuesOf(type: LineType, line: unknown): (string | number | null)[] {
  if (typeof line !== 'object' || line === null || Array.isArray(line))
    throw new LineError('is no object')
  const members = line as Record<string, unknown>
  if (members[typeMember] !== type.name)
    throw new LineError(`has the type ${String(members[typeMember])} among lines of ${type.name}`)
  let known = 1
  const values = type.columns.map(({ name, member, kind }) => {
    const value = members[member]
    if (value === undefined) {
      if (type.key.includes(name)) throw new LineError(`has no ${member}`)
      return null
    }
    known++
    return parsedValue(member, kind, value)
  })
  if (Object.keys(members).length !== known) throw new LineError(unknownMember(type, members))
  return values
}

function unknownMember({ name, columns }: LineType, members: Record<string, unknown>): string {
  const known = new Set([typeMember, ...columns.map(({ member }) => member)])
  const unknown = Object.keys(members).find((member) => !known.has(member))
  return `has a member ${unknown}, which lines of ${name} do not have in this version`
}

const integer = /^(?:0|-?[1-9]\d{0,18})$/
const greatest = { integer: 2 ** 31 - 1, smallint: 2 ** 15 - 1 } as const
const int64Bound = 2n ** 63n

function parsedValue(member: string, kind: ColumnType, value: unknown): string | number {
  if (kind === 'text') {
    if (typeof value === 'string') return value
  } else if (kind === 'bigint') {
    if (typeof value === 'string' && isInt64(value)) return value
  } else if (Number.isInteger(value) && Math.abs(value as number) <= greatest[kind])
    return value as number
  throw new LineError(`has no ${kind} in ${member}`)
}

function isInt64(text: string): boolean {
  if (!integer.test(text)) return false
  if (text.length < 19) return true
  const value = BigInt(text)
  return value < int64Bound && value >= -int64Bound
}

/**
 * Reads the rows of a table in pages, in the order of its primary key: memory stays flat, and both
 * databases find each page by the index of the key. The next page is read while a page is used.
 * @param db one snapshot of the data
 * @param appId the application with the rows; null = all rows
 */
export async function* readRows(
  db: Queryable,
  type: LineType,
  appId: string | null = null,
): AsyncGenerator<readonly LineRow[], void> {
  const selection = type.columns.map(({ name, kind }) =>
    kind === 'bigint' ? `cast(t."${name}" as text) as "${name}"` : `t."${name}"`,
  )
  const kinds = new Map(type.columns.map(({ name, kind }) => [name, kind]))
  const columns = sql.raw(selection.join(', '))
  const key = sql.raw(type.key.map((name) => `t."${name}"`).join(', '))
  const keyOf = (row: LineRow) =>
    type.key.map((name) => (kinds.get(name) === 'bigint' ? BigInt(row[name] as string) : row[name]))
  const pageAfter = async (last: LineRow | undefined) => {
    const conditions = [
      ...(appId === null ? [] : [sql`t.app_id = ${appId}`]),
      ...(last ? [sql`(${key}) > (${sql.join(keyOf(last))})`] : []),
    ]
    const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``
    const { rows } = await sql<LineRow>`select ${columns} from ${sql.table(type.name)} t ${where}
      order by ${key} limit ${sql.lit(rowsPerPage)}`.execute(db)
    return rows
  }
  let next: Promise<readonly LineRow[]> | null = pageAfter(undefined)
  while (next) {
    const page: readonly LineRow[] = await next
    next = page.length === rowsPerPage ? pageAfter(page.at(-1)) : null
    // Reported where it is awaited; a reader that stops before does not await it.
    next?.catch(() => {})
    if (page.length > 0) yield page
  }
}
