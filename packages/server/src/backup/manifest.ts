/** The description of one backup, which its file manifest.json has. */
import {
  type Check,
  isCount,
  isListOf,
  isMapOf,
  isName,
  isObjectOf,
  isOneOf,
  isSha256,
  isText,
  isTime,
  parseFile,
} from '../lib/json-file.js'
import { BackupError } from './backup-error.js'
import { type BackupEncryption, isEncryption } from './encryption/backup-keys.js'

/** A file of a backup. */
export interface BackupPart {
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** 64 hexadecimal digits. */
  readonly sha256: string
}

/** For each type of data the number of its rows, and the sum of their hashes. */
export type ManifestDigest = Readonly<
  Record<string, { readonly count: number; readonly sum: string }>
>

/** Contents of manifest.json. */
export interface Manifest {
  readonly format: 1
  /** The time before the database was copied, RFC 3339, UTC. */
  readonly created_at: string
  /** The version of Hermod that made the backup. */
  readonly version: string
  /** The newest migration that the database has. */
  readonly schema: { readonly number: number; readonly name: string }
  /** `sqlite`: the backup has the database; `postgres`: it has files alone. */
  readonly engine: 'sqlite' | 'postgres'
  readonly epoch: string
  readonly secret_key_fingerprint: string
  readonly parts: readonly BackupPart[]
  /** Absent: the backup has no database, or is encrypted, and the digest is in private.json. */
  readonly digest?: ManifestDigest
  /** For each application the position of its newest event. */
  readonly positions: Readonly<Record<string, number>>
  /** RFC 3339 time and ID; null: there is no message. */
  readonly newest_message: { readonly at: string; readonly msg_id: number } | null
  readonly files: {
    /** `s3`: the files are in that store and not in the target. */
    readonly store: 'folder' | 's3' | 'none'
    readonly count: number
    readonly bytes: number
    /** Files that the database names and the store does not have. */
    readonly missing: number
  }
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

export const isDigest: Check = isMapOf(isObjectOf({ count: isCount, sum: isSha256 }))

const fields: Readonly<Record<keyof Manifest, Check>> = {
  format: isOneOf(1),
  created_at: isTime,
  version: isName,
  schema: isObjectOf({ number: isCount, name: isName }),
  engine: isOneOf('sqlite', 'postgres'),
  epoch: isName,
  secret_key_fingerprint: isName,
  parts: isListOf(
    isObjectOf({
      name: (value) => isText(value) && partName.test(value as string),
      size: isCount,
      sha256: isSha256,
    }),
  ),
  digest: (value) => value === undefined || isDigest(value),
  positions: isMapOf(isCount),
  newest_message: (value) => value === null || isObjectOf({ at: isTime, msg_id: isCount })(value),
  files: isObjectOf({
    store: isOneOf('folder', 's3', 'none'),
    count: isCount,
    bytes: isCount,
    missing: isCount,
  }),
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
