import type { Database, Queryable } from '../db/database.js'
import type { Bulk } from '../db/dialect/dialect.js'
import { toInt64 } from '../lib/ids/int64.js'
import { rowsOf, type WorkOptions } from './digest.js'
import { type ImportState, moveImport } from './import-store.js'
import { LineError, type LineType, valuesOf } from './lines.js'
import { type CompleteExport, type ExportManifest, linesPart } from './manifest.js'
import { readLineBatches } from './part-lines.js'
import { TransferError } from './transfer-error.js'

/** Values of a line in the order of the columns of its type: 64-bit integers are decimal texts. */
export type LineValues = readonly (string | number | null)[]

/** The rules of a kind of import for the rows that it writes. */
export interface RowRules {
  readonly types: readonly LineType[]
  /**
   * Checks the values of a line.
   * @returns the values that are stored
   * @throws LineError
   */
  accept?(type: LineType, values: LineValues): LineValues
  /** Returns values of the columns that are in no line; the other ones are '' or 0. */
  made?(type: LineType, values: LineValues): Readonly<Record<string, string | number>>
}

/** A line that cannot be imported. */
export interface LineProblem {
  readonly type: string
  /** From 1. */
  readonly line: number
  readonly reason: string
}

/** The contents of an export, and what of them cannot be imported. */
export interface ExportCheck {
  /** The rows of each type. */
  readonly counts: Readonly<Record<string, number>>
  /** Lines that cannot be imported. */
  readonly problems: number
  /** The first of them. */
  readonly samples: readonly LineProblem[]
}

const maxSamples = 20
/** Tables with rows in an empty database, which an import changes. */
export const seeded: readonly string[] = ['database_identity']

/** Reads all lines of an export, which is verified, without writing anything. */
export async function checkExport(
  found: CompleteExport,
  { rules, ...options }: WorkOptions & { readonly rules: RowRules },
): Promise<ExportCheck> {
  const total = rowsOf(found.manifest.digest)
  const counts: Record<string, number> = {}
  const samples: LineProblem[] = []
  let problems = 0
  let done = 0
  for (const type of typesIn(found.manifest, rules)) {
    let count = 0
    for await (const { lines } of readLineBatches(found.folder, linesPart(type.name))) {
      options.signal?.throwIfAborted()
      for (const line of lines) {
        count++
        const reason = problemOf(rules, type, line)
        if (reason === null) continue
        problems++
        if (samples.length < maxSamples) samples.push({ type: type.name, line: count, reason })
      }
      done += lines.length
      options.progress?.({ done, total, text: `reading ${type.name}` })
    }
    if (count > 0) counts[type.name] = count
  }
  return { counts, problems, samples }
}

interface RowImport {
  readonly database: Database
  readonly db: Queryable
  readonly state: ImportState
  readonly rules: RowRules
}

/**
 * Writes the rows of an export, each batch together with the progress.
 * @throws TransferError
 */
export async function importRows(
  { folder, manifest }: CompleteExport,
  { database, db, state: begun, rules }: RowImport,
  { signal, progress }: WorkOptions,
): Promise<void> {
  const types = typesIn(manifest, rules)
  const total = rowsOf(manifest.digest)
  let state = begun
  let writing: Promise<unknown> = Promise.resolve()
  const first = types.findIndex(({ name }) => name === state.part)
  const rest = first < 0 ? [] : types.slice(first)
  const before = types.slice(0, types.length - rest.length)
  let done = state.lines + before.reduce((sum, { name }) => sum + countOf(manifest, name), 0)
  const write = (next: ImportState, statement?: Bulk, rows: readonly unknown[][] = []) => {
    const previous = state
    state = next
    writing = db.transaction().execute(async (tx) => {
      if (statement) await insert(() => database.bulk(tx, statement, rows), previous, next)
      if (!(await moveImport(tx, previous, next)))
        throw new TransferError('another process imports into the database; wait for its end')
    })
    // Reported where it is awaited, after the next batch is read.
    writing.catch(() => {})
  }
  for (const [at, type] of rest.entries()) {
    const statement = statementOf(type)
    const batches = readLineBatches(folder, linesPart(type.name), state.bytes)
    for await (const { lines, end } of batches) {
      signal?.throwIfAborted()
      const rows = lines.map((line, index) =>
        rowOf(rules, type, { line, number: state.lines + index + 1 }),
      )
      await writing
      write({ ...state, bytes: end, lines: state.lines + lines.length }, statement, rows)
      done += lines.length
      progress?.({ done, total, text: type.name })
    }
    await writing
    write({ ...state, part: rest[at + 1]?.name ?? '', bytes: 0, lines: 0 })
    await writing
  }
}

/** Texts of both engines, with what is wrong with the lines. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [/unique constraint|duplicate key/i, 'two rows have one key'],
  [/not.null constraint/i, 'a member that every row has is missing'],
  [/constraint/i, 'a value is not one that rows have'],
  [/out of range|invalid byte sequence/i, 'the database cannot store a value'],
]

/** @throws TransferError for rows that the database refuses, such as two with one key */
async function insert(
  write: () => Promise<unknown>,
  { part, lines: from }: ImportState,
  { lines: to }: ImportState,
): Promise<void> {
  try {
    await write()
  } catch (error) {
    const { message } = error as Error
    const [, reason] = refusals.find(([text]) => text.test(message)) ?? []
    if (reason === undefined) throw error
    throw new TransferError(
      `one of the lines ${from + 1} to ${to} of ${linesPart(part)} cannot be written: ${reason}; run hermod export again`,
      { cause: error },
    )
  }
}

/** Returns the types with lines in an export, in the order in which their rows are written. */
export function typesIn({ parts }: ExportManifest, { types }: RowRules): readonly LineType[] {
  const names = new Set(parts.map(({ name }) => name))
  return types.filter(({ name }) => names.has(linesPart(name)))
}

function countOf({ digest }: ExportManifest, type: string): number {
  return digest[type]?.count ?? 0
}

/** Inserts the rows of a type; columns that are made again are empty until then. */
function statementOf({ name, columns, remade, key }: LineType): Bulk {
  const kinds = Object.fromEntries(columns.map((column) => [column.name, column.kind]))
  if (!seeded.includes(name)) return { table: name, columns: { ...kinds, ...remade } }
  const isKey = (column: string) => key.includes(column)
  const parts = [false, true].map((wanted) =>
    Object.fromEntries(Object.entries(kinds).filter(([column]) => isKey(column) === wanted)),
  )
  return { table: name, set: parts[0] ?? {}, keys: parts[1] ?? {} }
}

function rowOf(
  rules: RowRules,
  type: LineType,
  { line, number }: { readonly line: string; readonly number: number },
): unknown[] {
  const problem = (reason: string) =>
    new TransferError(
      `line ${number} of ${linesPart(type.name)} ${reason}; hermod import --check lists all such lines`,
    )
  try {
    const values = parsedValues(rules, type, line)
    const made = rules.made?.(type, values) ?? {}
    const row = values.map((value, at) =>
      type.columns[at]?.kind === 'bigint' && value !== null ? toInt64(String(value)) : value,
    )
    const { name, columns, remade, key } = type
    if (!seeded.includes(name))
      return [
        ...row,
        ...Object.entries(remade).map(([at, kind]) => made[at] ?? (kind === 'text' ? '' : 0)),
      ]
    const ordered = [false, true].flatMap((isKey) =>
      columns.flatMap((column, at) => (key.includes(column.name) === isKey ? [row[at]] : [])),
    )
    return ordered
  } catch (error) {
    if (error instanceof LineError) throw problem(error.message)
    throw error
  }
}

/** @returns the end of a sentence about a line that cannot be imported, or null */
function problemOf(rules: RowRules, type: LineType, line: string): string | null {
  try {
    parsedValues(rules, type, line)
    return null
  } catch (error) {
    if (error instanceof LineError) return error.message
    throw error
  }
}

function parsedValues({ accept }: RowRules, type: LineType, line: string): LineValues {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    throw new LineError('is no JSON')
  }
  const values = valuesOf(type, parsed)
  requireStorable(type, values)
  return accept ? accept(type, values) : values
}

/**
 * PostgreSQL does not store U+0000, and the driver of SQLite cuts texts at it. No database stores a
 * half of a surrogate pair.
 */
function requireStorable({ columns }: LineType, values: LineValues): void {
  for (const [at, value] of values.entries()) {
    if (typeof value !== 'string') continue
    const problem = value.includes('\0')
      ? 'U+0000'
      : value.isWellFormed()
        ? null
        : 'half a character'
    if (problem !== null)
      throw new LineError(`has ${problem} in ${columns[at]?.member}, which no database stores`)
  }
}
