/** Copies the file of an embedded database and its log while the service writes to the log. */
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { withCopy } from './copied-database.js'

/** The files of an open database whose checkpoints are paused. */
export interface CopyableDatabase {
  readonly path: string
  /** The open descriptor of the file at `path`, which the copy does not close. */
  readonly descriptor: number
}

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const logHeadBytes = 32
const frameHeadBytes = 24
const pageSizeAt = 8
const saltsAt = 16
const saltsOfFrameAt = 8
const saltsBytes = 8
const framesPerChunk = 256
const chunkBytes = 1024 * 1024
/**
 * A copy is brought to the disk in steps of this size: a commit of the service may have to wait for
 * all that the disk has yet to write (data=ordered of ext4).
 */
const stepBytes = 16 * chunkBytes

/**
 * Copies the database file, then its log up to the last commit. The first is as it was when the
 * checkpoints were paused, so both together are the whole database, as after a crash.
 */
export function copyDatabase(
  { path, descriptor }: CopyableDatabase,
  to: string,
  copied: (bytes: number) => void,
): void {
  if (!cloneFile(path, to)) copyPages(descriptor, to, copied)
  copyLog(`${path}-wal`, `${to}-wal`)
}

/** Makes one file of a copied database and its log, and waits until it is on the disk. */
export function recoverCopy(path: string): void {
  const recover = ['synchronous = full', 'wal_checkpoint(truncate)', 'journal_mode = delete']
  withCopy(
    path,
    (database) => {
      for (const pragma of recover) database.exec(`pragma ${pragma}`)
    },
    { readOnly: false },
  )
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
  syncFile(path)
}

/**
 * Shares the blocks of the file, on a disk that can. Another program does it: closing a descriptor
 * of the file in this process would release the locks of SQLite.
 */
function cloneFile(from: string, to: string): boolean {
  const options = { stdio: 'ignore' } as const
  // Also where it fails the program makes the file, with the rights of its umask.
  writing(to, () => {})
  return spawnSync('cp', ['--reflink=always', '--', from, to], options).status === 0
}

function copyPages(from: number, to: string, copied: (bytes: number) => void): void {
  const { size } = fstatSync(from)
  const chunk = Buffer.allocUnsafe(chunkBytes)
  writing(to, (file) => {
    for (let at = 0; at < size; ) {
      const length = readSync(from, chunk, 0, Math.min(chunk.length, size - at), at)
      if (length === 0) throw new Error('the file of the database became shorter')
      writeAll(file, chunk.subarray(0, length))
      at += length
      if (at % stepBytes === 0) fdatasyncSync(file)
      copied(at)
    }
  })
}

/**
 * Copies the frames of the log. A write that restarts the log meanwhile changes its head first; the
 * log is then copied again. This happens once at most, since the log restarts only after a
 * checkpoint.
 */
function copyLog(from: string, to: string): void {
  const log = openSync(from, 'r')
  try {
    for (;;) {
      const head = readHead(log)
      if (head === null) return
      copyFrames(log, head, to)
      if (readHead(log)?.equals(head)) return
    }
  } finally {
    closeSync(log)
  }
}

/** @returns null for an empty log */
function readHead(log: number): Buffer | null {
  const head = Buffer.alloc(logHeadBytes)
  return readSync(log, head, 0, head.length, 0) === head.length ? head : null
}

/** A part of a frame at the end does no harm: SQLite reads up to the last commit. */
function copyFrames(log: number, head: Buffer, to: string): void {
  const { size } = fstatSync(log)
  const salts = head.subarray(saltsAt, saltsAt + saltsBytes)
  const frameBytes = frameHeadBytes + head.readUInt32BE(pageSizeAt)
  const chunk = Buffer.allocUnsafe(framesPerChunk * frameBytes)
  writing(to, (file) => {
    writeAll(file, head)
    for (let at = logHeadBytes; at < size; at += chunk.length) {
      const length = readSync(log, chunk, 0, chunk.length, at)
      // Frames of an earlier log follow the last one of this log.
      const found = chunk.subarray(saltsOfFrameAt, saltsOfFrameAt + saltsBytes)
      if (length < frameHeadBytes || !found.equals(salts)) return
      writeAll(file, chunk.subarray(0, length))
    }
  })
}

function writing(path: string, work: (file: number) => void): void {
  const file = openSync(path, 'w', 0o600)
  try {
    work(file)
  } finally {
    closeSync(file)
  }
}

/** Writes a whole chunk at the end of the last write. */
export function writeAll(file: number, chunk: Uint8Array): void {
  for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
}

/** Waits until a file or a folder is on the disk. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
