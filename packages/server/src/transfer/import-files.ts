import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { BlobError, type BlobStore } from '../blobs/blob-store.js'
import type { WorkOptions } from './digest.js'
import { hashed } from './export.js'
import { type ListedFile, parseListedFile } from './listed-file.js'
import { type CompleteExport, changed, exportFiles } from './manifest.js'
import { readLineBatches } from './part-lines.js'
import { TransferError } from './transfer-error.js'

/** The store that the files of an export are imported into. */
export type FileTarget = Pick<BlobStore, 'kind' | 'put' | 'stat'>

/**
 * Stores the files of an export; those that are stored already are kept.
 * @param options.ownerOf returns the application of a key, which a portable export must name
 * @throws TransferError
 */
export async function importFiles(
  { folder, manifest }: CompleteExport,
  files: FileTarget,
  { signal, progress, ownerOf }: WorkOptions & { readonly ownerOf: (key: string) => string | null },
): Promise<void> {
  const { count: total, store: from } = manifest.files
  let done = 0
  for await (const { lines } of readLineBatches(folder, exportFiles.fileList))
    for (const line of lines) {
      signal?.throwIfAborted()
      const file = parseListedFile(line, ++done)
      if (manifest.kind === 'portable' && !Object.hasOwn(manifest.apps, ownerOf(file.key) ?? ''))
        throw new TransferError(
          `line ${done} of ${exportFiles.fileList} of the export has the key ${file.key}, which is of no application of it; run hermod export again`,
        )
      const stored = await files.stat(file.key)
      if (from === 's3' ? stored === null : stored?.size !== file.size) {
        if (from === 's3')
          throw new TransferError(
            `the store of files does not have ${file.key}; set HERMOD_S3_ENDPOINT and the other settings to the store of the exported installation`,
          )
        await importFile(folder, files, file)
      }
      progress?.({ done, total, text: 'files of the service' })
    }
}

async function importFile(
  folder: string,
  files: FileTarget,
  { key, size, content_type: contentType, sha256 }: ListedFile,
): Promise<void> {
  const name = `${exportFiles.files}/${key}`
  const hash = createHash('sha256')
  async function* body() {
    yield* hashed(createReadStream(join(folder, name)), hash)
    // The store keeps nothing of a body that fails.
    if (hash.digest('hex') !== sha256) throw changed(folder, name)
  }
  try {
    await files.put(key, Readable.from(body(), { objectMode: false }), {
      contentType,
      maxBytes: size,
    })
  } catch (error) {
    const isChanged = error instanceof BlobError && /^(?:cut|too_large)$/.test(error.reason)
    throw isChanged ? changed(folder, name) : error
  }
}
