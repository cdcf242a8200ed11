/**
 * The thread of a backup: it copies, reads and hashes here, and not in the event loop that answers
 * calls. Requests are answered in the order of their arrival.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { closing } from '../db/dialect/request-thread.js'
import {
  BlobCopier,
  copyFile,
  type HashedFile,
  hashFile,
  linesText,
  type NamedBlob,
} from './blob-copy.js'
import { type CopyableDatabase, copyDatabase, recoverCopy, writeAll } from './database-copy.js'
import {
  type CopyFacts,
  type FilePlace,
  type NamedPage,
  readFacts,
  readFiles,
} from './database-facts.js'
import type { SealedName } from './encryption/sealed-file.js'
import type { FileLine } from './key-index.js'
import { type PruneRequest, removeUnnamed } from './unnamed-blobs.js'

/** Work of the thread, and its results. */
export interface BackupWork {
  /** Copies an open database. */
  copy(request: { readonly database: CopyableDatabase; readonly to: string }): void
  /** Makes one file of the copy and its log. */
  recover(path: string): CopyFacts
  /** Lists files that a copied database names. */
  files(request: { readonly path: string; readonly after: FilePlace | null }): NamedPage
  /** Opens the catalogue of the target for `copyBlobs`. */
  openBlobs(request: {
    readonly from: string
    readonly target: string
    readonly scratch: string
    readonly key: Uint8Array | null
  }): void
  copyBlobs(blobs: readonly NamedBlob[]): FileLine[]
  closeBlobs(): void
  /** Appends lines to a list of files. */
  addLines(request: { readonly path: string; readonly lines: readonly FileLine[] }): void
  /** Waits until the file is on the disk, and returns its size and SHA-256. */
  hash(path: string): HashedFile
  /** Seals a file into another one, and returns the size and SHA-256 of that. */
  seal(request: {
    readonly from: string
    readonly to: string
    readonly sealed: SealedName
  }): HashedFile
  /** Removes blobs that no backup names. @returns their number */
  removeUnnamed(request: PruneRequest): number
}

export type BackupRequest = {
  [Name in keyof BackupWork]: {
    readonly work: Name
    readonly input: Parameters<BackupWork[Name]>[0]
  }
}[keyof BackupWork]

export type BackupResponse =
  | { readonly output: unknown }
  | { readonly error: { readonly message: string; readonly code: string | undefined } }

/** Data that the thread starts with. */
export interface BackupThreadData {
  /** One number: the bytes of the database that are copied. */
  readonly copied: Float64Array
}

const { copied } = workerData as BackupThreadData
let copier: BlobCopier | null = null

const work: BackupWork = {
  copy: ({ database, to }) =>
    copyDatabase(database, to, (bytes) => {
      copied[0] = bytes
    }),
  recover(path) {
    recoverCopy(path)
    return readFacts(path)
  },
  files: ({ path, after }) => readFiles(path, after),
  openBlobs(options) {
    copier = new BlobCopier(options)
  },
  copyBlobs: (blobs) => copier?.copy(blobs) ?? [],
  closeBlobs() {
    copier?.[Symbol.dispose]()
    copier = null
  },
  addLines({ path, lines }) {
    const file = openSync(path, 'a', 0o600)
    writeAll(file, Buffer.from(linesText(lines)))
    closeSync(file)
  },
  hash(path) {
    const file = openSync(path, 'r')
    fsyncSync(file)
    closeSync(file)
    return hashFile(path)
  },
  seal: ({ from, to, sealed }) => copyFile(from, to, sealed),
  removeUnnamed,
}

parentPort?.on('message', (request: BackupRequest | typeof closing) => {
  if ('close' in request) parentPort?.close()
  else parentPort?.postMessage(answer(request))
})

function answer({ work: name, input }: BackupRequest): BackupResponse {
  try {
    return { output: (work[name] as (input: unknown) => unknown)(input) }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    return { error: { message, code } }
  }
}
