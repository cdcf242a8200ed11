import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { FileReads } from '../lib/system/file-reads.js'
import { syncFolder } from '../lib/system/sync-folder.js'
import { assertKey, assertPrefix, isKey } from './blob-keys.js'
import {
  BlobError,
  type BlobPage,
  type BlobStat,
  type BlobStore,
  type ExpectedBlob,
  type ListedBlob,
  type OpenOptions,
  type PutOptions,
  type StoredBlob,
} from './blob-store.js'
import { checkStore } from './check-store.js'
import { diskError, isMissing, writeAll } from './disk.js'
import { DiskFloor } from './disk-floor.js'
import { UploadStream } from './upload-stream.js'

/** The folder of uploads in progress below the store's folder; no name of a key begins with a dot. */
const incoming = '.incoming'

/** A node among those that store blobs in one folder. */
export interface SharingNode {
  readonly id: string
  /** The IDs of the nodes that are live. */
  readonly live: readonly string[]
}

/**
 * Stores blobs as files of one folder: the key is the path. The folder belongs to this process, or
 * to nodes that share it. A blob is written under another name, synced and renamed, and the folder is
 * synced: a file under its key is complete, also after a power failure.
 */
export class FolderStore implements BlobStore {
  readonly kind = 'folder'

  private constructor(
    readonly location: string,
    private readonly floor: DiskFloor,
    /** The folder of uploads in progress of this process. */
    private readonly incoming: string,
  ) {}

  /**
   * Makes the folder and removes unfinished uploads of an earlier process, with `node` also those of
   * nodes that are gone.
   * @throws the error of the file system
   */
  static async open(
    folder: string,
    floor = new DiskFloor(folder, 0),
    node: SharingNode | null = null,
  ): Promise<FolderStore> {
    const ofAll = join(folder, incoming)
    const others = node?.live.filter((id) => id !== node.id) ?? []
    for (const name of await namesIn(ofAll))
      if (!others.includes(name)) await rm(join(ofAll, name), { recursive: true, force: true })
    await makeFolder(ofAll)
    return new FolderStore(folder, floor, node === null ? ofAll : join(ofAll, node.id))
  }

  async put(key: string, body: Readable, { maxBytes }: PutOptions): Promise<StoredBlob> {
    const target = this.#path(key)
    const temporary = join(this.incoming, randomBytes(16).toString('hex'))
    const upload = new UploadStream(body, maxBytes, this.floor)
    try {
      await writeWhole(await openNew(temporary), upload)
      await moveInto(temporary, target)
      return upload.passed
    } catch (error) {
      body.destroy()
      // A failure to remove the file must not hide the first error; the next start removes the file.
      await rm(temporary, { force: true }).catch(() => {})
      throw isMissing(error) ? removedMeanwhile(error) : diskError(error)
    }
  }

  async open(key: string, { range, expected }: OpenOptions = {}): Promise<Readable> {
    const handle = await this.#openFile(key)
    try {
      await assertSize(handle, expected?.size)
    } catch (error) {
      await handle.close()
      throw diskError(error)
    }
    return new FileReads(handle, range)
  }

  async read(key: string, { size }: ExpectedBlob): Promise<Buffer> {
    const handle = await this.#openFile(key)
    try {
      // One byte more shows whether the file is longer than expected.
      const buffer = Buffer.allocUnsafe(size + 1)
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
      if (bytesRead !== size) throw damaged(size, bytesRead)
      return buffer.subarray(0, size)
    } catch (error) {
      throw diskError(error)
    } finally {
      await handle.close()
    }
  }

  async stat(key: string): Promise<BlobStat | null> {
    const stats = await statOrNull(this.#path(key))
    return stats?.isFile() ? blobStat(stats) : null
  }

  async remove(keys: readonly string[]): Promise<void> {
    const paths = keys.map((key) => this.#path(key))
    try {
      for (const path of paths) await rm(path, { force: true })
    } catch (error) {
      throw diskError(error)
    }
  }

  async list(prefix: string, after: string | null, limit: number): Promise<BlobPage> {
    assertPrefix(prefix)
    const blobs: ListedBlob[] = []
    try {
      for await (const key of this.#keys('', prefix, after ?? '')) {
        if (blobs.length === limit) return { blobs, next: blobs.at(-1)?.key ?? null }
        const found = await this.stat(key)
        // The file may have been removed since it was listed.
        if (found) blobs.push({ key, ...found })
      }
    } catch (error) {
      throw diskError(error)
    }
    return { blobs, next: null }
  }

  async uploadForm(): Promise<null> {
    return null
  }

  async downloadUrl(): Promise<null> {
    return null
  }

  async tidy(before: number): Promise<void> {
    const folder = join(this.location, incoming)
    try {
      for (const name of await readdir(folder, { recursive: true })) {
        const path = join(folder, name)
        // A file that was written to at that time or later is still being uploaded.
        const stats = await statOrNull(path)
        if (stats?.isFile() && stats.mtimeMs < before) await rm(path, { force: true })
      }
    } catch (error) {
      throw diskError(error)
    }
  }

  async check(): Promise<void> {
    await checkStore(this)
  }

  async #openFile(key: string): Promise<FileHandle> {
    const path = this.#path(key)
    try {
      return await open(path)
    } catch (error) {
      if (isMissing(error)) await this.#requireMounted()
      throw diskError(error)
    }
  }

  /** Tells a missing file from a folder that is not mounted any more. @throws BlobError unavailable */
  async #requireMounted(): Promise<void> {
    if ((await statOrNull(join(this.location, incoming))) === null)
      throw new BlobError('unavailable', `${this.location} is not the folder of the files any more`)
  }

  #path(key: string): string {
    assertKey(key)
    return join(this.location, key)
  }

  /**
   * Returns the keys of a folder that begin with the prefix and come after `after`, in the order of
   * their bytes.
   */
  async *#keys(folder: string, prefix: string, after: string): AsyncGenerator<string, void> {
    for (const entry of await entriesOf(join(this.location, folder))) {
      const path = `${folder}${entry}`
      const mayBegin = path.startsWith(prefix) || (path.endsWith('/') && prefix.startsWith(path))
      const mayFollow = path > after || (path.endsWith('/') && after.startsWith(path))
      if (!mayBegin || !mayFollow) continue
      if (path.endsWith('/')) yield* this.#keys(path, prefix, after)
      else yield path
    }
  }
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx')
  } catch (error) {
    if (!isMissing(error)) throw error
    // The first upload of a node, or another one has removed the folder since it takes this one for
    // gone. The folder above it is made by starts alone: without it this is the empty place of a
    // folder that is not mounted.
    await makeOne(dirname(path))
    return await open(path, 'wx')
  }
}

/** Makes a folder below an existing one; several uploads may do so at once. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function removedMeanwhile(cause: unknown): BlobError {
  return new BlobError('unavailable', 'the folder of unfinished uploads was removed', { cause })
}

/** Returns the names in a folder; none for a missing one. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Writes one batch while the next one arrives: many small writes cost more than the disk does. */
async function writeWhole(handle: FileHandle, upload: UploadStream): Promise<void> {
  try {
    for await (const chunk of upload.chunks()) await writeAll(handle, chunk)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Renames durably. When that fails, there is no file under the new name. */
async function moveInto(temporary: string, target: string): Promise<void> {
  const folder = dirname(target)
  try {
    await rename(temporary, target)
  } catch (error) {
    if (!isMissing(error)) throw error
    await makeFolder(folder)
    await rename(temporary, target)
  }
  try {
    await syncFolder(folder)
  } catch (error) {
    await rm(target, { force: true })
    throw error
  }
}

/** Makes a folder and the folders above it, each durable. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made))
    await syncFolder(dirname(made))
}

async function assertSize(handle: FileHandle, expected: number | undefined): Promise<void> {
  if (expected === undefined) return
  const { size } = await handle.stat()
  if (size !== expected) throw damaged(expected, size)
}

function damaged(expected: number, found: number): BlobError {
  return new BlobError('damaged', `there are ${found} bytes where ${expected} were stored`)
}

/**
 * Returns names in the order of their bytes, those of folders with the slash that follows them in
 * keys; none for a missing folder.
 */
async function entriesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  return entries
    .filter(({ name }) => isKey(name))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
}

async function statOrNull(path: string): Promise<Stats | null> {
  try {
    return await stat(path)
  } catch (error) {
    if (isMissing(error)) return null
    throw diskError(error)
  }
}

function blobStat({ size, mtimeMs }: Stats): BlobStat {
  return { size, modifiedAt: Math.floor(mtimeMs) }
}
