/** The fields that the manifests of exports and of backups have in common. */
import {
  type Check,
  isCount,
  isListOf,
  isMapOf,
  isName,
  isObjectOf,
  isOneOf,
  isSha256,
  isTime,
} from '../lib/json-file.js'

/** A file that a manifest lists. */
export interface ManifestPart {
  /** Its path in the folder. */
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** 64 hexadecimal digits. */
  readonly sha256: string
}

/** The database that a manifest describes. */
export interface DescribedData {
  /** RFC 3339, UTC. */
  readonly created_at: string
  /** The version of Hermod that wrote the manifest. */
  readonly version: string
  /** The newest migration that the database has. */
  readonly schema: { readonly number: number; readonly name: string }
  readonly engine: 'sqlite' | 'postgres'
  readonly epoch: string
}

/** The files of the service that a manifest counts. */
export interface DescribedFiles<Store extends string> {
  /** `folder`: they are copied; `s3`: they stay in that store. */
  readonly store: Store
  readonly count: number
  readonly bytes: number
  /** Files that the database names and the store does not have. */
  readonly missing: number
}

export const dataFields: Readonly<Record<keyof DescribedData, Check>> = {
  created_at: isTime,
  version: isName,
  schema: isObjectOf({ number: isCount, name: isName }),
  engine: isOneOf('sqlite', 'postgres'),
  epoch: isName,
}

/** A digest of rows. */
export const isDigest: Check = isMapOf(isObjectOf({ count: isCount, sum: isSha256 }))

export const arePartsNamed = (name: RegExp): Check =>
  isListOf(
    isObjectOf({
      name: (value) => typeof value === 'string' && name.test(value),
      size: isCount,
      sha256: isSha256,
    }),
  )

export const areFilesOf = (...stores: readonly string[]): Check =>
  isObjectOf({ store: isOneOf(...stores), count: isCount, bytes: isCount, missing: isCount })
