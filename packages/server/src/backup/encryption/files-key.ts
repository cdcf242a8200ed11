/**
 * Places of files in a target, which backups share: `files/` and its catalogue `files.ndjson`, at the
 * top for plain backups, and below `files-encrypted/<id>/` for those of one passphrase.
 */
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isOneOf, parseFile } from '../../lib/json-file.js'
import { readSmallFile } from '../../lib/system/regular-file.js'
import { syncFolder } from '../../lib/system/sync-folder.js'
import {
  type BackupEncryption,
  derive,
  isFilesId,
  isKeyDerivation,
  isWrapped,
  type KeyDerivation,
  newDerivation,
  newFilesId,
  newKey,
  unwrap,
  wrap,
} from './backup-keys.js'

/** Contents of key.json. */
interface FilesKeyFile {
  readonly format: 1
  readonly kdf: KeyDerivation
  readonly key: string
}

/** The key of the encrypted files of a passphrase, and the key that wraps it. */
export interface FilesKey {
  readonly id: string
  readonly key: Buffer
  /** The form of key.json. */
  readonly wrapped: string
  readonly wrapping: Buffer
  readonly kdf: KeyDerivation
}

const encryptedFolder = 'files-encrypted'
const keyName = 'key.json'
const ownFile = { mode: 0o600, flush: true }

/** Returns the folder that has the files of a backup and their catalogue. */
export function filesRoot(
  target: string,
  encryption: { readonly files: { readonly id: string } } | undefined,
): string {
  return encryption === undefined ? target : encryptedRoot(target, encryption.files.id)
}

function encryptedRoot(target: string, id: string): string {
  return join(target, encryptedFolder, id)
}

/** Lists the IDs of the places of encrypted files, and of the rest of those. */
export async function filesIds(target: string): Promise<string[]> {
  try {
    return (await readdir(join(target, encryptedFolder))).filter(isFilesId).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Opens the key of the files of a passphrase, or makes one. The caller has the target locked. */
export async function openFilesKey(target: string, passphrase: string): Promise<FilesKey> {
  for (const id of await filesIds(target)) {
    const file = await readKeyFile(encryptedRoot(target, id))
    if (file === null) continue
    const { kdf, key: wrapped } = file
    const wrapping = await derive(passphrase, kdf)
    const key = unwrap(wrapping, wrapped, `files key ${id}`)
    if (key !== null) return { id, key, wrapped, wrapping, kdf }
  }
  return makeFilesKey(target, passphrase)
}

async function makeFilesKey(target: string, passphrase: string): Promise<FilesKey> {
  const id = newFilesId()
  const kdf = newDerivation()
  const key = newKey()
  const wrapping = await derive(passphrase, kdf)
  const wrapped = wrap(wrapping, key, `files key ${id}`)
  const root = encryptedRoot(target, id)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const path = join(root, keyName)
  await writeFile(`${path}.new`, keyText({ format: 1, kdf, key: wrapped }), ownFile)
  await rename(`${path}.new`, path)
  for (const folder of [root, join(target, encryptedFolder), target]) await syncFolder(folder)
  return { id, key, wrapped, wrapping, kdf }
}

/** Tells whether key.json is as an encrypted backup says; without it the next backup copies all files. */
export async function isKeyFileOf(
  target: string,
  { kdf, files }: BackupEncryption,
): Promise<boolean> {
  const path = join(encryptedRoot(target, files.id), keyName)
  const text = await readKeyText(path).catch(() => null)
  return text === keyText({ format: 1, kdf, key: files.key })
}

async function readKeyText(path: string): Promise<string> {
  return (await readSmallFile(path, (problem) => new SyntaxError(problem))).toString('utf8')
}

function keyText(file: FilesKeyFile): string {
  return `${JSON.stringify(file, null, 2)}\n`
}

/** @returns null for a file that is missing or damaged */
async function readKeyFile(root: string): Promise<FilesKeyFile | null> {
  try {
    return parseFile<FilesKeyFile>(await readKeyText(join(root, keyName)), {
      fields: { format: isOneOf(1), kdf: isKeyDerivation, key: isWrapped },
      bad: (problem) => new SyntaxError(problem),
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || error instanceof SyntaxError) return null
    throw error
  }
}
