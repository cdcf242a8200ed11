import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import type { Connection } from './sqlite-statement.js'

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const headBytes = 32
const frameHeadBytes = 24
const pageSizeAt = 8

/**
 * Copies pages from the write-ahead log into the database file again and syncs it. A system that could not write pages out may count
 * them as written all the same, so after a failed sync it is not enough to sync once more.
 *
 * Only for pages that a checkpoint has copied already, which nobody sees change, and on the writer's thread between two transactions, so
 * that the log stays as it is. Where it has begun again since the sync, nothing of it is copied yet and there is nothing to do: before a
 * log begins again SQLite syncs the file itself.
 *
 * @param descriptor of the database file
 */
export function copyAgain(database: Connection, walPath: string, descriptor: number): void {
  const frames = copiedFrames(database)
  const wal = openSync(walPath, 'r')
  try {
    const pageSize = readAt(wal, 0, headBytes).readUInt32BE(pageSizeAt)
    const frameBytes = frameHeadBytes + pageSize
    // Of several versions of a page only the last one is in the file.
    const lastFrames = new Map<number, number>()
    for (let frame = 0; frame < frames; frame++) {
      const head = readAt(wal, headBytes + frame * frameBytes, frameHeadBytes)
      lastFrames.set(head.readUInt32BE(0), frame)
    }
    for (const [page, frame] of lastFrames) {
      const content = readAt(wal, headBytes + frame * frameBytes + frameHeadBytes, pageSize)
      writeSync(descriptor, content, 0, pageSize, (page - 1) * pageSize)
    }
    fsyncSync(descriptor)
  } finally {
    closeSync(wal)
  }
}

/** How many frames from the beginning of the log are in the database file. */
function copiedFrames(database: Connection): number {
  // Where SQLite is too old to know `noop`, this is a passive checkpoint, after which the answer is right as well.
  const state = database.prepare('pragma wal_checkpoint(noop)').get()
  return Number((state as { readonly checkpointed: unknown }).checkpointed)
}

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  if (readSync(file, bytes, 0, length, position) !== length)
    throw new Error(`the write-ahead log ends before byte ${position + length}`)
  return bytes
}
