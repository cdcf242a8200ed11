/** The stores of files that the suites run on. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { TempFolder } from '@hermod/testkit'
import type { BlobStore } from '../../dist/blobs/blob-store.js'
import { FolderStore } from '../../dist/blobs/folder-store.js'

export interface StoreOfTest extends AsyncDisposable {
  readonly store: BlobStore
  /** Names of what uploads that did not come to their end have left. */
  leftovers(): Promise<readonly string[]>
}

export interface BlobStoreKind {
  readonly name: string
  /** The machine lacks the program that the store needs. */
  readonly missing: boolean
  /** Empty, and nobody else's. */
  start(): Promise<StoreOfTest>
}

const folder: BlobStoreKind = {
  name: 'folder',
  missing: false,
  async start() {
    const place = new TempFolder('blobs')
    return {
      store: await FolderStore.open(place.path),
      leftovers: async () => readdirSync(join(place.path, '.incoming')),
      [Symbol.asyncDispose]: async () => place[Symbol.dispose](),
    }
  },
}

export const blobStoreKinds: readonly BlobStoreKind[] = [folder]
