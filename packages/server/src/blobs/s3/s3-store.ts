import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { assertKey, assertPrefix } from '../blob-keys.js'
import {
  BlobError,
  type BlobPage,
  type BlobStat,
  type BlobStore,
  type DownloadUrlOptions,
  type ExpectedBlob,
  type OpenOptions,
  type PutOptions,
  type StoredBlob,
  type StoreForm,
  type UploadFormOptions,
} from '../blob-store.js'
import { checkStore } from '../check-store.js'
import { DiskFloor } from '../disk-floor.js'
import { type S3Answer, S3Client } from './s3-client.js'
import { addressOf, type S3Options } from './s3-options.js'
import { S3Signer } from './s3-signer.js'
import { Spool, type SpooledBody } from './spool.js'
import { verified } from './verified.js'
import { element, elements } from './xml.js'

/** S3 accepts a thousand keys in one request, but some stores remove them one by one before they answer. */
const removedAtOnce = 100

/**
 * Stores blobs as objects of one bucket of a store that speaks S3. A blob is sent once it is
 * complete, in one request whose checksum the store verifies: a broken upload leaves no object and
 * no parts. The limit of a blob is therefore the 5 GiB of one S3 request.
 */
export class S3Store implements BlobStore {
  readonly kind = 's3'
  readonly location: string
  readonly #client: S3Client
  readonly #signer: S3Signer

  private constructor(
    private readonly options: S3Options,
    private readonly spool: Spool,
  ) {
    this.location = addressOf(options.endpoint, options).href
    this.#client = new S3Client(options)
    this.#signer = new S3Signer(options)
  }

  /** Sends no request to the store. @throws the error of the file system */
  static async open(
    options: S3Options,
    floor = new DiskFloor(options.spoolFolder, 0),
  ): Promise<S3Store> {
    return new S3Store(options, await Spool.open(options.spoolFolder, floor))
  }

  async put(key: string, body: Readable, options: PutOptions): Promise<StoredBlob> {
    const name = this.#name(key)
    return this.spool.with(body, options.maxBytes, async (spooled) => {
      await this.#send(name, spooled, options.contentType)
      return { size: spooled.size, crc32: spooled.crc32 }
    })
  }

  async open(key: string, { range, expected }: OpenOptions = {}): Promise<Readable> {
    const headers = range ? { range: `bytes=${range.start}-${range.end}` } : {}
    const answer = await this.#client.send({ method: 'GET', key: this.#name(key), headers })
    const length = range ? range.end - range.start + 1 : expected?.size
    const size = contentLengthOf(answer)
    const isPart = answer.status === 206
    if ((length !== undefined && size !== length) || isPart !== (range !== undefined)) {
      answer.body.destroy()
      throw new BlobError(
        'damaged',
        `the object store has ${size} bytes where ${length} were stored`,
      )
    }
    const whole = { size, crc32: isPart ? undefined : expected?.crc32 }
    return Readable.from(verified(answer.body, whole), { objectMode: false })
  }

  async read(key: string, expected: ExpectedBlob): Promise<Buffer> {
    return buffer(await this.open(key, { expected }))
  }

  async stat(key: string): Promise<BlobStat | null> {
    const name = this.#name(key)
    try {
      const answer = await this.#client.send({ method: 'HEAD', key: name })
      answer.body.resume()
      return {
        size: contentLengthOf(answer),
        modifiedAt: Date.parse(answer.header('last-modified')),
      }
    } catch (error) {
      if (isMissingKey(error)) return null
      throw error
    }
  }

  async remove(keys: readonly string[]): Promise<void> {
    const names = keys.map((key) => this.#name(key))
    for (let at = 0; at < names.length; at += removedAtOnce)
      await this.#removeSome(names.slice(at, at + removedAtOnce))
  }

  async list(prefix: string, after: string | null, limit: number): Promise<BlobPage> {
    assertPrefix(prefix)
    const xml = await this.#client.text({
      method: 'GET',
      query: {
        'list-type': '2',
        'max-keys': String(limit),
        prefix: this.options.prefix + prefix,
        ...(after !== null && { 'start-after': this.options.prefix + after }),
      },
    })
    const blobs = elements(xml, 'Contents').map((entry) => ({
      key: element(entry, 'Key').slice(this.options.prefix.length),
      size: Number(element(entry, 'Size')),
      modifiedAt: Date.parse(element(entry, 'LastModified')),
    }))
    const isCut = element(xml, 'IsTruncated') === 'true'
    return { blobs, next: (isCut && blobs.at(-1)?.key) || null }
  }

  /** Does nothing: the files of unfinished uploads are removed at the next start. */
  async tidy(): Promise<void> {}

  async uploadForm(key: string, options: UploadFormOptions): Promise<StoreForm | null> {
    return this.options.directUploads ? this.#signer.uploadForm(this.#name(key), options) : null
  }

  async downloadUrl(key: string, options: DownloadUrlOptions): Promise<string | null> {
    return this.options.redirectDownloads
      ? this.#signer.downloadUrl(this.#name(key), options)
      : null
  }

  async check(): Promise<void> {
    await checkStore(this)
  }

  #name(key: string): string {
    assertKey(key)
    return this.options.prefix + key
  }

  async #send(name: string, body: SpooledBody, contentType: string): Promise<void> {
    try {
      const headers = { 'content-type': contentType }
      await this.#client.text({ method: 'PUT', key: name, headers, body })
    } catch (error) {
      // The store may have the object all the same. When this request fails too, `hermod check`
      // finds the object.
      await this.#client.text({ method: 'DELETE', key: name }).catch(() => {})
      throw error
    }
  }

  async #removeSome(names: readonly string[]): Promise<void> {
    const objects = names.map((name) => `<Object><Key>${name}</Key></Object>`).join('')
    const content = Buffer.from(`<Delete><Quiet>true</Quiet>${objects}</Delete>`)
    const xml = await this.#client.text({
      method: 'POST',
      query: { delete: '' },
      headers: { 'content-md5': createHash('md5').update(content).digest('base64') },
      body: {
        size: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
        content: () => content,
      },
    })
    const failures = elements(xml, 'Error').map((error) => element(error, 'Code'))
    const failure = failures.find((code) => code !== 'NoSuchKey')
    if (failure !== undefined)
      throw new BlobError('unavailable', `the object store does not remove blobs: ${failure}`)
  }
}

function contentLengthOf(answer: S3Answer): number {
  return Number(answer.header('content-length'))
}

function isMissingKey(error: unknown): boolean {
  return error instanceof BlobError && error.reason === 'not_found'
}
