/** The stores that servers of tests keep their files in. */

import { missesSwift, S3OfTest } from './blob-stores.js'
import { blobsIn } from './files.js'

export interface StoreOfServer extends AsyncDisposable {
  /** Settings of the server. */
  readonly env: Readonly<Record<string, string>>
  /** The keys of all that is stored, except what is on its way. @param dataDir of the server */
  keys(dataDir: string): Promise<string[]>
}

export interface FileStoreKind {
  readonly name: string
  /** The machine lacks the program that the store needs. */
  readonly missing: boolean
  start(): Promise<StoreOfServer>
}

const folder: FileStoreKind = {
  name: 'a folder',
  missing: false,
  start: async () => ({
    env: {},
    keys: async (dataDir) => blobsIn(dataDir),
    async [Symbol.asyncDispose]() {},
  }),
}

const s3: FileStoreKind = {
  name: 'S3',
  missing: missesSwift,
  start: () => S3OfServer.start({ HERMOD_S3_DOWNLOADS: 'stream' }),
}

/** All of them; the one that speaks S3 sends and takes files through the service. */
export const fileStoreKinds: readonly FileStoreKind[] = [folder, s3]

/** Whether a path below the folder of the files is that of an upload that is not whole. */
export function isOnItsWay(path: string): boolean {
  return path.startsWith('.incoming')
}

/** A bucket of a server of its own. */
export class S3OfServer implements StoreOfServer {
  private constructor(
    readonly s3: S3OfTest,
    readonly env: Readonly<Record<string, string>>,
  ) {}

  static async start(settings: Readonly<Record<string, string>>): Promise<S3OfServer> {
    const s3 = await S3OfTest.start()
    return new S3OfServer(s3, {
      HERMOD_S3_ENDPOINT: s3.proxy.url,
      HERMOD_S3_REGION: s3.swift.region,
      HERMOD_S3_BUCKET: s3.bucket,
      HERMOD_S3_ACCESS_KEY_ID: s3.swift.accessKeyId,
      HERMOD_S3_SECRET_ACCESS_KEY: s3.swift.secretAccessKey,
      HERMOD_S3_PREFIX: 'hermod/',
      ...settings,
    })
  }

  async keys(): Promise<string[]> {
    const { blobs } = await this.s3.store.list('', null, 1_000)
    return blobs.map(({ key }) => key)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.s3[Symbol.asyncDispose]()
  }
}
