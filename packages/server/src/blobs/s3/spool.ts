import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { JoinedBytes } from '../../lib/system/joined-bytes.js'
import type { StoredBlob } from '../blob-store.js'
import { diskError, emptyFolder, writeAll } from '../disk.js'
import type { DiskFloor } from '../disk-floor.js'
import { UploadStream } from '../upload-stream.js'

/** Bodies up to this size stay in memory, while all of them take no more than {@link allMemoryBytes}. */
const memoryBytes = 256 * 1024
const allMemoryBytes = 32 * 1024 * 1024

/** A complete body with its length and checksums, which can be sent more than once. */
export interface SpooledBody extends StoredBlob {
  /** In hex. */
  readonly sha256: string
  content(): Buffer | Readable
}

/**
 * Keeps bodies in files until they are complete. A store gets nothing of a body that breaks off or
 * is too large, slow clients take no memory, and sending can be repeated.
 */
export class Spool {
  readonly #memory: Memory = { bytes: 0 }

  private constructor(
    private readonly folder: string,
    private readonly floor: DiskFloor,
  ) {}

  /** Empties the folder, or makes it. */
  static async open(folder: string, floor: DiskFloor): Promise<Spool> {
    await emptyFolder(folder)
    return new Spool(folder, floor)
  }

  /**
   * @param use gets the body; its file is removed when this ends
   * @throws BlobError too_large, cut, full; and the error of `use`
   */
  async with<Result>(
    body: Readable,
    maxBytes: number,
    use: (spooled: SpooledBody) => Promise<Result>,
  ): Promise<Result> {
    await using file = new SpoolFile(
      join(this.folder, randomBytes(16).toString('hex')),
      this.#memory,
    )
    const upload = new UploadStream(body, maxBytes, this.floor)
    const hash = createHash('sha256')
    for await (const chunk of upload.chunks()) {
      hash.update(chunk)
      await file.append(chunk)
    }
    const sha256 = hash.digest('hex')
    return await use({ ...upload.passed, sha256, content: () => file.content() })
  }
}

/** The memory of all bodies of a spool. */
interface Memory {
  bytes: number
}

class SpoolFile implements AsyncDisposable {
  readonly #joined = new JoinedBytes(memoryBytes)
  #handle: FileHandle | null = null

  constructor(
    private readonly path: string,
    private readonly memory: Memory,
  ) {}

  async append(chunk: Buffer): Promise<void> {
    if (!this.#handle && this.#keep(chunk)) return
    try {
      await writeAll(this.#handle ?? (await this.#open()), chunk)
    } catch (error) {
      throw diskError(error)
    }
  }

  content(): Buffer | Readable {
    return this.#handle ? createReadStream(this.path) : this.#joined.bytes
  }

  /** @returns false when the chunk does not fit into memory */
  #keep(chunk: Buffer): boolean {
    const { memory } = this
    const before = this.#joined.retained
    const isRoom =
      this.#joined.length + chunk.length <= memoryBytes &&
      memory.bytes + chunk.length <= allMemoryBytes
    if (!isRoom) return false
    this.#joined.append(chunk)
    memory.bytes += this.#joined.retained - before
    return true
  }

  /** Opens the file, with what was in memory. */
  async #open(): Promise<FileHandle> {
    this.#handle = await open(this.path, 'wx')
    this.memory.bytes -= this.#joined.retained
    await writeAll(this.#handle, this.#joined.take())
    return this.#handle
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.memory.bytes -= this.#joined.retained
    if (!this.#handle) return
    await this.#handle.close()
    await rm(this.path, { force: true })
  }
}
