import type { BlobStore } from '../../blobs/blob-store.js'
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
  { s3SecretAccessKey }: ServerSecrets,
  parts: FilesParts,
): Promise<BlobStore> {
  const { store } = config.files
  if (store.kind === 'folder') return openFilesFolder(config, store, parts)
  const { S3Store } = load(s3Module) as S3Module
  return S3Store.open({ ...store, secretAccessKey: s3SecretAccessKey ?? '' }, parts.floor)
}
