import type { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { BlobError, type StoredBlob } from './blob-store.js'
import type { DiskFloor } from './disk-floor.js'

/** The bytes that are being written to a store: counted, bounded, and with their checksum. */
export class UploadStream {
  #size = 0
  #crc32 = 0

  constructor(
    private readonly body: Readable,
    private readonly maxBytes: number,
    private readonly floor: DiskFloor,
  ) {
    // The body may fail before it is read; a later read then rejects.
    body.on('error', () => {})
  }

  /** The size and checksum of the chunks so far. */
  get passed(): StoredBlob {
    return { size: this.#size, crc32: this.#crc32 }
  }

  /**
   * Returns the chunks of the body. The body is destroyed when the reader stops early.
   * @throws BlobError too_large, cut, full
   */
  async *chunks(): AsyncGenerator<Buffer, void> {
    for await (const chunk of this.#uncut()) {
      await this.floor.requireRoom()
      this.#size += chunk.length
      if (this.#size > this.maxBytes)
        throw new BlobError('too_large', `more than ${this.maxBytes} bytes were sent`)
      this.#crc32 = crc32(chunk, this.#crc32)
      yield chunk
    }
  }

  async *#uncut(): AsyncGenerator<Buffer, void> {
    const chunks = this.body[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    try {
      for (;;) {
        const next = await chunks.next().catch((error: unknown) => {
          throw new BlobError('cut', 'the upload broke off before its end', { cause: error })
        })
        if (next.done) return
        yield next.value
      }
    } finally {
      this.body.destroy()
    }
  }
}
