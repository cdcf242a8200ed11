import type { BlobPage, BlobStore } from '../blobs/blob-store.js'
import { appPrefix } from '../domain/files/file-model.js'
import { groupBy } from '../lib/group-by.js'
import type { MakingBackup } from './backup-source.js'
import type { CopyFacts, FilePlace, NamedPage } from './database-facts.js'
import { filesRoot } from './encryption/files-key.js'
import type { FileLine } from './key-index.js'
import { filesPart, type Manifest } from './manifest.js'

const keysPerList = 1_000

/** Copies the blobs of a folder; those in S3 are looked for only. */
export async function copyFiles(
  { source, thread, target, incoming, progress, ending, keys, copy: path }: MakingBackup,
  facts: CopyFacts | null,
): Promise<Manifest['files']> {
  const { blobs } = source
  const list = incoming.path(filesPart)
  await thread.run('addLines', { path: list, lines: [] })
  const isFolder = blobs.kind === 'folder'
  if (isFolder)
    await thread.run('openBlobs', {
      ...{ from: blobs.location, scratch: incoming.folder, key: keys?.filesKey ?? null },
      target: filesRoot(target, keys?.encryption),
    })
  let [count, bytes, missing] = [0, 0, 0]
  for (let after: FilePlace | null = null; ; ) {
    ending.throwIfAborted()
    const page: NamedPage =
      facts === null ? await source.listFiles(after) : await thread.run('files', { path, after })
    const lines = isFolder
      ? await thread.run('copyBlobs', page.blobs)
      : await findBlobs(blobs, page.blobs)
    await thread.run('addLines', { path: list, lines })
    count += lines.length
    bytes += lines.reduce((sum, { size }) => sum + size, 0)
    missing += page.blobs.length - lines.length
    progress({ done: count, total: 0, text: 'copying the files' })
    if (page.next === null) break
    after = page.next
  }
  await thread.run('closeBlobs', undefined)
  return { store: blobs.kind, count, bytes, missing }
}

/** Returns the lines of blobs that the store has. @param named those of an app in the order of their keys */
async function findBlobs(
  blobs: Pick<BlobStore, 'list'>,
  named: NamedPage['blobs'],
): Promise<FileLine[]> {
  const found: FileLine[] = []
  for (const [appId, ofApp] of groupBy(named, (blob) => blob.appId)) {
    const sizes = new Map(ofApp.map(({ key, size }) => [key, size]))
    const last = ofApp.at(-1)?.key ?? ''
    // A text before the first key and after most others.
    let after: string | null = ofApp[0]?.key.slice(0, -1) ?? null
    while (after !== null && after < last) {
      const page: BlobPage = await blobs.list(appPrefix(appId), after, keysPerList)
      for (const { key, size } of page.blobs) if (sizes.get(key) === size) found.push({ key, size })
      after = page.next
    }
  }
  return found
}
