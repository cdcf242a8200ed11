/** Makes one backup: the copy of the database, the files that it names, and the manifest. */
import { statfs } from 'node:fs/promises'
import type { BlobPage, BlobStore } from '../blobs/blob-store.js'
import type { PausedCheckpoints } from '../db/dialect/sqlite-checkpointer.js'
import { schemaNumber } from '../db/migrations/schema-state.js'
import { appPrefix } from '../domain/files/file-model.js'
import { groupBy } from '../lib/group-by.js'
import { timestampOf } from '../lib/ids/ids.js'
import type { Digest } from '../transfer/digest.js'
import { BackupError, targetError } from './backup-error.js'
import { copiedDigest } from './copied-digest.js'
import type { CopyFacts, FilePlace, NamedPage } from './database-facts.js'
import type { FileLine } from './key-index.js'
import type { BackupPart, Manifest } from './manifest.js'
import type { BackupTarget, IncomingBackup } from './target.js'
import { BackupThread } from './thread.js'

/** The progress of long work. */
export interface BackupProgress {
  readonly done: number
  readonly total: number
  readonly text: string
}

/** Work that can be ended, and that reports its progress. */
export interface BackupRun {
  readonly signal: AbortSignal
  progress(progress: BackupProgress): void
}

/** Keeps blobs from being removed until it is disposed. */
export interface FileHold extends AsyncDisposable {
  /** Aborted when blobs may have been removed. */
  readonly lost: AbortSignal
}

/** The data of a backup. */
export interface BackupSource {
  /** Null: a backup of the files alone, whose rows `listFiles` has. */
  readonly database: {
    /** Keeps the file of the database as it is. */
    pauseCheckpoints(): Promise<PausedCheckpoints>
    /** The folder of the log, whose disk bounds it. */
    readonly folder: string
    /** The most bytes by which the log may grow; null: a quarter of the free disk. */
    readonly logBytes: number | null
  } | null
  /** Lists the files that the rows of a database without a copy name. */
  listFiles(after: FilePlace | null): Promise<NamedPage>
  readonly blobs: Pick<BlobStore, 'kind' | 'location' | 'list'>
  holdFiles(): Promise<FileHold>
  readonly epoch: string
  /** The name of the newest migration. */
  readonly migration: string
  readonly version: string
  readonly keyFingerprint: string
  /** Milliseconds since 1970. */
  now(): number
}

/** A backup that was made. */
export interface CreatedBackup {
  readonly name: string
  readonly manifest: Manifest
}

const logWatchMs = 100
const keysPerList = 1_000
const databaseName = 'hermod.db'
const filesName = 'files.ndjson'

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
    const run = {
      ...{ source, thread, target: target.folder, incoming, progress, ending },
      end: (error: Error) => ended.abort(error),
    }
    const facts = source.database === null ? null : await copyDatabase(run, source.database)
    const files = await copyFiles(run, facts)
    const digest = facts === null ? undefined : await digestOf(run)
    progress({ done: 0, total: 0, text: 'hashing the parts' })
    const parts: BackupPart[] = []
    for (const name of facts === null ? [filesName] : [databaseName, filesName])
      parts.push({ name, ...(await thread.run('hash', incoming.path(name))) })
    ending.throwIfAborted()
    await locked.requireHeld()
    const manifest = manifestOf(source, { createdAt, facts, digest, files, parts })
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
  }
}

interface Run {
  readonly source: BackupSource
  readonly thread: BackupThread
  readonly target: string
  readonly incoming: IncomingBackup
  readonly ending: AbortSignal
  progress(progress: BackupProgress): void
  /** Ends the backup with a failure. */
  end(error: Error): void
}

function digestOf({ incoming, progress, ending: signal }: Run): Promise<Digest> {
  const text = 'computing the digest'
  progress({ done: 0, total: 0, text })
  return copiedDigest(incoming.path(databaseName), {
    signal,
    progress: ({ done = 0 }) => progress({ done, total: 0, text }),
  })
}

async function copyDatabase(
  { thread, target, incoming, progress, end }: Run,
  { pauseCheckpoints, folder, logBytes }: NonNullable<BackupSource['database']>,
): Promise<CopyFacts> {
  const mostBytes = logBytes ?? Math.floor((await freeBytes(folder)) / 4)
  const to = incoming.path(databaseName)
  const paused = await pauseCheckpoints()
  let timer: NodeJS.Timeout | undefined
  try {
    const { path, descriptor } = paused
    const size = paused.databaseBytes()
    const before = paused.logBytes()
    await requireRoom(target, size + before)
    const watch = () => {
      progress({ done: thread.copiedBytes, total: size, text: 'copying the database' })
      if (paused.logBytes() - before > mostBytes) end(tooLong(mostBytes))
    }
    timer = setInterval(watch, logWatchMs)
    watch()
    await thread.run('copy', { database: { path, descriptor }, to })
  } finally {
    clearInterval(timer)
    paused.resume()
  }
  return thread.run('recover', to)
}

function tooLong(bytes: number): BackupError {
  const mebibytes = Math.ceil(bytes / 2 ** 20)
  return new BackupError(
    `the write-ahead log grew by ${mebibytes} MiB while the database was copied, so the backup was ended; use a faster disk for backups, or raise HERMOD_BACKUP_LOG_MB`,
  )
}

async function requireRoom(target: string, needed: number): Promise<void> {
  const free = await freeBytes(target)
  if (free < needed)
    throw new BackupError(
      `${target} needs ${needed} bytes of free space for the database, and has ${free}; make room there, or remove backups with hermod backup prune`,
    )
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Copies the blobs of a folder; those in S3 are looked for only. */
async function copyFiles(
  { source, thread, target, incoming, progress, ending }: Run,
  facts: CopyFacts | null,
): Promise<Manifest['files']> {
  const { blobs } = source
  const list = incoming.path(filesName)
  const path = incoming.path(databaseName)
  await thread.run('addLines', { path: list, lines: [] })
  const isFolder = blobs.kind === 'folder'
  if (isFolder)
    await thread.run('openBlobs', { from: blobs.location, target, scratch: incoming.folder })
  let [count, bytes, missing] = [0, 0, 0]
  for (let after: FilePlace | null = null; ; ) {
    ending.throwIfAborted()
    const page: NamedPage =
      facts === null ? await source.listFiles(after) : await thread.run('files', { path, after })
    const lines = isFolder
      ? await thread.run('copyBlobs', page.blobs)
      : await findBlobs(blobs, page.blobs)
    await thread.run('addLines', { path: list, lines })
    count += lines.length
    bytes += lines.reduce((sum, { size }) => sum + size, 0)
    missing += page.blobs.length - lines.length
    progress({ done: count, total: 0, text: 'copying the files' })
    if (page.next === null) break
    after = page.next
  }
  await thread.run('closeBlobs', undefined)
  return { store: blobs.kind, count, bytes, missing }
}

/** Returns the lines of blobs that the store has. @param named those of an app in the order of their keys */
async function findBlobs(
  blobs: Pick<BlobStore, 'list'>,
  named: NamedPage['blobs'],
): Promise<FileLine[]> {
  const found: FileLine[] = []
  for (const [appId, ofApp] of groupBy(named, (blob) => blob.appId)) {
    const sizes = new Map(ofApp.map(({ key, size }) => [key, size]))
    const last = ofApp.at(-1)?.key ?? ''
    // A text before the first key and after most others.
    let after: string | null = ofApp[0]?.key.slice(0, -1) ?? null
    while (after !== null && after < last) {
      const page: BlobPage = await blobs.list(appPrefix(appId), after, keysPerList)
      for (const { key, size } of page.blobs) if (sizes.get(key) === size) found.push({ key, size })
      after = page.next
    }
  }
  return found
}

function manifestOf(
  source: BackupSource,
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
    readonly parts: readonly BackupPart[]
  },
): Manifest {
  const migration = facts?.migration ?? source.migration
  const messageId = facts?.newestMessageId ?? 0
  return {
    format: 1,
    created_at: new Date(createdAt).toISOString(),
    version: source.version,
    schema: { number: schemaNumber([migration]), name: migration },
    engine: facts === null ? 'postgres' : 'sqlite',
    epoch: facts?.epoch ?? source.epoch,
    secret_key_fingerprint: source.keyFingerprint,
    parts,
    ...(digest !== undefined && { digest }),
    positions: facts?.positions ?? {},
    newest_message:
      messageId === 0
        ? null
        : { at: new Date(timestampOf(messageId)).toISOString(), msg_id: messageId },
    files,
    key_inside: false,
  }
}
