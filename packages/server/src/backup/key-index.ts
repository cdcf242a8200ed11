/** Keys of blobs with facts about them, in a database on the disk: a target may have millions. */
import { closeSync, constants, fstatSync, openSync, readSync, rmSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { isKey } from '../blobs/blob-keys.js'
import { type Check, isCount, isSha256, parseFile } from '../lib/json-file.js'
import { LineSplitter } from '../lib/line-splitter.js'
import { BackupError } from './backup-error.js'

/** A line of files.ndjson. */
export interface FileLine {
  readonly key: string
  /** Bytes. */
  readonly size: number
  /** Absent: the file is in S3, and only its size is known. */
  readonly sha256?: string
}

const chunkBytes = 1024 * 1024

/** A set of keys in a file that is removed at the end. */
export class KeyIndex implements Disposable {
  readonly #path: string
  readonly #database
  readonly #insert
  readonly #find
  readonly #list

  /** @param path of a file that does not exist */
  constructor(path: string) {
    this.#path = path
    this.#database = new DatabaseSync(path)
    for (const pragma of ['journal_mode = off', 'synchronous = off', 'locking_mode = exclusive'])
      this.#database.exec(`pragma ${pragma}`)
    this.#database.exec(
      'create table keys (key text primary key, size integer not null, sha256 text) without rowid',
    )
    this.#insert = this.#database.prepare('insert or replace into keys values (?, ?, ?)')
    this.#find = this.#database.prepare('select size, sha256 from keys where key = ?')
    this.#list = this.#database.prepare(
      'select key, size from keys where key > ? and key >= ? and key < ? order by key limit ?',
    )
  }

  /** Adds the lines of a file. @throws Error when it is missing, or has a line that is not JSON */
  addFile(path: string): void {
    this.#addAll(strictLinesOf(path))
  }

  /** Adds the lines of a catalogue; later ones replace earlier ones of the same key. */
  addCatalogue(path: string): void {
    this.#addAll(catalogueLinesOf(path))
  }

  add({ key, size, sha256 }: FileLine): void {
    this.#insert.run(key, size, sha256 ?? null)
  }

  find(key: string): { readonly size: number; readonly sha256: string | null } | null {
    return (this.#find.get(key) as { size: number; sha256: string | null } | undefined) ?? null
  }

  /** Lists keys with a prefix in the order of their bytes. @param after exclusive; '' = from the first */
  list(prefix: string, after: string, limit: number): FileLine[] {
    // Keys have no character above it.
    const rows = this.#list.all(after, prefix, `${prefix}\x7f`, limit)
    return rows as unknown as FileLine[]
  }

  #addAll(lines: Iterable<FileLine>): void {
    this.#database.exec('begin')
    for (const line of lines) this.add(line)
    this.#database.exec('commit')
  }

  [Symbol.dispose](): void {
    this.#database.close()
    for (const end of ['', '-journal']) rmSync(`${this.#path}${end}`, { force: true })
  }
}

const fields: Readonly<Record<keyof FileLine, Check>> = {
  // No key leads out of a folder.
  key: (value) => typeof value === 'string' && isKey(value),
  size: isCount,
  sha256: (value) => value === undefined || isSha256(value),
}

/** Returns the lines of a list of files. @throws BackupError that names the line and the wrong field */
export function* listedFilesOf(path: string): Generator<FileLine, void> {
  let number = 0
  for (const line of linesOf(path)) {
    number++
    const bad = (problem: string) => new BackupError(`line ${number} of ${path} ${problem}`)
    yield parseFile<FileLine>(line, { fields, bad })
  }
}

function* strictLinesOf(path: string): Generator<FileLine, void> {
  closeSync(openSync(path, 'r'))
  yield* listedFilesOf(path)
}

/** Returns the lines of a catalogue without those of which a kill has left a part. */
export function* catalogueLinesOf(path: string): Generator<FileLine, void> {
  for (const line of linesOf(path)) {
    const parsed = parseOrNull(line)
    if (parsed) yield parsed
  }
}

function parseOrNull(line: string): FileLine | null {
  try {
    return parseFile<FileLine>(line, { fields, bad: (problem) => new BackupError(problem) })
  } catch {
    return null
  }
}

/** Returns the complete lines of a file, one at a time; none for a missing file. */
export function* linesOf(path: string): Generator<string, void> {
  const file = openOrNull(path)
  if (file === null) return
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    const splitter = new LineSplitter((problem) => new BackupError(`${path} ${problem}`), {
      acceptsDamage: true,
    })
    for (;;) {
      const length = readSync(file, chunk, 0, chunk.length, null)
      // A kill may have left a part of the last line.
      if (length === 0) return
      yield* splitter.add(chunk.subarray(0, length))
    }
  } finally {
    closeSync(file)
  }
}

function openOrNull(path: string): number | null {
  try {
    // Opening a FIFO would wait for a writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    if (fstatSync(file).isFile()) return file
    closeSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  throw new BackupError(`${path} is no regular file; remove it`)
}
