import { join } from 'node:path'
import type { BlobStore } from '../blobs/blob-store.js'
import { BlobError } from '../blobs/blob-store.js'
import type { OpenedBackup } from './backup-files.js'
import { openedSize } from './encryption/sealed-file.js'
import { KeyIndex } from './key-index.js'
import { filesPart } from './manifest.js'

/**
 * The files of a backup as a store of the service, for `hermod check`: sizes and keys, which are
 * compared with the bytes before. It is read only.
 * @param scratch a folder for an index
 */
export function listedBlobs(
  { folder, manifest, secrets }: OpenedBackup,
  scratch: string,
): BlobStore & Disposable {
  // The list of an encrypted backup has the sizes of sealed files.
  const isSealed = secrets !== null && manifest.files.store === 'folder'
  const sizeOf = (listed: number) => (isSealed ? openedSize(listed) : listed)
  const index = new KeyIndex(join(scratch, 'blobs'))
  index.addFile(join(folder, filesPart))
  const refuse = async () => {
    throw new BlobError('unavailable', 'the files of a backup are read only')
  }
  return {
    kind: 'folder',
    location: folder,
    async stat(key) {
      const found = index.find(key)
      return found && { size: sizeOf(found.size), modifiedAt: 0 }
    },
    async list(prefix, after, limit) {
      const blobs = index
        .list(prefix, after ?? '', limit)
        .map(({ key, size }) => ({ key, size: sizeOf(size), modifiedAt: 0 }))
      return { blobs, next: blobs.length < limit ? null : (blobs.at(-1)?.key ?? null) }
    },
    async check() {},
    async tidy() {},
    put: refuse,
    open: refuse,
    read: refuse,
    remove: refuse,
    uploadForm: refuse,
    downloadUrl: refuse,
    [Symbol.dispose]: () => index[Symbol.dispose](),
  }
}
