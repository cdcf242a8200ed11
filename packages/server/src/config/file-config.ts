/** The settings of files: where they are kept, and the program that converts voice. */
import { join, resolve } from 'node:path'
import { findInPath, isExecutable } from '../lib/system/find-program.js'
import { type OptionKey, type OptionValues, options } from './options.js'

/** The store of the bytes of files. */
export type FileStoreConfig =
  | {
      readonly kind: 'folder'
      /** Absolute path. */
      readonly folder: string
      /** All nodes mount it. */
      readonly isShared: boolean
    }
  | {
      readonly kind: 's3'
      readonly endpoint: string
      readonly publicEndpoint: string
      readonly region: string
      readonly bucket: string
      readonly accessKeyId: string
      readonly forcePathStyle: boolean
      readonly prefix: string
      readonly directUploads: boolean
      readonly redirectDownloads: boolean
      /** Absolute path of a folder for uploads on their way to the store. */
      readonly spoolFolder: string
    }

/** The storage and conversion of files. */
export interface FileConfig {
  readonly store: FileStoreConfig
  /** Path of the program; null: there is none, so that voice is not converted. */
  readonly ffmpeg: string | null
  /** The free space of the disk below which no file is stored; at most a tenth of the disk. */
  readonly freeDiskBytes: number
}

/** @param path the variable PATH */
export function fileConfig(
  values: OptionValues,
  dataDir: string,
  path: string | undefined,
): FileConfig {
  return {
    store: storeConfig(values, dataDir),
    ffmpeg: values.ffmpeg ?? findInPath('ffmpeg', path),
    freeDiskBytes: values.freeDiskBytes,
  }
}

function storeConfig(values: OptionValues, dataDir: string): FileStoreConfig {
  const { s3Endpoint: endpoint, s3Bucket: bucket, s3AccessKeyId: accessKeyId } = values
  if (endpoint === null || bucket === null || accessKeyId === null)
    return {
      kind: 'folder',
      folder: values.filesDir === null ? join(dataDir, 'files') : resolve(values.filesDir),
      isShared: values.filesShared,
    }
  return {
    kind: 's3',
    endpoint,
    publicEndpoint: values.s3PublicEndpoint ?? endpoint,
    region: values.s3Region,
    bucket,
    accessKeyId,
    forcePathStyle: values.s3ForcePathStyle,
    prefix: values.s3Prefix ?? '',
    directUploads: values.s3Uploads === 'direct',
    redirectDownloads: values.s3Downloads === 'redirect',
    spoolFolder: join(dataDir, 'files', '.incoming'),
  }
}

/** The effect of an unset setting, for people. */
export function fileDefaults({ store, ffmpeg }: FileConfig): Partial<Record<OptionKey, string>> {
  return {
    filesDir: store.kind === 'folder' ? `not set: ${store.folder}` : '',
    s3Endpoint: store.kind === 'folder' ? `not set: files are kept in ${store.folder}` : '',
    ffmpeg: ffmpeg === null ? 'not found: voice is not converted' : `${ffmpeg}, found in PATH`,
  }
}

const required = ['s3Endpoint', 's3Bucket', 's3AccessKeyId', 's3SecretAccessKey'] as const

/** Contradictions between settings, as sentences. */
export function fileContradictions(values: OptionValues): string[] {
  const violations: string[] = []
  const given = required.filter((key) => values[key] !== null)
  for (const key of required) {
    if (given.length === 0 || given.includes(key)) continue
    const { name, example } = options[key]
    const others = given.map((other) => options[other].name).join(', ')
    violations.push(`${name} is required with ${others}; for example ${name}=${example}`)
  }
  if (values.filesDir !== null && resolve(values.filesDir) === resolve(values.dataDir)) {
    const { name, example } = options.filesDir
    violations.push(
      `${name} must not be ${options.dataDir.name} itself; for example ${name}=${example}`,
    )
  }
  if (values.ffmpeg !== null && !isExecutable(values.ffmpeg)) {
    const { name, example } = options.ffmpeg
    violations.push(`${name} (${values.ffmpeg}) is no program; for example ${name}=${example}`)
  }
  return violations
}
