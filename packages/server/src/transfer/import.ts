import { serviceStates } from '@hermod/protocol'
import type { BlobStore } from '../blobs/blob-store.js'
import type { Database, Queryable, Tx } from '../db/database.js'
import { raiseIdSlots } from '../db/id-reservations.js'
import { IdentityStore } from '../db/identity/identity-store.js'
import { sql } from '../db/kysely.js'
import { dayMs, systemClock } from '../lib/clock.js'
import { counted } from '../lib/counted.js'
import { epochMs, tickAt } from '../lib/ids/ids.js'
import { makeDerived } from './derived.js'
import { digestDatabase, digestDifferences, rowsOf, type WorkOptions } from './digest.js'
import { importFiles } from './import-files.js'
import { importRows, type RowRules, seeded, typesIn } from './import-rows.js'
import {
  deleteImport,
  findImport,
  type ImportState,
  insertImport,
  undoneSource,
} from './import-store.js'
import { type LineScope, lineTypes, wholeScope } from './lines.js'
import { type CompleteExport, type ExportManifest, exportFiles, linesPart } from './manifest.js'
import { findOwned } from './portable.js'
import { TransferError } from './transfer-error.js'

/** The most by which reserved IDs may be ahead of the clock: reservations, and clocks that differ. */
export const maxLeadMs = 3_600_000
/** The same of a move, whose IDs nobody else waits for: a clock may be behind by a time zone. */
const maxMoveLeadMs = dayMs

/** The installation that an export is imported into. */
export interface ImportTarget {
  /** Its schema is up to date. */
  readonly database: Database
  readonly files: Pick<BlobStore, 'kind' | 'put' | 'stat'>
  readonly rules: RowRules
  /** See {@link LineScope}. */
  readonly textOf?: LineScope['textOf']
  /** @throws TransferError while a service uses the database */
  readonly requireNoService: () => Promise<void>
}

/** The facts about this installation that an import checks before it writes anything. */
export interface ImportRequirements {
  /** The IDs of its secret keys. */
  readonly keyIds: readonly string[]
  /** The remedy for a missing key: the end of a sentence. */
  readonly keyRemedy: string
  /** The migrations that this version knows, in order. */
  readonly migrations: readonly string[]
  /** Its store of files. */
  readonly store: 'folder' | 's3'
  /** Its own address is known. */
  readonly hasAddress: boolean
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The result of an import. */
export interface ImportReport {
  /** The data is that of a copy: `hermod restore finish` begins the service. */
  readonly isRestored: boolean
  readonly rows: number
  readonly files: ExportManifest['files']
  /** The applications of a portable export, with what they had and need anew. */
  readonly apps: ExportManifest['apps']
}

/**
 * Checks that this installation can take an export, before it is read and anything is written.
 * @throws TransferError
 */
export function requireImportable(
  { folder, manifest }: CompleteExport,
  { keyIds, keyRemedy, migrations, store: own, now, ...here }: ImportRequirements,
): void {
  const { kind, schema, version, secret_key_fingerprint: key, files } = manifest
  if (!migrations.includes(schema.name)) {
    const newest = migrations.length
    const remedy =
      schema.number > newest
        ? `it has the schema ${schema.number}, and this version knows schemas up to ${newest}; import it with Hermod ${version} or a later one`
        : 'builds before 0.1.0 with other schemas do not read one another’s data; import it with the build that made it'
    throw new TransferError(`the export in ${folder} was made by Hermod ${version}: ${remedy}`)
  }
  requireParts(manifest)
  if (kind === 'move' && !keyIds.includes(key))
    throw new TransferError(
      `the secrets in the export need the secret key ${key}, and this installation has ${keyIds.join(', ') || 'none'}; ${keyRemedy}`,
    )
  if (kind === 'portable') requirePortable(manifest, here)
  requireIssued(manifest, now)
  if (files.store === 's3' && own === 'folder' && files.count > 0)
    throw new TransferError(
      `${counted(files.count, 'file of the export is', 'files of the export are')} in S3 and not in its folder; set HERMOD_S3_ENDPOINT and the other settings of that store`,
    )
}

function requirePortable(
  { files }: ExportManifest,
  { hasAddress }: Pick<ImportRequirements, 'hasAddress'>,
): void {
  if (files.store === 's3')
    throw new TransferError(
      'the files of the export are in a store of the exported installation, which no portable export has; run hermod export again',
    )
  if (files.count > 0 && !hasAddress)
    throw new TransferError(
      'the addresses of the files are made anew; set HERMOD_PUBLIC_URL to the address of this installation',
    )
}

/** Nodes continue after the last ID, so an instant in the future would stop them until then. */
function requireIssued({ kind, ids_reserved_until: until }: ExportManifest, now: number): void {
  if (until <= tickAt(now + (kind === 'move' ? maxMoveLeadMs : maxLeadMs))) return
  const end = new Date(epochMs + until)
  const time = Number.isNaN(end.getTime()) ? 'after all times' : `to ${end.toISOString()}`
  throw new TransferError(
    `the IDs of the export reach ${time}, which is after the time of this machine; correct the clock, or wait until then`,
  )
}

/** @throws TransferError for a part that no export of the kind has, or that is listed twice */
function requireParts({ kind, parts }: ExportManifest): void {
  const known = new Set([
    exportFiles.fileList,
    ...lineTypes[kind].map(({ name }) => linesPart(name)),
  ])
  for (const { name } of parts)
    if (!known.delete(name))
      throw new TransferError(
        lineTypes[kind].some((type) => linesPart(type.name) === name) ||
          name === exportFiles.fileList
          ? `the export lists ${name} twice; run hermod export again`
          : `the export has ${name}, which no ${kind === 'portable' ? 'portable export' : 'export'} has in this version; run hermod export again`,
      )
}

/**
 * Imports an export, which is verified: of an installation into an empty database, of applications
 * also beside others. Rows and progress are written together, so that the same call after a kill
 * continues where it was.
 * @throws TransferError
 */
export async function importInstallation(
  found: CompleteExport,
  target: ImportTarget,
  options: WorkOptions,
): Promise<ImportReport> {
  const { manifest } = found
  const { database, files, rules } = target
  const apps = appsOf(manifest)
  await database.withoutDeadline(async (db) => {
    const state = await begin(db, found, target)
    await importRows(found, { database, db, state, rules }, options)
    if (apps) await requireApps(db, apps)
    await importFiles(found, files, options)
    await makeDerived(db, { apps, idsReservedUntil: manifest.ids_reserved_until })
    if (database.dialect.name === 'postgres') await sql`analyze`.execute(db)
    options.progress?.({ done: 0, total: rowsOf(manifest.digest), text: 'checking the database' })
    await requireDigest(manifest, target, options)
  })
  const isRestored = manifest.is_copy && apps === null
  await database.transaction(async (tx) => {
    if (isRestored) await markRestored(tx, manifest)
    if (apps) await new IdentityStore().addImportedHistories(tx, apps, manifest.epoch)
    await deleteImport(tx)
  })
  const rows = rowsOf(manifest.digest)
  return { isRestored, rows, files: manifest.files, apps: manifest.apps }
}

/** @returns null for an export of an installation */
function appsOf({ kind, apps }: ExportManifest): readonly string[] | null {
  return kind === 'portable' ? Object.keys(apps).sort() : null
}

/** Returns a sentence about a database that cannot take an export, or null. */
export async function databaseProblem(
  db: Queryable,
  { id, manifest }: CompleteExport,
): Promise<string | null> {
  const state = await findImport(db)
  if (state?.source === undoneSource)
    return 'an import into the database is being undone; run hermod import --undo again, which finishes it'
  if (state)
    return state.source === id
      ? null
      : `the database has an unfinished import of another export; import that one again, run hermod import --undo, or use an empty database`
  const apps = appsOf(manifest)
  if (apps) return appsProblem(db, apps)
  for (const { name } of lineTypes.move) {
    if (seeded.includes(name)) continue
    const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db)
    if (rows.length > 0) return notEmpty(name)
  }
  return null
}

const maxNamed = 5

async function appsProblem(db: Queryable, apps: readonly string[]): Promise<string | null> {
  const owned = await findOwned(db, apps)
  if (owned.length === 0) return null
  const named = owned.slice(0, maxNamed).map(({ appId, table }) => `${appId} (in ${table})`)
  const more = owned.length > maxNamed ? ` and ${owned.length - maxNamed} more` : ''
  return `the database has rows of applications of the export already: ${named.join(', ')}${more}; export the others with --app, or import into another database`
}

/** Returns a sentence about a database that has something already. */
export function notEmpty(has: string): string {
  return `the database is not empty (it has ${has}); set HERMOD_DATA_DIR to a new folder, or HERMOD_DATABASE_URL to an empty database`
}

/** @returns the progress of an earlier run, or the beginning */
async function begin(
  db: Queryable,
  found: CompleteExport,
  { rules, requireNoService }: ImportTarget,
): Promise<ImportState> {
  const apps = appsOf(found.manifest)
  const [first] = typesIn(found.manifest, rules)
  let isNew = false
  const state = await db.transaction().execute(async (tx) => {
    const problem = await databaseProblem(tx, found)
    if (problem !== null) throw new TransferError(problem)
    const known = await findImport(tx)
    if (known) return known
    const begun = {
      ...{ source: found.id, part: first?.name ?? '', bytes: 0, lines: 0 },
      apps: apps ? JSON.stringify(apps) : '',
    }
    await insertImport(tx, begun)
    isNew = true
    return begun
  })
  // A service that starts sees the row, or is seen here.
  await requireNoService().catch(async (error) => {
    if (isNew) await deleteImport(db)
    throw error
  })
  return state
}

/** Begins histories of applications that exist only. */
async function requireApps(db: Queryable, apps: readonly string[]): Promise<void> {
  const known = await db.selectFrom('apps').select('app_id').execute()
  const ids = new Set(known.map(({ app_id }) => app_id))
  const missing = apps.find((appId) => !ids.has(appId))
  if (missing !== undefined)
    throw new TransferError(
      `the export names the application ${missing} and has no row of it; run hermod import --undo, and hermod export again`,
    )
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
  manifest: ExportManifest,
  { database, textOf }: ImportTarget,
  options: WorkOptions,
): Promise<void> {
  const apps = appsOf(manifest)
  const scope = apps ? { types: lineTypes.portable, apps, ...(textOf && { textOf }) } : wholeScope
  const reading = { ...options, total: rowsOf(manifest.digest) }
  const found = await database.snapshot((db) => digestDatabase(db, reading, scope))
  const differences = digestDifferences(manifest.digest, found)
  if (differences.length > 0)
    throw new TransferError(
      `the database does not have what the export has (${differences.join('; ')}), so no service starts on it; ${apps ? 'run hermod import --undo' : 'remove it, import into an empty one'}, and report the fault`,
    )
}
