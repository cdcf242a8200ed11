import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import type { SqliteConnection } from './sqlite-statement.js'

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const headBytes = 32
const frameHeadBytes = 24
const pageSizeAt = 8

/**
 * Copies pages from the write-ahead log into the database file again and syncs it. After a failed
 * sync another sync is not enough: the system may count pages as written that it could not write.
 *
 * It copies only pages that a checkpoint has copied already, so no reader sees a change. It runs on
 * the writer's thread between two transactions, so that the log stays as it is. A log that
 * restarted since the sync has no copied pages: SQLite syncs the file before it restarts the log.
 *
 * @param descriptor of the database file
 */
export function copyAgain(database: SqliteConnection, walPath: string, descriptor: number): void {
  const frames = copiedFrames(database)
  const wal = openSync(walPath, 'r')
  try {
    const pageSize = readAt(wal, 0, headBytes).readUInt32BE(pageSizeAt)
    const frameBytes = frameHeadBytes + pageSize
    // The file has only the last version of a page.
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

/** @returns the number of frames from the beginning of the log that are in the database file */
function copiedFrames(database: SqliteConnection): number {
  // An SQLite without `noop` runs a passive checkpoint, after which the answer is right as well.
  const state = database.prepare('pragma wal_checkpoint(noop)').get()
  return Number((state as { readonly checkpointed: unknown }).checkpointed)
}

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  if (readSync(file, bytes, 0, length, position) !== length)
    throw new Error(`the write-ahead log ends before byte ${position + length}`)
  return bytes
}
