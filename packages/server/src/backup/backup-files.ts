/** Reads a backup in its folder and checks every byte of it, in place. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { counted } from '../lib/counted.js'
import type { Passphrase } from '../lib/secrets/passphrase-file.js'
import { readSmallFile, sizeOfFile } from '../lib/system/regular-file.js'
import type { WorkOptions } from '../transfer/digest.js'
import { BackupError, damaged } from './backup-error.js'
import type { HashedFile } from './blob-copy.js'
import { type BackupSecrets, unlock } from './encryption/backup-secrets.js'
import { filesRoot, isKeyFileOf } from './encryption/files-key.js'
import { Opener, SealedFileError, type SealedName } from './encryption/sealed-file.js'
import { type FileLine, KeyIndex, listedFilesOf } from './key-index.js'
import { filesPart, type Manifest, parseManifest } from './manifest.js'
import {
  completeFile,
  isOfEmptyFolder,
  manifestFile,
  markFile,
  newestBackup,
  noBackupYet,
  verifiedFile,
} from './target.js'

/** A complete backup in its target. */
export interface OpenedBackup {
  readonly name: string
  readonly folder: string
  /** The folder of the backups of the installation. */
  readonly target: string
  readonly manifest: Manifest
  /** The installation of the target. */
  readonly installation: string
  /** Null: the backup is not encrypted. */
  readonly secrets: BackupSecrets | null
}

const readBytes = 1024 * 1024

/**
 * Reads the manifest of a complete backup, and opens an encrypted one.
 * @throws BackupError for any other folder, and without the passphrase of an encrypted backup
 */
export async function openBackup(
  path: string,
  passphrase: Passphrase | null,
): Promise<OpenedBackup> {
  const folder = resolve(path)
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw new BackupError(
      error.code === 'ENOENT'
        ? `there is no backup ${folder}, or none was made there yet; hermod backup list shows those that exist`
        : `the backup ${folder} cannot be read: ${error.message}`,
    )
  })
  if (names.includes(markFile)) {
    const newest = await newestBackup(folder)
    const example =
      newest === null ? 'which has none yet' : `such as the newest, ${join(folder, newest)}`
    throw new BackupError(
      `${folder} is a folder of backups; name one of the backups in it, ${example}`,
    )
  }
  if (names.every(isOfEmptyFolder)) throw noBackupYet(folder)
  if (!names.includes(completeFile))
    throw new BackupError(
      `${folder} is no complete backup, since ${completeFile} is missing; take another one of hermod backup list`,
    )
  const bytes = await smallFile(folder, manifestFile)
  const complete = await smallFile(folder, completeFile)
  if (bytes === null || complete?.toString('utf8') !== `${sha256Of(bytes)}\n`)
    throw damaged(folder, [`${manifestFile} is not as ${completeFile} says`])
  const manifest = parseManifest(bytes.toString('utf8'))
  const target = dirname(folder)
  const installation = await installationIn(target)
  const opened = { name: basename(folder), folder, target, manifest, installation, secrets: null }
  const { encryption } = manifest
  if (encryption === undefined) return opened
  return { ...opened, ...(await unlock(opened, encryption, passphrase)) }
}

/** @returns null for a missing file. @throws BackupError for a FIFO and the like, and for a long file */
function smallFile(folder: string, name: string): Promise<Buffer | null> {
  return readSmallFile(join(folder, name), badFile(join(folder, name))).catch(missing)
}

const badFile = (path: string) => (problem: string) =>
  new BackupError(`${path} ${problem}; take another backup of hermod backup list`)

/** Returns the installation of a target. @throws BackupError */
async function installationIn(target: string): Promise<string> {
  const text = (await smallFile(target, markFile))?.toString('utf8') ?? ''
  const [, installation] = /^\{"format":1,"installation":"([0-9a-f]{32})"\}\n$/.exec(text) ?? []
  if (installation === undefined)
    throw new BackupError(
      `${join(target, markFile)} is missing or damaged, or of a newer version; a backup is verified in the folder that it was made in`,
    )
  return installation
}

/**
 * Compares the parts and the files of a backup with their hashes, and looks for files that are not of
 * it.
 * @param scratch a folder for an index of files, on a disk with room for it
 * @returns the bytes that were compared
 * @throws BackupError that names what is wrong; the reason of the signal
 */
export async function checkBytes(
  backup: OpenedBackup,
  scratch: string,
  work: WorkOptions,
): Promise<number> {
  const { folder, manifest } = backup
  const { parts, files, encryption } = manifest
  const total = parts.reduce(
    (sum, { size }) => sum + size,
    files.store === 'folder' ? files.bytes : 0,
  )
  let done = 0
  const hash: Hash = (path, sealed = null) =>
    hashFile(path, sealed, (bytes) => {
      work.signal?.throwIfAborted()
      done += bytes
      work.progress?.({ done, total, text: 'comparing bytes' })
    })
  const problems = await namesProblems(folder, manifest)
  for (const { name, size, sha256 } of parts) {
    const found = await hash(join(folder, name))
    if (found === null) problems.push(`${name} is missing`)
    else if (found.size !== size)
      problems.push(`${name} has ${found.size} of ${counted(size, 'byte')}`)
    else if (found.sha256 !== sha256) problems.push(`${name} has other bytes`)
  }
  if (encryption !== undefined && !(await isKeyFileOf(backup.target, encryption)))
    problems.push(
      `key.json of ${filesRoot(backup.target, encryption)} is missing or changed (the next hermod backup create makes another one, and copies the files again)`,
    )
  // A damaged list names any files.
  if (problems.length === 0) problems.push(...(await filesProblems(backup, { scratch, hash })))
  if (problems.length > 0) throw damaged(folder, problems)
  return done
}

async function namesProblems(folder: string, { parts }: Manifest): Promise<string[]> {
  const known = [...parts.map(({ name }) => name), manifestFile, completeFile, verifiedFile]
  const names = await readdir(folder)
  // It is written at the end.
  if (names.includes(verifiedFile)) await smallFile(folder, verifiedFile)
  return names.filter((name) => !known.includes(name)).map((name) => `${name} is not of it`)
}

type Hash = (path: string, sealed?: SealedName | null) => Promise<HashedFile | null>

async function filesProblems(
  { folder, target, manifest: { files, encryption }, secrets }: OpenedBackup,
  { scratch, hash }: { readonly scratch: string; readonly hash: Hash },
): Promise<string[]> {
  const problems: string[] = []
  const root = filesRoot(target, encryption)
  const catalogue = new KeyIndex(join(scratch, 'catalogue'))
  const filesKey = secrets?.filesKey ?? null
  try {
    catalogue.addCatalogue(join(root, filesPart))
    let [count, bytes] = [0, 0]
    for (const line of listedFilesOf(join(folder, filesPart))) {
      count++
      bytes += line.size
      const problem =
        files.store === 'folder' && (await fileProblem(line, { root, catalogue, hash, filesKey }))
      if (problem) problems.push(problem)
    }
    if (count !== files.count || bytes !== files.bytes)
      problems.push(
        `it has ${counted(count, 'file')} of ${counted(bytes, 'byte')}, not ${files.count} of ${files.bytes}`,
      )
  } finally {
    catalogue[Symbol.dispose]()
  }
  return problems
}

interface FilePlaces {
  /** The folder of the files and of their catalogue. */
  readonly root: string
  readonly catalogue: KeyIndex
  readonly hash: Hash
  /** Null: the files are not encrypted. */
  readonly filesKey: Buffer | null
}

async function fileProblem(
  { key, size, sha256 }: FileLine,
  { root, catalogue, hash, filesKey }: FilePlaces,
): Promise<string | null> {
  const name = `files/${key}`
  const again = 'remove it, and the next hermod backup create copies it again'
  const found = await hash(join(root, name), filesKey && { key: filesKey, name: key })
  if (found === null) return `${name} is missing (the next hermod backup create copies it again)`
  if (found.size !== size) return `${name} has ${found.size} of ${counted(size, 'byte')} (${again})`
  if (found.sha256 !== sha256) return `${name} has other bytes (${again})`
  const listed = catalogue.find(key)
  return listed?.size === size && listed.sha256 === sha256
    ? null
    : `${filesPart} of ${root} has another hash of ${key} (remove ${filesPart} there, and the next hermod backup create makes it again)`
}

/**
 * Hashes a file, and opens a sealed one, of which a failure counts as other bytes.
 * @returns null for a missing file
 */
async function hashFile(
  path: string,
  sealed: SealedName | null,
  read: (bytes: number) => void,
): Promise<HashedFile | null> {
  const hash = createHash('sha256')
  const opener = sealed && new Opener(sealed)
  let size = 0
  try {
    await sizeOfFile(path, badFile(path))
    for await (const chunk of createReadStream(path, { highWaterMark: readBytes })) {
      const bytes = chunk as Buffer
      hash.update(bytes)
      size += bytes.length
      read(bytes.length)
      opener?.add(bytes)
    }
    opener?.end()
  } catch (error) {
    if (error instanceof SealedFileError) return { size, sha256: '' }
    return missing(error as NodeJS.ErrnoException)
  }
  return { size, sha256: hash.digest('hex') }
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** @returns null for an error about a missing file. @throws any other one */
function missing(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(error.code ?? '')) return null
  throw error
}
