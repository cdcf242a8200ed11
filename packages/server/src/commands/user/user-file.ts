/** Files of users: one JSON object a line, or CSV with a header row. */
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { ExportedUser } from '@hermod/protocol'
import { boundedLines } from '../../lib/bounded-lines.js'
import { isJsonObject } from '../../lib/json.js'
import { CommandFailure } from '../runtime/call.js'
import { choice } from '../runtime/fields.js'

const userFormats = ['ndjson', 'csv'] as const
export type UserFormat = (typeof userFormats)[number]

export const format = choice(
  '--format <format>',
  'one JSON object a line, or CSV with a header row',
  userFormats,
)

/** Fields as operator.user.import takes them, values as they were read. */
export type UserRecord = Readonly<Record<string, unknown>>

/** One user of a file, or the reason why a line has none. Lines count from 1. */
export type FileEntry =
  | { readonly line: number; readonly user: UserRecord }
  | { readonly line: number; readonly reason: string }

const maxLineBytes = 256 * 1024
const lineTooLong = `is longer than ${maxLineBytes / 1024} KiB`
const notUtf8 = 'is not valid UTF-8'

const exportColumns = Object.keys(ExportedUser.properties) as (keyof ExportedUser)[]
/** Fields of a file; `user_id` is in exports and is ignored. */
const columns = new Set<string>([...exportColumns, 'password', 'issuer', 'subject'])

/** Reasons never quote what was read: it may be a password. */
export const readers: Readonly<Record<UserFormat, (input: Readable) => AsyncGenerator<FileEntry>>> =
  { ndjson: readNdjson, csv: (input) => readCsv(input) }

async function* readNdjson(input: Readable): AsyncGenerator<FileEntry> {
  let line = 0
  for await (const bytes of boundedLines(input, maxLineBytes)) {
    line++
    if (bytes === null) yield { line, reason: lineTooLong }
    else if (!isUtf8(bytes)) yield { line, reason: notUtf8 }
    else {
      const text = bytes.toString('utf8').replace(/^\ufeff/, '')
      if (text.trim() !== '') yield { line, ...parseUser(text) }
    }
  }
}

function parseUser(text: string): { readonly user: UserRecord } | { readonly reason: string } {
  try {
    const user: unknown = JSON.parse(text)
    if (!isJsonObject(user)) return { reason: 'is no JSON object' }
    // Nested without end, one value would fail the call for all users of its batch.
    const nested = Object.entries(user).find(
      ([name, value]) => name !== 'identities' && isNested(value),
    )
    return nested
      ? { reason: `has an object or a list as ${columns.has(nested[0]) ? nested[0] : 'a field'}` }
      : withIdentities(withoutEmpty(user))
  } catch {
    return { reason: 'is not valid JSON' }
  }
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

interface CsvRow {
  readonly record: Readonly<Record<string, string>>
  /** `lines` is the line on which the row ends. */
  readonly info: {
    readonly lines: number
    readonly empty_lines: number
    readonly error?: Error | undefined
  }
}

/** @param needed the column that the header must name */
export async function* readCsv(input: Readable, needed = 'username'): AsyncGenerator<FileEntry> {
  const { CsvError, parse } = await import('csv-parse')
  const parser = parse({
    bom: true,
    columns: (header: readonly string[]) => requireColumns(header, needed),
    info: true,
    max_record_size: maxLineBytes,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  })
  input.once('error', (error) => parser.destroy(error))
  let [line, emptyLines] = [1, 0]
  try {
    for await (const { record, info } of input.pipe(parser) as AsyncIterable<CsvRow>) {
      const first = line + 1 + info.empty_lines - emptyLines
      ;[line, emptyLines] = [info.lines, info.empty_lines]
      yield { line: first, ...csvUser(record, info.error ? { first, last: line } : null) }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const reason =
      error.code === 'CSV_MAX_RECORD_SIZE' ? lineTooLong : 'begins a quoted field that does not end'
    yield { line: line + 1, reason: `${reason}; nothing after it was read` }
  }
}

function csvUser(
  row: Readonly<Record<string, string>>,
  uneven: { readonly first: number; readonly last: number } | null,
): { readonly user: UserRecord } | { readonly reason: string } {
  if (uneven) {
    const reason = 'has another number of columns than the header'
    return {
      reason:
        uneven.first === uneven.last
          ? reason
          : `${reason}; a quoted field continues until line ${uneven.last}`,
    }
  }
  if (Object.values(row).some((value) => value.includes('\ufffd'))) return { reason: notUtf8 }
  return withIdentities(withoutEmpty(row))
}

/**
 * Makes one list of the identities of a user: those in `identities`, which is JSON in a cell, and
 * the one in `issuer` and `subject`.
 */
function withIdentities({
  issuer,
  subject,
  identities = [],
  ...user
}: UserRecord): { readonly user: UserRecord } | { readonly reason: string } {
  const listed: unknown = typeof identities === 'string' ? parsed(identities) : identities
  if (!Array.isArray(listed) || !listed.every(isFlatObject))
    return { reason: 'has identities that are no list of objects with issuer and subject' }
  const own = issuer === undefined && subject === undefined ? [] : [{ issuer, subject }]
  const all = [...listed, ...own]
  return { user: all.length === 0 ? user : { ...user, identities: all } }
}

function isFlatObject(value: unknown): boolean {
  return isJsonObject(value) && !Object.values(value).some(isNested)
}

/** @returns undefined for a text that is no JSON */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @throws CommandFailure when the header does not name the columns */
function requireColumns(header: readonly string[], needed: string): string[] {
  const names = header.map((name) => name.trim().toLowerCase())
  const unknown = names.filter((name) => !columns.has(name))
  const twice = names.filter((name, index) => names.indexOf(name) !== index)
  if (unknown.length > 0)
    throw new CommandFailure(
      `the header names unknown columns: ${unknown.join(', ')}; known: ${[...columns].join(', ')}`,
    )
  if (twice.length > 0)
    throw new CommandFailure(`the header names columns twice: ${twice.join(', ')}`)
  if (!names.includes(needed)) throw new CommandFailure(`the header names no column ${needed}`)
  return names
}

/** An empty value counts as absent, as in a CSV cell, and so does an empty list. */
function withoutEmpty(user: UserRecord): UserRecord {
  return Object.fromEntries(
    Object.entries(user).filter(
      ([, value]) => value !== '' && value !== null && !isEmptyList(value),
    ),
  )
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

interface RowWriter {
  header(hashes: boolean): string
  line(user: ExportedUser, hashes: boolean): string
}

export const writers: Readonly<Record<UserFormat, RowWriter>> = {
  ndjson: {
    header: () => '',
    line: (user) => `${JSON.stringify(withoutEmpty(user))}\n`,
  },
  csv: {
    header: (hashes) => csvLine(exported(hashes)),
    line: (user, hashes) => csvLine(exported(hashes).map((name) => cellOf(user[name]))),
  },
}

function exported(hashes: boolean): readonly (keyof ExportedUser)[] {
  return hashes ? exportColumns : exportColumns.filter((name) => name !== 'password_hash')
}

function cellOf(value: ExportedUser[keyof ExportedUser]): string {
  if (!Array.isArray(value)) return String(value ?? '')
  return value.length === 0 ? '' : JSON.stringify(value)
}

function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => (/^$|^[^",\r\n\s]+$/.test(cell) ? cell : `"${cell.replaceAll('"', '""')}"`)).join(',')}\n`
}
