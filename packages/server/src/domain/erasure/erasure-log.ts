/** The list of erasures beside the data, by which a restore repeats those after its backup. */
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { erasureModes, type Int64 } from '@hermod/protocol'
import { erasuresFile } from '../../backup/target.js'
import { isJsonObject } from '../../lib/json.js'
import { type Check, isCount, isOneOf, isText } from '../../lib/json-file.js'
import { syncFolder } from '../../lib/system/sync-folder.js'

/** A line of the list. */
export interface ErasureLine {
  readonly app_id: string
  readonly user_id: Int64
  /** The time of its end, milliseconds since 1970. */
  readonly at: number
  readonly messages: (typeof erasureModes)[number]
  readonly reason: string
}

/** The list of a folder. */
export interface ErasureLog {
  readonly erasures: readonly ErasureLine[]
  /** The number of lines that are no erasures, such as one that a crash has cut. */
  readonly unreadable: number
}

const fields: Readonly<Record<keyof ErasureLine, Check>> = {
  app_id: isText,
  user_id: isCount,
  at: isCount,
  messages: isOneOf(...erasureModes),
  reason: (value) => typeof value === 'string',
}

/** Appends a line to the list of a folder; it is on the disk when this resolves. */
export async function appendErasure(folder: string, line: ErasureLine): Promise<void> {
  const file = await open(join(folder, erasuresFile), 'a+', 0o600)
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

/** Reads the list of a folder; empty where there is none. */
export async function readErasures(folder: string): Promise<ErasureLog> {
  const text = await readFile(join(folder, erasuresFile), 'utf8').catch((error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  })
  const found = text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseLine)
  const erasures = found.filter((line) => line !== null)
  return { erasures, unreadable: found.length - erasures.length }
}

/** @returns null for a line that is no erasure */
function parseLine(line: string): ErasureLine | null {
  try {
    const value: unknown = JSON.parse(line)
    const isErasure =
      isJsonObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]))
    return isErasure ? (value as unknown as ErasureLine) : null
  } catch {
    return null
  }
}
