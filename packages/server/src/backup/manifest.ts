/** The description of one backup, which its file manifest.json has. */
import { BackupError } from './backup-error.js'

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
  /** Absent: the backup has no database. */
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
}

/** Returns the text of manifest.json. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`
}

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string' && value !== ''
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isHash: Check = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
const isTime: Check = (value) =>
  typeof value === 'string' && /^\d{4}-.*Z$/.test(value) && !Number.isNaN(Date.parse(value))
const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value)
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isMapOf =
  (check: Check): Check =>
  (value) =>
    isRecord(value) && Object.values(value).every(check)
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
/** The object has these members, and no others. */
const isObjectOf =
  (members: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) &&
    Object.keys(value).every((name) => Object.hasOwn(members, name)) &&
    Object.entries(members).every(([name, check]) => check(value[name]))

const partName = /^[a-z0-9][a-z0-9._-]*$/

const fields: Readonly<Record<keyof Manifest, Check>> = {
  format: isOneOf(1),
  created_at: isTime,
  version: isText,
  schema: isObjectOf({ number: isCount, name: isText }),
  engine: isOneOf('sqlite', 'postgres'),
  epoch: isText,
  secret_key_fingerprint: isText,
  parts: isListOf(
    isObjectOf({
      name: (value) => isText(value) && partName.test(value as string),
      size: isCount,
      sha256: isHash,
    }),
  ),
  digest: (value) =>
    value === undefined || isMapOf(isObjectOf({ count: isCount, sum: isHash }))(value),
  positions: isMapOf(isCount),
  newest_message: (value) => value === null || isObjectOf({ at: isTime, msg_id: isCount })(value),
  files: isObjectOf({
    store: isOneOf('folder', 's3', 'none'),
    count: isCount,
    bytes: isCount,
    missing: isCount,
  }),
  key_inside: isOneOf(true, false),
}

/** Reads the text of a manifest.json. @throws BackupError that names the field that is wrong */
export function parseManifest(text: string): Manifest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BackupError('manifest.json is not JSON')
  }
  if (!isRecord(value)) throw new BackupError('manifest.json is no object')
  if (Number(value.format) > 1)
    throw new BackupError(
      `the backup has the format ${value.format}, and this build knows the format 1; use the newer build`,
    )
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name))
  if (unknown !== undefined) throw new BackupError(`manifest.json has an unknown field ${unknown}`)
  for (const [name, check] of Object.entries(fields))
    if (!check(value[name])) throw new BackupError(`manifest.json has a bad field ${name}`)
  return value as unknown as Manifest
}
