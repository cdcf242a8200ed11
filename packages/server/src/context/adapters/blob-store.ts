import type { BlobStore } from '../../blobs/blob-store.js'
import type { DiskFloor } from '../../blobs/disk-floor.js'
import { FolderStore } from '../../blobs/folder-store.js'
import type { FileStoreConfig } from '../../config/file-config.js'
import type { ServerSecrets } from '../../config/secrets.js'
import { lateLoader } from '../../lib/system/late-loader.js'

type S3Module = typeof import('../../blobs/s3/s3-store.js')

const load = lateLoader(import.meta.url)
const s3Module = '../../blobs/s3/s3-store.js'

/**
 * The blob store. The S3 client is loaded only when it is used. Opening the store asks it nothing.
 * @throws errors of the file system for the folder
 */
export async function openBlobStore(
  config: FileStoreConfig,
  floor: DiskFloor,
  { s3SecretAccessKey }: ServerSecrets,
): Promise<BlobStore> {
  if (config.kind === 'folder') return FolderStore.open(config.folder, floor)
  const { S3Store } = load(s3Module) as S3Module
  return S3Store.open({ ...config, secretAccessKey: s3SecretAccessKey ?? '' }, floor)
}
