import { createRequire } from 'node:module'
import type { BlobStore } from '../../blobs/blob-store.js'
import { FolderStore } from '../../blobs/folder-store.js'
import type { FileStoreConfig } from '../../config/file-config.js'
import type { ServerSecrets } from '../../config/secrets.js'

type S3Module = typeof import('../../blobs/s3/s3-store.js')

// `import()` remembers a failure, such as of descriptors that had run out, as long as the process lives; `require` does not.
const require = createRequire(import.meta.url)
const s3Module = '../../blobs/s3/s3-store.js'

/**
 * The store of files. What speaks to S3 is loaded when there is one; it is asked nothing here.
 *
 * @throws what the file system throws for the folder
 */
export async function openBlobStore(
  config: FileStoreConfig,
  { s3SecretAccessKey }: ServerSecrets,
): Promise<BlobStore> {
  if (config.kind === 'folder') return FolderStore.open(config.folder)
  const { S3Store } = require(s3Module) as S3Module
  return S3Store.open({ ...config, secretAccessKey: s3SecretAccessKey ?? '' })
}
