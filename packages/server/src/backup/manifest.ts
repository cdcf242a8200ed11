/** The description of one backup, which its file manifest.json has. */
import {
  type Check,
  isCount,
  isMapOf,
  isObjectOf,
  isOneOf,
  isTime,
  parseFile,
} from '../lib/json-file.js'
import { isKeyId } from '../lib/secrets/secret-keys.js'
import type { Digest } from '../transfer/digest.js'
import {
  areFilesOf,
  arePartsNamed,
  dataFields,
  type DescribedData,
  type DescribedFiles,
  isDigest,
  type ManifestPart,
} from '../transfer/manifest-fields.js'
import { BackupError } from './backup-error.js'
import { type BackupEncryption, isEncryption } from './encryption/backup-keys.js'

/** Contents of manifest.json. */
export interface Manifest extends DescribedData {
  readonly format: 1
  /** RFC 3339, UTC: before the database was copied. */
  readonly created_at: string
  /** `sqlite`: the backup has the database; `postgres`: it has files alone. */
  readonly engine: 'sqlite' | 'postgres'
  readonly secret_key_fingerprint: string
  readonly parts: readonly ManifestPart[]
  /** Absent: the backup has no database, or is encrypted, and the digest is in private.json. */
  readonly digest?: Digest
  /** For each application the position of its newest event. */
  readonly positions: Readonly<Record<string, number>>
  /** RFC 3339 time and ID; null: there is no message. */
  readonly newest_message: { readonly at: string; readonly msg_id: number } | null
  readonly files: DescribedFiles<'folder' | 's3' | 'none'>
  /** The secret key is inside. */
  readonly key_inside: boolean
  /** Absent: the backup is not encrypted. */
  readonly encryption?: BackupEncryption
}

/** Returns the text of manifest.json. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`
}

export const databasePart = 'hermod.db'
/** The list of files. */
export const filesPart = 'files.ndjson'
/** The secrets of an encrypted backup. */
export const privatePart = 'private.json'
const backupParts = [databasePart, filesPart, privatePart] as const
const partName = /^[a-z0-9][a-z0-9._-]*$/

const fields: Readonly<Record<keyof Manifest, Check>> = {
  format: isOneOf(1),
  ...dataFields,
  secret_key_fingerprint: isKeyId,
  parts: arePartsNamed(partName),
  digest: (value) => value === undefined || isDigest(value),
  positions: isMapOf(isCount),
  newest_message: (value) => value === null || isObjectOf({ at: isTime, msg_id: isCount })(value),
  files: areFilesOf('folder', 's3', 'none'),
  key_inside: isOneOf(true, false),
  encryption: (value) => value === undefined || isEncryption(value),
}

/** Reads the text of a manifest.json. @throws BackupError that names the field that is wrong */
export function parseManifest(text: string): Manifest {
  const manifest = parseFile<Manifest>(text, {
    fields,
    bad: (problem) => new BackupError(`manifest.json ${problem}`),
    refuse: ({ format }) =>
      Number(format) > 1
        ? new BackupError(
            `the backup has the format ${Number(format)}, and this build knows the format 1; use the newer build`,
          )
        : null,
  })
  requireParts(manifest)
  return manifest
}

/** @throws BackupError for a part that no backup has, that is missing or that is listed twice */
function requireParts({ parts, engine }: Manifest): void {
  const known = new Set<string>(backupParts)
  for (const { name } of parts)
    if (!known.delete(name)) {
      const isKnown = backupParts.some((each) => each === name)
      throw new BackupError(
        `manifest.json lists the part ${name}${isKnown ? ' twice' : ', which no backup has'}; take another backup`,
      )
    }
  const needed = engine === 'sqlite' ? [databasePart, filesPart] : [filesPart]
  const missing = needed.find((name) => known.has(name))
  if (missing !== undefined)
    throw new BackupError(`manifest.json does not list the part ${missing}; take another backup`)
}
