import { createHash } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { syncFile, writeAll } from './database-copy.js'
import { Sealer, type SealedName, sealedSize } from './encryption/sealed-file.js'
import { type FileLine, KeyIndex } from './key-index.js'
import { filesPart } from './manifest.js'

const chunkBytes = 1024 * 1024

/** A file that the database names. */
export interface NamedBlob {
  readonly key: string
  /** Bytes. */
  readonly size: number
}

interface BlobCopierOptions {
  /** The folder of the store. */
  readonly from: string
  /** The folder in the target that has files and their catalogue. */
  readonly target: string
  /** A folder of this backup, on the disk of the target. */
  readonly scratch: string
  /** The key of encrypted files; null: they are copied as they are. */
  readonly key: Uint8Array | null
}

/**
 * Copies blobs of a folder into a target. Those that are there are not copied again. Lines have the
 * size and the hash of what is in the target.
 */
export class BlobCopier implements Disposable {
  readonly #options: BlobCopierOptions
  readonly #known: KeyIndex
  readonly #catalogue: number

  constructor(options: BlobCopierOptions) {
    this.#options = options
    const path = join(options.target, filesPart)
    this.#known = new KeyIndex(join(options.scratch, 'known.db'))
    this.#known.addCatalogue(path)
    this.#catalogue = openSync(path, 'a+', 0o600)
    endLine(this.#catalogue)
  }

  /** @returns the lines of the blobs that the store has, in their order; all are on the disk */
  copy(blobs: readonly NamedBlob[]): FileLine[] {
    const folders = new Set<string>()
    const added: FileLine[] = []
    const lines = blobs.flatMap(({ key, size }): FileLine[] => {
      const blob = { key, size: this.#options.key ? sealedSize(size) : size }
      const path = join(this.#options.target, 'files', blob.key)
      const isThere = sizeOf(path) === blob.size
      const known = isThere ? this.#known.find(blob.key) : null
      if (known?.sha256) return [{ ...blob, sha256: known.sha256 }]
      // Without a line in the catalogue a kill has come between the two.
      const sha256 = isThere ? hashFile(path).sha256 : this.#copyOne({ key, size }, path, folders)
      if (sha256 === null) return []
      const line = { ...blob, sha256 }
      added.push(line)
      return [line]
    })
    for (const folder of folders) syncFile(folder)
    if (added.length > 0) {
      writeAll(this.#catalogue, Buffer.from(linesText(added)))
      fsyncSync(this.#catalogue)
      for (const line of added) this.#known.add(line)
    }
    return lines
  }

  [Symbol.dispose](): void {
    closeSync(this.#catalogue)
    this.#known[Symbol.dispose]()
  }

  /** @returns null when the store has no such blob of this size */
  #copyOne({ key, size }: NamedBlob, to: string, folders: Set<string>): string | null {
    const { from, target, scratch, key: filesKey } = this.#options
    const source = join(from, key)
    if (sizeOf(source) !== size) return null
    const temporary = join(scratch, 'blob')
    const sealed = filesKey && { key: filesKey, name: key }
    const { sha256 } = copyFile(source, temporary, sealed)
    const folder = dirname(to)
    const made = mkdirSync(folder, { recursive: true, mode: 0o700 })
    renameSync(temporary, to)
    folders.add(folder)
    // New folders are names in those above them.
    if (made !== undefined)
      for (let above = dirname(folder); above.length >= target.length; above = dirname(above))
        folders.add(above)
    return sha256
  }
}

/** Returns lines of a file of files. */
export function linesText(lines: readonly FileLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** The size and the SHA-256 of a file. */
export interface HashedFile {
  readonly size: number
  readonly sha256: string
}

/** Returns the size and the SHA-256 of a file. */
export function hashFile(path: string): HashedFile {
  const hash = createHash('sha256')
  let size = 0
  for (const chunk of chunksOf(path)) {
    hash.update(chunk)
    size += chunk.length
  }
  return { size, sha256: hash.digest('hex') }
}

/** Copies a file to the disk. @param sealed null: as it is. @returns the size and hash of the copy */
export function copyFile(from: string, to: string, sealed: SealedName | null): HashedFile {
  const hash = createHash('sha256')
  let size = 0
  const file = openSync(to, 'w', 0o600)
  const write = (bytes: Buffer) => {
    hash.update(bytes)
    size += bytes.length
    writeAll(file, bytes)
  }
  try {
    const sealer = sealed && new Sealer(sealed)
    for (const chunk of chunksOf(from)) write(sealer ? sealer.add(chunk) : chunk)
    if (sealer) write(sealer.end())
    fsyncSync(file)
    return { size, sha256: hash.digest('hex') }
  } finally {
    closeSync(file)
  }
}

/** The chunks of a file, of which each is valid until the next one. */
function* chunksOf(path: string): Generator<Buffer, void> {
  const chunk = Buffer.allocUnsafe(chunkBytes)
  const file = openSync(path, 'r')
  try {
    for (;;) {
      const length = readSync(file, chunk, 0, chunk.length, null)
      if (length === 0) return
      yield chunk.subarray(0, length)
    }
  } finally {
    closeSync(file)
  }
}

/** @returns -1 when there is no such file */
function sizeOf(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats?.isFile() ? stats.size : -1
}

/** Ends the part of a line that a kill has left. */
function endLine(file: number): void {
  const { size } = fstatSync(file)
  const last = Buffer.alloc(1)
  if (size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last.toString() !== '\n')
    writeAll(file, Buffer.from('\n'))
}
