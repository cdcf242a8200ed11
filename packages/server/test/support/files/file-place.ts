/** A service with a store for files, called as clients call it. */
import { anyBackend, type Backend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, expect } from 'vitest'
import type { FileLink } from '../../../dist/domain/files/links/file-links.js'
import { purposeKey } from '../../../dist/lib/secrets/secret-keys.js'
import { InProcessServer } from '../in-process-server.js'
import { fileLinkKeyOf } from './file-links.js'
import { type FileStoreKind, fileStoreKinds, type StoreOfServer } from './file-stores.js'
import { ticketFor } from './files.js'

const secretKey = 'the-tests-know-it-as-well-as-the-service'
export const ticketKey = purposeKey(Buffer.from(secretKey), 'file tickets')

/** Each store, beside any database. */
export const filePlaces = anyBackend().flatMap((backend) =>
  fileStoreKinds.map((kind) => ({ backend, kind, name: `${kind.name} on ${backend.name}` })),
)

/** Tests whether the last part of a key is that of a file as it was uploaded. */
const isOriginal = (name: string) => name.split('.').length === 2

export class FilePlace implements AsyncDisposable {
  #store!: StoreOfServer
  #server!: InProcessServer
  #linkKey!: Buffer

  async start(backend: Backend, kind: FileStoreKind): Promise<void> {
    this.#store = await kind.start()
    this.#server = await InProcessServer.start(backend, {
      ...this.#store.env,
      HERMOD_SECRET_KEY: secretKey,
      // ffmpeg is looked for there.
      PATH: process.env.PATH ?? '',
    })
    this.#linkKey = await fileLinkKeyOf(this.#server.sql, this.#server.appId, secretKey)
  }

  get server(): InProcessServer {
    return this.#server
  }

  get linkKey(): Buffer {
    return this.#linkKey
  }

  /** The keys of what the store holds. */
  keys = () => this.#store.keys(this.server.dataDir)

  ticketOf = async (...args: Parameters<typeof ticketFor>) =>
    (await ticketFor(...args)).envelope.data

  /** Changes settings of the application. */
  set = (settings: object) =>
    this.server.api.as(this.server.operatorToken).succeed('POST', '/operator/v1/app/update', {
      body: { app_id: this.server.appId, settings },
    })

  usage = () => this.#sums('select files, bytes from file_usage')

  rows = () => this.#sums('select count(*) as files, coalesce(sum(size), 0) as bytes from files')

  /** Checks that rows know all that is in the store, and that the usage is that of the rows. */
  expectOrder = async (): Promise<void> => {
    expect(await this.usage()).toEqual(await this.rows())
    const rows = await this.server.sql.run('select file_id, upload_id from files')
    const known = rows.map(({ file_id, upload_id }) => `${file_id}.${upload_id}`)
    const keys = (await this.keys()).map((key) => key.split('/').at(-1) as string)
    expect(keys.filter(isOriginal).toSorted()).toEqual(known.toSorted())
  }

  /** The answer at the address of a file that does not exist. */
  link = (maker: Session, recipient: Session, changes: Partial<FileLink> = {}): FileLink => ({
    appId: this.server.appId,
    fileId: 'z'.repeat(26),
    recipient: { type: 'user', id: recipient.id },
    makerId: maker.id,
    createdAt: Date.now(),
    expiresAt: Date.now() + 60_000,
    ...changes,
  })

  async #sums(query: string) {
    const [row] = await this.server.sql.run(`${query} where app_id = '${this.server.appId}'`)
    return { files: Number(row?.files ?? 0), bytes: Number(row?.bytes ?? 0) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
    await this.#store?.[Symbol.asyncDispose]()
  }
}

/** The place of a suite. */
export function filePlace(backend: Backend, kind: FileStoreKind): FilePlace {
  const place = new FilePlace()
  beforeAll(() => place.start(backend, kind))
  afterAll(() => place[Symbol.asyncDispose]())
  return place
}
