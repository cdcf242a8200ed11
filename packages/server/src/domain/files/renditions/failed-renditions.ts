import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { BlobStore } from '../../../blobs/blob-store.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import { boundedCache } from '../../../lib/limits/bounded-cache.js'
import { MediaError, type MediaErrorReason } from '../../../media/media.js'

/** A conversion that failed because of its file. */
interface FailedConversion {
  readonly reason: MediaErrorReason
  readonly message: string
  /** Milliseconds since 1970. */
  readonly failedAt: number
}

/** A later version may read what this one cannot, and a busy machine may have exceeded a limit. */
const lifeMs = 7 * dayMs
const maxKnown = 10_000
const maxBytes = 1_024

/** Remembers the failures that would happen again, in small blobs stored with the file. */
export class FailedRenditions {
  readonly #known = boundedCache<string, FailedConversion>(maxKnown)

  constructor(
    private readonly options: {
      readonly blobs: Pick<BlobStore, 'open' | 'put' | 'stat'>
      readonly clock: Clock
    },
  ) {}

  /** @throws MediaError of the remembered failure */
  async requireNone(key: string): Promise<void> {
    const failure = this.#known.get(key) ?? (await this.#read(key))
    if (failure === null || failure.failedAt + lifeMs <= this.options.clock.now()) return
    this.#known.set(key, failure)
    throw new MediaError(failure.reason, failure.message)
  }

  /** Remembers an error of the file; ignores all other errors. */
  async remember(key: string, error: unknown): Promise<void> {
    const isOfFile =
      error instanceof MediaError && ['unreadable', 'too_complex'].includes(error.reason)
    if (!isOfFile) return
    const { reason, message } = error
    const failure = { reason, message, failedAt: this.options.clock.now() }
    this.#known.set(key, failure)
    const body = Readable.from([Buffer.from(JSON.stringify(failure))])
    // Without the blob this process still remembers the failure.
    await this.options.blobs
      .put(key, body, { contentType: 'application/json', maxBytes })
      .catch(() => {})
  }

  async #read(key: string): Promise<FailedConversion | null> {
    const { blobs } = this.options
    if ((await blobs.stat(key)) === null) return null
    return JSON.parse((await buffer(await blobs.open(key))).toString())
  }
}
