import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { StoredBlob } from '../blob-store.js'
import { diskError, emptyFolder, writeAll } from '../disk.js'
import { UploadStream } from '../upload-stream.js'

/** Bodies up to this size stay in memory. */
const memoryBytes = 256 * 1024

/** A complete body with its length and checksums, which can be sent more than once. */
export interface SpooledBody extends StoredBlob {
  /** In hex. */
  readonly sha256: string
  content(): Buffer | Readable
}

/**
 * Keeps bodies in files until they are complete. A store gets nothing of a body that breaks off or is too large, slow clients take no
 * memory, and sending can be repeated.
 */
export class Spool {
  private constructor(private readonly folder: string) {}

  /** Empties the folder, or makes it. */
  static async open(folder: string): Promise<Spool> {
    await emptyFolder(folder)
    return new Spool(folder)
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
    await using file = new SpoolFile(join(this.folder, randomBytes(16).toString('hex')))
    const upload = new UploadStream(body, maxBytes)
    const hash = createHash('sha256')
    for await (const chunk of upload.chunks()) {
      hash.update(chunk)
      await file.append(chunk)
    }
    await file.end()
    const sha256 = hash.digest('hex')
    return await use({ ...upload.passed, sha256, content: () => file.content() })
  }
}

class SpoolFile implements AsyncDisposable {
  #chunks: Buffer[] = []
  #size = 0
  #handle: FileHandle | null = null

  constructor(private readonly path: string) {}

  async append(chunk: Buffer): Promise<void> {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > memoryBytes) await this.#flush()
  }

  async end(): Promise<void> {
    if (this.#handle) await this.#flush()
  }

  content(): Buffer | Readable {
    return this.#handle ? createReadStream(this.path) : Buffer.concat(this.#chunks)
  }

  async #flush(): Promise<void> {
    try {
      this.#handle ??= await open(this.path, 'wx')
      await writeAll(this.#handle, Buffer.concat(this.#chunks))
      this.#chunks = []
      this.#size = 0
    } catch (error) {
      throw diskError(error)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#handle) return
    await this.#handle.close()
    await rm(this.path, { force: true })
  }
}
