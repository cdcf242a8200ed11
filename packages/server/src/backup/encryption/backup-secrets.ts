/** The secret parts of an encrypted backup: its keys, the secret key of the service, and its digest. */
import { join } from 'node:path'
import { isListOf, isText, parseFile } from '../../lib/json-file.js'
import type { Passphrase } from '../../lib/secrets/passphrase-file.js'
import { readSmallFile } from '../../lib/system/regular-file.js'
import type { Digest } from '../../transfer/digest.js'
import { isDigest } from '../../transfer/manifest-fields.js'
import { BackupError, damaged } from '../backup-error.js'
import { type Manifest, manifestText, privatePart } from '../manifest.js'
import {
  type BackupEncryption,
  derive,
  isMacOf,
  macOf,
  newKey,
  unwrap,
  wrap,
} from './backup-keys.js'
import type { FilesKey } from './files-key.js'
import { openBytes, SealedFileError, sealBytes } from './sealed-file.js'

/** The contents of the part private.json. */
export interface PrivatePart {
  /** The lines of secret.key. */
  readonly secret_keys: readonly string[]
  /** Sums of hashes of rows: a short row could be guessed by them. */
  readonly digest: Digest
}

/** The keys of an encrypted backup. */
export interface BackupSecrets {
  /** The key of the parts. */
  readonly dataKey: Buffer
  readonly filesKey: Buffer
  /** The secret key of the service, and the previous one during a rotation. */
  readonly secretKeys: readonly string[]
}

/** The keys with which a backup is made. */
export interface NewBackupKeys {
  readonly dataKey: Buffer
  readonly filesKey: Buffer
  /** Without the code that authenticates the manifest. */
  readonly encryption: Omit<BackupEncryption, 'mac'>
}

/** A rotation has two keys of 256 characters; the rest is for the digest. */
const maxPrivateBytes = 4 * 1024 * 1024

export function newBackupKeys({ id, key, wrapped, wrapping, kdf }: FilesKey): NewBackupKeys {
  const dataKey = newKey()
  const data_key = wrap(wrapping, dataKey, 'data key')
  return { dataKey, filesKey: key, encryption: { kdf, data_key, files: { id, key: wrapped } } }
}

/** Seals the part private.json. */
export function sealPrivate(part: PrivatePart, key: Buffer): Buffer {
  return sealBytes(Buffer.from(JSON.stringify(part)), { key, name: privatePart })
}

/** Adds the code that authenticates the whole manifest. */
export function authenticated(
  manifest: Omit<Manifest, 'encryption'>,
  { encryption, dataKey }: NewBackupKeys,
): Manifest {
  const unsigned = { ...manifest, encryption: { ...encryption, mac: '' } }
  const mac = macOf(manifestText(unsigned), dataKey)
  return { ...manifest, encryption: { ...encryption, mac } }
}

/** Opens an encrypted backup whose manifest is as it was written. @throws BackupError */
export async function unlock(
  { folder, manifest }: { readonly folder: string; readonly manifest: Manifest },
  encryption: BackupEncryption,
  passphrase: Passphrase | null,
): Promise<{ readonly manifest: Manifest; readonly secrets: BackupSecrets }> {
  if (passphrase === null)
    throw new BackupError(
      `the backup ${folder} is encrypted; name the file of its passphrase with --passphrase-file, or set HERMOD_BACKUP_PASSPHRASE_FILE`,
    )
  const wrapping = await derive(passphrase.text, encryption.kdf)
  const dataKey = unwrap(wrapping, encryption.data_key, 'data key')
  if (dataKey === null)
    throw new BackupError(
      `the passphrase of ${passphrase.source} does not open the backup ${folder}; name the file of the passphrase that it was made with`,
    )
  const { mac } = encryption
  const unsigned = manifestText({ ...manifest, encryption: { ...encryption, mac: '' } })
  if (!isMacOf(mac, unsigned, dataKey))
    throw damaged(folder, ['manifest.json is not the one that was made with the passphrase'])
  const filesKey = unwrap(wrapping, encryption.files.key, `files key ${encryption.files.id}`)
  const found = await readPrivate(folder, manifest, dataKey)
  if (filesKey === null || found === null) throw damaged(folder, [`${privatePart} has other bytes`])
  const { secret_keys: secretKeys, digest } = found
  return { manifest: { ...manifest, digest }, secrets: { dataKey, filesKey, secretKeys } }
}

/** @returns null for a part that is missing or was changed */
async function readPrivate(
  folder: string,
  { parts }: Manifest,
  key: Buffer,
): Promise<PrivatePart | null> {
  const part = parts.find(({ name }) => name === privatePart)
  if (part === undefined || part.size > maxPrivateBytes) return null
  try {
    const bad = (problem: string) => new SealedFileError(problem)
    const bytes = await readSmallFile(join(folder, privatePart), bad)
    const text = openBytes(bytes, { key, name: privatePart }).toString()
    return parseFile<PrivatePart>(text, {
      fields: { secret_keys: isListOf(isText), digest: isDigest },
      bad: (problem) => new SealedFileError(problem),
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SealedFileError || code === 'ENOENT') return null
    throw error
  }
}
