/** The stores of files that the suites run on. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { TempFolder } from '@hermod/testkit'
import { hasSwift, S3Proxy, SwiftServer } from '@hermod/testkit/s3'
import type { BlobStore } from '../../../dist/blobs/blob-store.js'
import { FolderStore } from '../../../dist/blobs/folder-store.js'
import type { S3Options } from '../../../dist/blobs/s3/s3-options.js'
import { S3Store } from '../../../dist/blobs/s3/s3-store.js'

export interface StoreOfTest extends AsyncDisposable {
  readonly store: BlobStore
  /** Names of what uploads that did not come to their end have left. */
  leftovers(): Promise<readonly string[]>
  /** How another process opens a store on the same blobs. */
  readonly recipe: {
    readonly module: string
    readonly name: string
    readonly options: S3Options | string
  }
}

export interface BlobStoreKind {
  readonly name: string
  /** The machine lacks the program that the store needs. */
  readonly missing: boolean
  /** Empty, and nobody else's. */
  start(): Promise<StoreOfTest>
}

/** Without Swift these tests are left out, unless nothing may be. */
export const missesSwift = !hasSwift() && process.env.HERMOD_TEST_BACKENDS !== 'all'

const folder: BlobStoreKind = {
  name: 'folder',
  missing: false,
  async start() {
    const place = new TempFolder('blobs')
    const module = String(new URL('../../../dist/blobs/folder-store.js', import.meta.url))
    return {
      store: await FolderStore.open(place.path),
      recipe: { module, name: 'FolderStore', options: place.path },
      leftovers: async () => readdirSync(join(place.path, '.incoming')),
      [Symbol.asyncDispose]: async () => place[Symbol.dispose](),
    }
  },
}

const s3: BlobStoreKind = {
  name: 's3',
  missing: missesSwift,
  start: () => S3OfTest.start(),
}

export const blobStoreKinds: readonly BlobStoreKind[] = [folder, s3]

/** One Swift for all test files of a worker; it ends with the worker. */
let sharedSwift: Promise<SwiftServer> | undefined

/** A bucket of the shared Swift, reached through a network that can fail. */
export class S3OfTest implements StoreOfTest {
  readonly #spool = new TempFolder('spool')
  #store: S3Store | undefined

  private constructor(
    readonly swift: SwiftServer,
    readonly proxy: S3Proxy,
    readonly bucket: string,
  ) {}

  static async start(options: Partial<S3Options> = {}): Promise<S3OfTest> {
    sharedSwift ??= SwiftServer.start()
    const swift = await sharedSwift
    const proxy = await S3Proxy.start(swift)
    const subject = new S3OfTest(swift, proxy, await swift.createBucket())
    subject.#store = await subject.open(options)
    return subject
  }

  get store(): S3Store {
    if (!this.#store) throw new Error('the store is not open yet')
    return this.#store
  }

  get spoolFolder(): string {
    return join(this.#spool.path, 'spool')
  }

  get recipe() {
    const module = String(new URL('../../../dist/blobs/s3/s3-store.js', import.meta.url))
    // Not through the proxy, which is in this process.
    const options = { ...this.options, endpoint: this.swift.url }
    return { module, name: 'S3Store', options }
  }

  /** Another store on the same bucket. */
  open(options: Partial<S3Options> = {}): Promise<S3Store> {
    return S3Store.open({ ...this.options, ...options })
  }

  /** How the bucket is reached. */
  get options(): S3Options {
    return {
      endpoint: this.proxy.url,
      publicEndpoint: this.proxy.url,
      region: this.swift.region,
      bucket: this.bucket,
      accessKeyId: this.swift.accessKeyId,
      secretAccessKey: this.swift.secretAccessKey,
      forcePathStyle: true,
      prefix: 'hermod/',
      directUploads: true,
      redirectDownloads: true,
      spoolFolder: this.spoolFolder,
    }
  }

  async leftovers(): Promise<readonly string[]> {
    return readdirSync(this.spoolFolder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]()
    this.#spool[Symbol.dispose]()
  }
}
