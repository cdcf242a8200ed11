import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { BlobError, type BlobStore } from './blob-store.js'

/** Writes, reads and removes a blob. @throws BlobError with a sentence for the operator */
export async function checkStore(store: BlobStore): Promise<void> {
  const content = randomBytes(32)
  const key = `check/${randomBytes(8).toString('hex')}`
  try {
    const options = { contentType: 'application/octet-stream', maxBytes: content.length }
    const expected = await store.put(key, Readable.from([content]), options)
    const read = await store.read(key, expected)
    if (!read.equals(content)) throw new BlobError('damaged', 'other bytes are read than written')
    await store.remove([key])
  } catch (error) {
    if (!(error instanceof BlobError)) throw error
    const text = `files cannot be stored in ${store.location}: ${error.message}`
    throw new BlobError(error.reason, text, { cause: error })
  }
}
