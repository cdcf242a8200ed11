/** The list of erasures beside the data, by which a restore repeats those after its backup. */
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { erasureModes, Int64 } from '@hermod/protocol'
import { syncFolder } from '../../lib/system/sync-folder.js'

/** The name of the list in the data folder and in every folder of backups. */
export const erasureLogName = 'erasures.ndjson'

/** A line of the list. */
export interface ErasureLine {
  readonly app_id: string
  readonly user_id: Int64
  /** When it ended, milliseconds since 1970. */
  readonly at: number
  readonly messages: (typeof erasureModes)[number]
  readonly reason: string
}

/** Appends a line to the list of a folder; it is on the disk when this resolves. */
export async function appendErasure(folder: string, line: ErasureLine): Promise<void> {
  const file = await open(join(folder, erasureLogName), 'a+', 0o600)
  try {
    const { size } = await file.stat()
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
    // Ends a line that a crash has cut.
    const start = size > 0 && buffer.toString() !== '\n' ? '\n' : ''
    await file.write(`${start}${JSON.stringify(line)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await syncFolder(folder)
}

/**
 * Reads the list of a folder; empty where there is none. A line that a crash has cut is left out.
 */
export async function readErasures(folder: string): Promise<ErasureLine[]> {
  const text = await readFile(join(folder, erasureLogName), 'utf8').catch((error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  })
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as ErasureLine]
    } catch {
      return []
    }
  })
}
