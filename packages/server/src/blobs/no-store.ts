import {
  BlobError,
  type BlobPage,
  type BlobStat,
  type BlobStore,
  type StoredBlob,
  type StoreForm,
} from './blob-store.js'
import type { Readable } from 'node:stream'

/** The store of a node that serves no files, since they are in a folder that it does not have. */
export class NoStore implements BlobStore {
  readonly kind = 'none'

  /** @param reason a sentence for operators */
  constructor(
    readonly location: string,
    private readonly reason: string,
  ) {}

  put(_key: string, body: Readable): Promise<StoredBlob> {
    body.destroy()
    return this.#refuse()
  }

  open(): Promise<Readable> {
    return this.#refuse()
  }

  read(): Promise<Buffer> {
    return this.#refuse()
  }

  stat(): Promise<BlobStat | null> {
    return this.#refuse()
  }

  remove(): Promise<void> {
    return this.#refuse()
  }

  list(): Promise<BlobPage> {
    return this.#refuse()
  }

  uploadForm(): Promise<StoreForm | null> {
    return this.#refuse()
  }

  downloadUrl(): Promise<string | null> {
    return this.#refuse()
  }

  tidy(): Promise<void> {
    return this.#refuse()
  }

  check(): Promise<void> {
    return this.#refuse()
  }

  async #refuse(): Promise<never> {
    throw new BlobError('elsewhere', this.reason)
  }
}
