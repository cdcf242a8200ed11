import type { BlobStore } from '../../blobs/blob-store.js'
import type { DiskFloor } from '../../blobs/disk-floor.js'
import type { ServerConfig } from '../../config/config.js'
import type { ServerSecrets } from '../../config/secrets.js'
import { lateLoader } from '../../lib/system/late-loader.js'
import { type FilesParts, openFilesFolder } from './files-folder.js'

type S3Module = typeof import('../../blobs/s3/s3-store.js')

const load = lateLoader(import.meta.url)
const s3Module = '../../blobs/s3/s3-store.js'

/**
 * The blob store. The S3 client is loaded only when it is used. Opening the store asks it nothing.
 * @throws errors of the file system for the folder
 */
export async function openBlobStore(
  config: ServerConfig,
  secrets: ServerSecrets,
  parts: FilesParts,
): Promise<BlobStore> {
  const { store } = config.files
  if (store.kind === 'folder') return openFilesFolder(config, store, parts)
  return openS3(store, secrets, parts.floor)
}

/** Opens the store that speaks S3. Its client is loaded only here. */
export function openS3(
  store: Extract<ServerConfig['files']['store'], { readonly kind: 's3' }>,
  { s3SecretAccessKey }: ServerSecrets,
  floor: DiskFloor,
): Promise<BlobStore> {
  const { S3Store } = load(s3Module) as S3Module
  return S3Store.open({ ...store, secretAccessKey: s3SecretAccessKey ?? '' }, floor)
}
