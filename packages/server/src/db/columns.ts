/**
 * Columns and their names in code. Each table is described once, in schema.ts: the types of its rows
 * and the kinds of bulk parameters derive from the description. The column `user_id` is `userId` in
 * code: {@link camelCase} selects it so, {@link snakeCase} names values for inserts and updates, and
 * `rowOf` makes rows for bulk statements.
 */
import type { Int64 } from '@hermod/protocol'
import type { ColumnType } from './dialect/dialect.js'
import type { Generated, SelectType } from './kysely.js'

declare const value: unique symbol

/** The SQL type of a column, with the type of its values in code. */
export type Column<Value> = ColumnType & { readonly [value]: Value }
/** Columns by name, in the order of the table. */
export type Columns = Readonly<Record<string, Column<unknown>>>

/** Text of any length. */
export const text = 'text' as Column<string>
/** A 16-bit number: a flag, or a value of an enumeration. */
export const smallint = 'smallint' as Column<number>
/** A 32-bit number. */
export const integer = 'integer' as Column<number>
/** A 64-bit number in the exact range of `number`: an instant, a position, a size. */
export const bigint = 'bigint' as Column<number>
/** A 64-bit number that may be beyond the exact range of `number`, such as the ID of a user. */
export const int64 = 'bigint' as Column<Int64>

/** A column that may be null. */
export function nullable<Value>(column: Column<Value>): Column<Value | null> {
  return column as Column<Value | null>
}

/** A column with a default. */
export function generated<Value>(column: Column<Value>): Column<Generated<Value>> {
  return column as Column<unknown> as Column<Generated<Value>>
}

/** A table, with the names of its primary key in their order. */
export interface Table<Described extends Columns = Columns> {
  readonly columns: Described
  readonly key: readonly string[]
}

/** Describes a table with its primary key. */
export function keyed<Described extends Columns>(
  columns: Described,
  ...key: readonly (keyof Described & string)[]
): Table<Described> {
  return { columns, key }
}

/** A table as the query builder sees it. */
export type TableOf<Table extends Columns> = {
  [Name in keyof Table]: Table[Name] extends Column<infer Value> ? Value : never
}

/** A row of a table, or of some columns, by the names in code. */
export type TableRow<Table extends Columns> = {
  readonly [Name in keyof Table as CamelCase<Name>]: Table[Name] extends Column<infer Value>
    ? SelectType<Value>
    : never
}

/** The name in code of a column. */
export type CamelCase<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

/** The selection of a column by its name in code. */
type Selected<Column, Table extends string> = Column extends string
  ? `${Table extends '' ? '' : `${Table}.`}${Column extends `${string}_${string}` ? `${Column} as ${CamelCase<Column>}` : Column}`
  : never

/**
 * Selects columns by their names in code: `nick_name` is selected as `nickName`.
 * @param columns names, or the description of a table for all of its columns
 * @param table the name of the table in a statement about several
 */
export function camelCase<const Name extends string, const Table extends string = ''>(
  columns: readonly Name[] | Readonly<Record<Name, unknown>>,
  table?: Table,
): Selected<Name, Table>[] {
  const names: readonly string[] = Array.isArray(columns) ? columns : Object.keys(columns)
  return names.map((column) => {
    const name = camelCaseOf(column)
    const alias = name === column ? '' : ` as ${name}`
    return `${table ? `${table}.` : ''}${column}${alias}` as Selected<Name, Table>
  })
}

/** The text of {@link camelCase} for bulk statements. */
export function camelCaseText(...selection: Parameters<typeof camelCase>): string {
  return camelCase(...selection)
    .map((selected) => selected.replace(/ as (\w+)$/, ' as "$1"'))
    .join(', ')
}

/**
 * Names values as their columns, for inserts and updates: `nickName` becomes `nick_name`. Members that
 * are no column of the table are left out.
 */
export function snakeCase<Table extends Columns, Values extends object>(
  table: Table,
  values: Values,
): {
  [Name in keyof Table as CamelCase<Name> extends keyof Values
    ? Name
    : never]: Values[CamelCase<Name> & keyof Values]
} {
  const row: Record<string, unknown> = {}
  for (const column of Object.keys(table)) {
    const name = camelCaseOf(column)
    if (name in values) row[column] = values[name as keyof Values]
  }
  return row as ReturnType<typeof snakeCase<Table, Values>>
}

/**
 * Gives a row values that have another form in code, such as booleans for flags. It changes the row
 * itself, which costs a fraction of spreading it into another object, so the row must be the caller's
 * own: one that it has just read.
 */
export function convert<Values extends object, Changes extends object>(
  row: Values,
  changes: Changes,
): Omit<Values, keyof Changes> & Changes {
  return Object.assign(row, changes)
}

/** The columns of a table with these names. */
export function columnsOf<Table extends Columns, const Name extends keyof Table & string>(
  table: Table,
  ...names: readonly Name[]
): Pick<Table, Name> {
  return Object.fromEntries(names.map((name) => [name, table[name]])) as Pick<Table, Name>
}

/** The name in code of a column: `user_id` is `userId`. */
export function camelCaseOf(column: string): string {
  return column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
