import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { serviceStates } from '@hermod/protocol'
import { BlobError, type BlobStore } from '../blobs/blob-store.js'
import type { Database, Queryable, Tx } from '../db/database.js'
import type { Bulk } from '../db/dialect/dialect.js'
import { raiseIdSlots } from '../db/id-reservations.js'
import { IdentityStore } from '../db/identity/identity-store.js'
import { sql } from '../db/kysely.js'
import { systemClock } from '../lib/clock.js'
import { counted } from '../lib/counted.js'
import { toInt64 } from '../lib/ids/int64.js'
import { makeDerived } from './derived.js'
import { digestDatabase, digestDifferences, rowsOf, type WorkOptions } from './digest.js'
import { hashed } from './export.js'
import {
  deleteImport,
  findImport,
  type ImportState,
  insertImport,
  moveImport,
} from './import-store.js'
import { LineError, type LineType, lineTypes, valuesOf } from './lines.js'
import { type ListedFile, parseListedFile } from './listed-file.js'
import {
  type CompleteExport,
  changed,
  type ExportManifest,
  exportFiles,
  linesPart,
} from './manifest.js'
import { readLineBatches } from './part-lines.js'
import { TransferError } from './transfer-error.js'

/** The installation that an export is imported into. */
export interface ImportTarget {
  /** Its schema is up to date. */
  readonly database: Database
  readonly files: Pick<BlobStore, 'kind' | 'put' | 'stat'>
}

/** The facts about this installation that an import checks before it writes anything. */
export interface ImportRequirements {
  /** The IDs of its secret keys. */
  readonly keyIds: readonly string[]
  /** How to give it another key: the end of a sentence. */
  readonly keyRemedy: string
  /** The migrations that this version knows, in order. */
  readonly migrations: readonly string[]
  /** Its store of files. */
  readonly store: 'folder' | 's3'
}

/** The result of an import. */
export interface ImportReport {
  /** The data is that of a copy: `hermod restore finish` begins the service. */
  readonly isRestored: boolean
  readonly rows: number
  readonly files: ExportManifest['files']
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
const seeded: readonly string[] = ['database_identity']

/**
 * Checks that this installation can take an export, before it is read and anything is written.
 * @throws TransferError
 */
export function requireImportable(
  { folder, manifest }: CompleteExport,
  { keyIds, keyRemedy, migrations, store: own }: ImportRequirements,
): void {
  const { schema, version, secret_key_fingerprint: key, files } = manifest
  if (!migrations.includes(schema.name)) {
    const newest = migrations.length
    const remedy =
      schema.number > newest
        ? `it has the schema ${schema.number}, and this version knows schemas up to ${newest}; import it with Hermod ${version} or a later one`
        : 'builds before 0.1.0 with other schemas do not read one another’s data; import it with the build that made it'
    throw new TransferError(`the export in ${folder} was made by Hermod ${version}: ${remedy}`)
  }
  if (!keyIds.includes(key))
    throw new TransferError(
      `the secrets in the export need the secret key ${key}, and this installation has ${keyIds.join(', ') || 'none'}; ${keyRemedy}`,
    )
  if (files.store === 's3' && own === 'folder' && files.count > 0)
    throw new TransferError(
      `${counted(files.count, 'file of the export is', 'files of the export are')} in S3 and not in its folder; set HERMOD_S3_ENDPOINT and the other settings of that store`,
    )
}

/** Reads all lines of an export, which is verified, without writing anything. */
export async function checkExport(
  found: CompleteExport,
  options: WorkOptions,
): Promise<ExportCheck> {
  const total = rowsOf(found.manifest.digest)
  const counts: Record<string, number> = {}
  const samples: LineProblem[] = []
  let problems = 0
  let done = 0
  for (const type of typesIn(found.manifest)) {
    let count = 0
    for await (const { lines } of readLineBatches(found.folder, linesPart(type.name))) {
      options.signal?.throwIfAborted()
      for (const line of lines) {
        count++
        const reason = problemOf(type, line)
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

/**
 * Imports an export, which is verified, into an empty database. Rows and progress are written together, so that the
 * same call after a kill continues where it was.
 * @throws TransferError
 */
export async function importInstallation(
  found: CompleteExport,
  { database, files }: ImportTarget,
  options: WorkOptions,
): Promise<ImportReport> {
  const { manifest } = found
  await database.withoutDeadline(async (db) => {
    const state = await begin(db, found)
    await importRows(found, { database, db, state }, options)
    await importFiles(found, files, options)
    await makeDerived(db, manifest.ids_reserved_until)
    if (database.dialect.name === 'postgres') await sql`analyze`.execute(db)
    options.progress?.({ done: 0, total: rowsOf(manifest.digest), text: 'checking the database' })
    await requireDigest(database, manifest, options)
  })
  await database.transaction(async (tx) => {
    if (manifest.is_copy) await markRestored(tx, manifest)
    await deleteImport(tx)
  })
  return { isRestored: manifest.is_copy, rows: rowsOf(manifest.digest), files: manifest.files }
}

/** Returns a sentence about a database that cannot take an export, or null. */
export async function databaseProblem(
  db: Queryable,
  { id }: CompleteExport,
): Promise<string | null> {
  const state = await findImport(db)
  if (state)
    return state.source === id
      ? null
      : 'the database has an unfinished import of another export; import that one again, or use an empty database'
  for (const { name } of lineTypes) {
    if (seeded.includes(name)) continue
    const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db)
    if (rows.length > 0) return notEmpty(name)
  }
  return null
}

/** Returns a sentence about a database that has something already. */
export function notEmpty(has: string): string {
  return `the database is not empty (it has ${has}); set HERMOD_DATA_DIR to a new folder, or HERMOD_DATABASE_URL to an empty database`
}

/** @returns the progress of an earlier run, or the beginning */
async function begin(db: Queryable, found: CompleteExport): Promise<ImportState> {
  return db.transaction().execute(async (tx) => {
    const problem = await databaseProblem(tx, found)
    if (problem !== null) throw new TransferError(problem)
    const known = await findImport(tx)
    if (known) return known
    const [first] = typesIn(found.manifest)
    const state = { source: found.id, part: first?.name ?? '', bytes: 0, lines: 0 }
    await insertImport(tx, state)
    return state
  })
}

interface RowImport {
  readonly database: Database
  readonly db: Queryable
  readonly state: ImportState
}

async function importRows(
  { folder, manifest }: CompleteExport,
  { database, db, state: begun }: RowImport,
  { signal, progress }: WorkOptions,
): Promise<void> {
  const types = typesIn(manifest)
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
      if (statement) await database.bulk(tx, statement, rows)
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
      const rows = lines.map((line, index) => rowOf(type, line, state.lines + index + 1))
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

/** The types with lines in an export, in the order in which their rows are written. */
function typesIn({ parts }: ExportManifest): readonly LineType[] {
  const names = new Set(parts.map(({ name }) => name))
  return lineTypes.filter(({ name }) => names.has(linesPart(name)))
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

function rowOf(type: LineType, line: string, number: number): unknown[] {
  const problem = (reason: string) =>
    new TransferError(
      `line ${number} of ${linesPart(type.name)} ${reason}; hermod import --check lists all such lines`,
    )
  try {
    const values = parsedValues(type, line)
    const row = values.map((value, at) =>
      type.columns[at]?.kind === 'bigint' && value !== null ? toInt64(String(value)) : value,
    )
    const { name, columns, remade, key } = type
    if (!seeded.includes(name))
      return [...row, ...Object.values(remade).map((kind) => (kind === 'text' ? '' : 0))]
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
function problemOf(type: LineType, line: string): string | null {
  try {
    parsedValues(type, line)
    return null
  } catch (error) {
    if (error instanceof LineError) return error.message
    throw error
  }
}

function parsedValues(type: LineType, line: string): (string | number | null)[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    throw new LineError('is no JSON')
  }
  const values = valuesOf(type, parsed)
  requireNoNul(type, values)
  return values
}

/** PostgreSQL does not store U+0000, and the driver of SQLite cuts texts at it. */
function requireNoNul({ columns }: LineType, values: readonly unknown[]): void {
  const at = values.findIndex((value) => typeof value === 'string' && value.includes('\0'))
  if (at >= 0) throw new LineError(`has U+0000 in ${columns[at]?.member}, which no database stores`)
}

async function importFiles(
  { folder, manifest }: CompleteExport,
  files: ImportTarget['files'],
  { signal, progress }: WorkOptions,
): Promise<void> {
  const { count: total, store: from } = manifest.files
  let done = 0
  for await (const { lines } of readLineBatches(folder, exportFiles.fileList))
    for (const line of lines) {
      signal?.throwIfAborted()
      const file = parseListedFile(line, ++done)
      const stored = await files.stat(file.key)
      if (from === 's3' ? stored === null : stored?.size !== file.size) {
        if (from === 's3')
          throw new TransferError(
            `the store of files does not have ${file.key}; set HERMOD_S3_ENDPOINT and the other settings to the store of the exported installation`,
          )
        await importFile(folder, files, file)
      }
      progress?.({ done, total, text: 'files of the service' })
    }
}

async function importFile(
  folder: string,
  files: ImportTarget['files'],
  { key, size, content_type: contentType, sha256 }: ListedFile,
): Promise<void> {
  const name = `${exportFiles.files}/${key}`
  const hash = createHash('sha256')
  async function* body() {
    yield* hashed(createReadStream(join(folder, name)), hash)
    // The store keeps nothing of a body that fails.
    if (hash.digest('hex') !== sha256) throw changed(folder, name)
  }
  try {
    await files.put(key, Readable.from(body(), { objectMode: false }), {
      contentType,
      maxBytes: size,
    })
  } catch (error) {
    const isChanged = error instanceof BlobError && /^(?:cut|too_large)$/.test(error.reason)
    throw isChanged ? changed(folder, name) : error
  }
}

/**
 * Begins a new history, since clients may have newer data of the old one, and marks the database as
 * restored.
 */
async function markRestored(tx: Tx, { created_at }: ExportManifest): Promise<void> {
  const identity = new IdentityStore()
  const now = systemClock.now()
  const text = `the data is that of a copy, exported ${created_at}, and the restore is not finished`
  await identity.renew(tx)
  await raiseIdSlots(tx, now)
  await identity.setState(tx, { state: 'restored', text, since: now }, serviceStates)
}

async function requireDigest(
  database: Database,
  { digest }: ExportManifest,
  options: WorkOptions,
): Promise<void> {
  const found = await database.snapshot((db) => digestDatabase(db, options))
  const differences = digestDifferences(digest, found)
  if (differences.length > 0)
    throw new TransferError(
      `the database does not have what the export has (${differences.join('; ')}), so no service starts on it; remove it, import into an empty one, and report the fault`,
    )
}
