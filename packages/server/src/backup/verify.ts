/** Verifies a backup: every byte of it, and that it restores (decision page 077). */
import { constants } from 'node:fs'
import { copyFile, mkdir, open, readdir, rm, stat, statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { BlobStore } from '../blobs/blob-store.js'
import { dayMs } from '../lib/clock.js'
import { counted } from '../lib/counted.js'
import { isRunning } from '../lib/system/is-running.js'
import { syncFolder } from '../lib/system/sync-folder.js'
import { version } from '../lib/version.js'
import { digestDifferences, rowsOf, type WorkOptions } from '../transfer/digest.js'
import { BackupError, damaged, targetError } from './backup-error.js'
import { checkBytes, type OpenedBackup } from './backup-files.js'
import { copyChecked } from './checked-copy.js'
import { withCopy } from './copied-database.js'
import { digestOfCopy } from './digest-of-copy.js'
import { listedBlobs } from './listed-blobs.js'
import { databasePart } from './manifest.js'
import { installationOf, verifiedFile } from './target.js'

/** A fault that `hermod check` finds. */
export interface FoundFault {
  readonly check: string
  readonly subject: string
  readonly detail: string
}

/** The result of `hermod check` on restored data. */
export interface CheckedData {
  /** The number of facts that were checked. */
  readonly checked: number
  /** Without those about the surroundings of a service, such as expired certificates. */
  readonly faults: readonly FoundFault[]
}

export interface VerifyOptions extends WorkOptions {
  readonly backup: OpenedBackup
  /** The folder in which the database is restored; null: the target of a backup that is not encrypted. */
  readonly temporary: string | null
  /** The schema that this build makes: its number, and the name of its last migration. */
  readonly schema: { readonly number: number; readonly name: string }
  /** The IDs of the secret keys that the check has. */
  readonly keyIds: readonly string[]
  /** Opens a data folder with this build, without workers, and checks it. */
  check(folder: string, blobs: BlobStore): Promise<CheckedData>
}

/** A verified backup. */
export interface VerifiedBackup {
  readonly backup: string
  /** RFC 3339. */
  readonly created_at: string
  /** The number of bytes that were compared with their hashes. */
  readonly bytes: number
  readonly files: number
  /** The number of rows of the restored database; 0: the backup has no database. */
  readonly rows: number
  /** The number of facts that were checked in the restored database. */
  readonly facts: number
  /**
   * `equal`: the rows are those of the manifest; `unknown`: an earlier version made the backup, whose
   * rows have another form, or it has no database.
   */
  readonly digest: 'equal' | 'unknown'
  /** False: the target is read only, so that it does not show the backup as verified. */
  readonly is_noted: boolean
}

const workPrefix = '.verifying-'
/** Space for what opening and checking a database writes. */
const spareBytes = 32 * 1024 * 1024
const readOnlyCodes = ['EROFS', 'EACCES', 'EPERM']
const maxProblems = 5

/**
 * Verifies a backup, and notes it in the backup.
 * @throws BackupError that says what is wrong and what to do; the reason of the signal
 */
export async function verifyBackup(options: VerifyOptions): Promise<VerifiedBackup> {
  const { backup } = options
  const { manifest, name, target } = backup
  requireVerifiable(backup, options)
  const place = options.temporary ?? target
  const work = join(place, `${workPrefix}${hostname()}-${process.pid}`)
  try {
    await removeRemains(place)
    await mkdir(work, { mode: 0o700 })
    const bytes = await checkBytes(backup, work, options)
    const restored =
      manifest.engine === 'sqlite'
        ? await checkRestored(backup, work, options)
        : { rows: 0, facts: 0, digest: 'unknown' as const }
    const is_noted = await noteVerified(backup)
    const { created_at, files } = manifest
    return { backup: name, created_at, bytes, files: files.count, ...restored, is_noted }
  } catch (error) {
    throw options.signal?.aborted ? options.signal.reason : placeError(place, options, error)
  } finally {
    await rm(work, { recursive: true, force: true }).catch(() => {})
  }
}

function placeError(place: string, { temporary }: VerifyOptions, error: unknown): Error {
  const { code = '' } = error as NodeJS.ErrnoException
  if (temporary === null && readOnlyCodes.includes(code))
    return new BackupError(
      `${place} is read only, and a backup is restored there to verify it; name a folder for that with --temporary`,
      { cause: error },
    )
  return targetError(place, error)
}

function requireVerifiable(
  { name, manifest }: OpenedBackup,
  { keyIds, schema: known }: VerifyOptions,
): void {
  const { schema, version: by, secret_key_fingerprint: key, engine } = manifest
  if (schema.number > known.number)
    throw new BackupError(
      `the backup ${name} was made by version ${by} with the schema ${schema.number}, and this is version ${version}, which knows schemas up to ${known.number}; verify it with version ${by} or a newer one`,
    )
  if (engine !== 'sqlite' || keyIds.includes(key)) return
  const remedy =
    'name the secret.key of the data folder that was backed up with --key-file, or set HERMOD_SECRET_KEY'
  throw new BackupError(
    keyIds.length === 0
      ? `there is no secret key to check the secrets in the backup ${name} with; ${remedy}`
      : `the secret key (${keyIds.join(', ')}) is that of another installation, and the backup ${name} needs the key ${key}; ${remedy}`,
  )
}

/**
 * Removes the folders of killed processes of this machine, and old ones of others. Those of another
 * user stay, and any may be removed meanwhile.
 */
async function removeRemains(place: string): Promise<void> {
  for (const name of (await readdir(place)).filter((each) => each.startsWith(workPrefix)))
    await removeIfOver(place, name).catch(() => {})
}

async function removeIfOver(place: string, name: string): Promise<void> {
  const own = `${workPrefix}${hostname()}-`
  const pid = name.startsWith(own) ? Number(name.slice(own.length)) : Number.NaN
  const isOver = pid > 0 && (pid === process.pid || !isRunning(pid))
  const path = join(place, name)
  if (isOver || (await stat(path)).mtimeMs < Date.now() - dayMs)
    await rm(path, { recursive: true, force: true })
}

async function checkRestored(
  backup: OpenedBackup,
  work: string,
  options: VerifyOptions,
): Promise<Pick<VerifiedBackup, 'rows' | 'facts' | 'digest'>> {
  const { folder, installation } = backup
  const { progress } = options
  const restored = join(work, 'restored')
  const path = join(restored, databasePart)
  await mkdir(restored, { mode: 0o700 })
  progress?.({ done: 0, total: 1, text: 'restoring the database' })
  await restore(backup, path, options)
  progress?.({ text: 'checking the file of the database' })
  const problems = engineProblems(path)
  if (problems.length > 0) throw damaged(folder, problems)
  if (installationOf(busChannelOf(path)) !== installation)
    throw damaged(folder, ['its database is of another installation than the folder of backups'])
  const { rows, digest } = await compareDigest(backup, path, options)
  progress?.({ done: 0, total: 1, text: 'checking the facts in the database' })
  using blobs = listedBlobs(backup, work)
  const { checked, faults } = await options.check(restored, blobs)
  if (faults.length > 0) throw faultsError(`backup ${backup.name}`, faults)
  return { rows, facts: checked, digest }
}

async function restore(
  { folder, manifest, secrets }: OpenedBackup,
  to: string,
  { signal }: VerifyOptions,
): Promise<void> {
  const from = join(folder, databasePart)
  const part = manifest.parts.find(({ name }) => name === databasePart)
  const size = part?.size ?? 0
  const isShared =
    secrets === null &&
    (await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE).then(
      () => true,
      () => false,
    ))
  const { bavail, bsize } = await statfs(join(to, '..'))
  const [free, needed] = [bavail * bsize, spareBytes + (isShared ? 0 : size)]
  if (free < needed)
    throw new BackupError(
      `the database of the backup is restored into ${join(to, '..')} to verify it, which needs ${needed} bytes of free space, and ${free} are free; make room, or name a folder on another disk with --temporary`,
    )
  if (secrets !== null) {
    const sealed = { key: secrets.dataKey, name: databasePart }
    const copied = () => signal?.throwIfAborted()
    await copyChecked(from, to, { size, sha256: part?.sha256, sealed, copied })
  } else if (!isShared) await copyFile(from, to)
}

/** The engine's own checks. */
function engineProblems(path: string): string[] {
  try {
    return withCopy(path, (database) => {
      const found = database.prepare(`pragma integrity_check(${maxProblems})`).all() as {
        integrity_check: string
      }[]
      const texts = found.map(({ integrity_check }) => integrity_check)
      const orphans = database.prepare('pragma foreign_key_check').all() as { table: string }[]
      return [
        ...texts.filter((text) => text !== 'ok').map((text) => `${databasePart}: ${text}`),
        ...orphans.slice(0, maxProblems).map(({ table }) => `a row of ${table} refers to nothing`),
      ]
    })
  } catch (error) {
    return [`${databasePart}: ${(error as Error).message}`]
  }
}

function busChannelOf(path: string): string {
  return withCopy(path, (database) => {
    const row = database.prepare('select bus_channel as channel from database_identity').get()
    return (row as { channel: string } | undefined)?.channel ?? ''
  })
}

async function compareDigest(
  { folder, manifest }: OpenedBackup,
  path: string,
  { schema, signal, progress }: VerifyOptions,
): Promise<Pick<VerifiedBackup, 'rows' | 'digest'>> {
  // An earlier schema has other rows, which this build does not read.
  if (manifest.schema.name !== schema.name || manifest.digest === undefined)
    return { rows: 0, digest: 'unknown' }
  const total = rowsOf(manifest.digest)
  const digest = await digestOfCopy(path, {
    ...{ signal, total },
    progress: (each) => progress?.({ ...each, text: 'comparing the rows' }),
  })
  const differences = digestDifferences(manifest.digest, digest)
  if (differences.length > 0)
    throw damaged(
      folder,
      differences.map((each) => `its rows are not those of its digest, ${each}`),
    )
  return { rows: total, digest: 'equal' }
}

/** The failure of restored data in which `hermod check` finds faults. */
export function faultsError(what: string, faults: readonly FoundFault[]): BackupError {
  const named = faults
    .slice(0, maxProblems)
    .map(({ check, subject, detail }) => `${check}: ${subject} ${detail}`)
  const more = faults.length > maxProblems ? `; and ${faults.length - maxProblems} more` : ''
  return new BackupError(
    `hermod check finds ${counted(faults.length, 'fault')} in the restored ${what}: ${named.join('; ')}${more}; run hermod check on the service too, and keep an earlier backup`,
  )
}

/** @returns false for a target that is read only */
async function noteVerified({ folder }: OpenedBackup): Promise<boolean> {
  const path = join(folder, verifiedFile)
  const text = `${JSON.stringify({ at: new Date().toISOString(), version })}\n`
  try {
    await rm(path, { force: true })
    // A new file: root follows no link of the owner of the folder.
    await using file = await open(path, 'wx', 0o600)
    await file.writeFile(text)
    const { uid, gid } = await stat(folder)
    // The service reads what root has verified.
    if (process.geteuid?.() === 0) await file.chown(uid, gid)
    await file.sync()
    await syncFolder(folder)
    return true
  } catch (error) {
    if (readOnlyCodes.includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}
