import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { assertKey } from './blob-keys.js'
import { BlobError, type BlobStore } from './blob-store.js'
import { diskError, isMissing } from './disk.js'

/** Reads the blobs in a folder that belongs to no process, such as that of a backup, and changes nothing. */
export function folderReader(folder: string): Pick<BlobStore, 'kind' | 'open' | 'stat'> {
  const reader: Pick<BlobStore, 'kind' | 'open' | 'stat'> = {
    kind: 'folder',
    async open(key, { expected } = {}) {
      const found = await reader.stat(key)
      if (found === null) throw new BlobError('not_found', `there is no file ${key}`)
      if (expected && found.size !== expected.size)
        throw new BlobError('damaged', `${key} has ${found.size} bytes, not ${expected.size}`)
      return createReadStream(join(folder, key))
    },
    async stat(key) {
      assertKey(key)
      try {
        const { size, mtimeMs } = await stat(join(folder, key))
        return { size, modifiedAt: Math.floor(mtimeMs) }
      } catch (error) {
        if (isMissing(error)) return null
        throw diskError(error)
      }
    },
  }
  return reader
}
