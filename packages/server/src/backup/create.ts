/** Makes one backup: the copy of the database, the files that it names, and the manifest. */
import { rm, statfs, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { schemaNumber } from '../db/migrations/schema-state.js'
import { timestampOf } from '../lib/ids/ids.js'
import type { Digest } from '../transfer/digest.js'
import type { ManifestPart } from '../transfer/manifest-fields.js'
import { BackupError, targetError } from './backup-error.js'
import { copiedDigest } from './copied-digest.js'
import type { BackupRun, BackupSource, MakingBackup } from './backup-source.js'
import { copyFiles } from './copied-files.js'
import type { CopyFacts } from './database-facts.js'
import { authenticated, newBackupKeys, sealPrivate } from './encryption/backup-secrets.js'
import { openFilesKey } from './encryption/files-key.js'
import { databasePart, filesPart, type Manifest, privatePart } from './manifest.js'
import type { BackupTarget, IncomingBackup } from './target.js'
import { BackupThread } from './thread.js'

/** A backup that was made. */
export interface CreatedBackup {
  readonly name: string
  readonly manifest: Manifest
}

const logWatchMs = 100
const copyEnds = ['', '-wal', '-shm', '-journal']

/**
 * Makes a backup while the service runs. When it fails, nothing of it stays except blobs, which the
 * next one uses.
 * @throws BackupError; the reason of the signal
 */
export async function createBackup(
  source: BackupSource,
  target: BackupTarget,
  { signal, progress }: BackupRun,
): Promise<CreatedBackup> {
  await using locked = await target.lock()
  await using hold = await source.holdFiles()
  const ended = new AbortController()
  const ending = AbortSignal.any([signal, locked.lost, hold.lost, ended.signal])
  ending.throwIfAborted()
  await using thread = new BackupThread()
  ending.addEventListener('abort', () => void thread[Symbol.asyncDispose]())
  let incoming: IncomingBackup | null = null
  try {
    // Before the copy: an erasure that ends later may not be in it.
    const createdAt = source.now()
    incoming = await locked.begin(createdAt)
    await removeCopy(source)
    const keys =
      source.encryption &&
      newBackupKeys(await openFilesKey(target.folder, source.encryption.passphrase))
    const run: MakingBackup = {
      ...{ source, thread, target: target.folder, incoming, progress, ending, keys },
      copy: (keys && source.database?.copyPath) ?? incoming.path(databasePart),
      end: (error: Error) => ended.abort(error),
    }
    const facts = source.database === null ? null : await copyDatabase(run, source.database)
    const files = await copyFiles(run, facts)
    const digest = facts === null ? undefined : await digestOf(run)
    const parts = await partsOf(run, digest)
    ending.throwIfAborted()
    await locked.requireHeld()
    const manifest = manifestOf(run, { createdAt, facts, digest, files, parts })
    await incoming.complete(manifest)
    return { name: incoming.name, manifest }
  } catch (error) {
    await thread[Symbol.asyncDispose]()
    // The failure of a step may be that the target is gone, or has another writer.
    await locked.requireHeld().catch(() => {})
    if (ending.aborted) throw ending.reason
    throw targetError(target.folder, error)
  } finally {
    // A complete one has another name.
    await incoming?.discard()
    await removeCopy(source)
  }
}

/** Removes the copy of the database of an encrypted backup, also of one that was killed. */
async function removeCopy({ database }: BackupSource): Promise<void> {
  if (database === null) return
  for (const end of copyEnds) await rm(`${database.copyPath}${end}`, { force: true })
}

function digestOf({ copy, progress, ending: signal }: MakingBackup): Promise<Digest> {
  const text = 'computing the digest'
  progress({ done: 0, total: 0, text })
  return copiedDigest(copy, {
    signal,
    progress: ({ done = 0 }) => progress({ done, total: 0, text }),
  })
}

/** @throws BackupError that names the folder whose disk fails */
async function copyDatabase(
  run: MakingBackup,
  database: NonNullable<BackupSource['database']>,
): Promise<CopyFacts> {
  const { thread, target, copy, keys } = run
  try {
    await copyPaused(run, database)
    return await thread.run('recover', copy)
  } catch (error) {
    throw targetError(keys ? dirname(copy) : target, error)
  }
}

/** Copies the database while its checkpoints are paused. */
async function copyPaused(
  { thread, target, copy, keys, progress, end }: MakingBackup,
  { pauseCheckpoints, folder, logBytes, keptBytes }: NonNullable<BackupSource['database']>,
): Promise<void> {
  const mostBytes = logBytes ?? Math.floor((await freeBytes(folder)) / 4)
  const paused = await pauseCheckpoints()
  let timer: NodeJS.Timeout | undefined
  try {
    const { path, descriptor } = paused
    const size = paused.databaseBytes()
    const before = paused.logBytes()
    await requireRoom(target, size + before, ', or remove backups with hermod backup prune')
    if (keys) await requireRoom(dirname(copy), size + before + keptBytes)
    const watch = () => {
      progress({ done: thread.copiedBytes, total: size, text: 'copying the database' })
      if (paused.logBytes() - before > mostBytes) end(tooLong(mostBytes))
    }
    timer = setInterval(watch, logWatchMs)
    watch()
    await thread.run('copy', { database: { path, descriptor }, to: copy })
  } finally {
    clearInterval(timer)
    paused.resume()
  }
}

function tooLong(bytes: number): BackupError {
  const mebibytes = Math.ceil(bytes / 2 ** 20)
  return new BackupError(
    `the write-ahead log grew by ${mebibytes} MiB while the database was copied, so the backup was ended; use a faster disk for backups, or raise HERMOD_BACKUP_LOG_MB`,
  )
}

async function requireRoom(folder: string, needed: number, orElse = ''): Promise<void> {
  const free = await freeBytes(folder)
  if (free < needed)
    throw new BackupError(
      `${folder} needs ${needed} bytes of free space for a copy of the database, and has ${free}; make room there${orElse}`,
    )
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Seals the parts of an encrypted backup, and hashes all parts as they are in the target. */
async function partsOf(
  { source, thread, incoming, progress, keys, copy }: MakingBackup,
  digest: Digest | undefined,
): Promise<ManifestPart[]> {
  const text = keys ? 'encrypting the parts' : 'hashing the parts'
  progress({ done: 0, total: 0, text })
  const hashed = async (name: string) => ({
    name,
    ...(await thread.run('hash', incoming.path(name))),
  })
  if (digest === undefined) return [await hashed(filesPart)]
  if (!keys || !source.encryption) return [await hashed(databasePart), await hashed(filesPart)]
  const to = incoming.path(databasePart)
  const sealed = { key: keys.dataKey, name: databasePart }
  const database = await thread.run('seal', { from: copy, to, sealed })
  const { secretKeys: secret_keys } = source.encryption
  const bytes = sealPrivate({ secret_keys, digest }, keys.dataKey)
  await writeFile(incoming.path(privatePart), bytes, { mode: 0o600 })
  return [{ name: databasePart, ...database }, await hashed(privatePart), await hashed(filesPart)]
}

function manifestOf(
  { source, keys }: Pick<MakingBackup, 'source' | 'keys'>,
  {
    createdAt,
    facts,
    digest,
    files,
    parts,
  }: {
    readonly createdAt: number
    readonly facts: CopyFacts | null
    readonly digest: Digest | undefined
    readonly files: Manifest['files']
    readonly parts: readonly ManifestPart[]
  },
): Manifest {
  const migration = facts?.migration ?? source.migration
  const messageId = facts?.newestMessageId ?? 0
  const manifest: Manifest = {
    format: 1,
    created_at: new Date(createdAt).toISOString(),
    version: source.version,
    schema: { number: schemaNumber([migration]), name: migration },
    engine: facts === null ? 'postgres' : 'sqlite',
    epoch: facts?.epoch ?? source.epoch,
    secret_key_fingerprint: source.keyFingerprint,
    parts,
    ...(digest !== undefined && !keys && { digest }),
    positions: facts?.positions ?? {},
    newest_message:
      messageId === 0
        ? null
        : { at: new Date(timestampOf(messageId)).toISOString(), msg_id: messageId },
    files,
    key_inside: keys !== null,
  }
  return keys ? authenticated(manifest, keys) : manifest
}
