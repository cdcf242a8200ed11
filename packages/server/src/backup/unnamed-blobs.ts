import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { linesText } from './blob-copy.js'
import { syncFile, writeAll } from './database-copy.js'
import { catalogueLinesOf, type FileLine, KeyIndex } from './key-index.js'
import { filesPart } from './manifest.js'

export interface PruneRequest {
  /** The folder of the target. */
  readonly target: string
  /** The folder of each complete backup that has a list of files. */
  readonly backups: readonly string[]
  /** An empty folder on the same disk. */
  readonly scratch: string
}

const linesPerWrite = 1_000

/** Removes the blobs of a target that none of the backups names. @returns their number */
export function removeUnnamed({ target, backups, scratch }: PruneRequest): number {
  using named = new KeyIndex(join(scratch, 'named.db'))
  for (const folder of backups) addNamed(named, join(folder, filesPart))
  const removed = removeIn(join(target, 'files'), '', named)
  if (removed > 0) rewriteCatalogue(target, named)
  return removed
}

function addNamed(named: KeyIndex, path: string): void {
  try {
    named.addFile(path)
  } catch (cause) {
    throw new Error(
      `${path} is damaged, so that it is unknown which files its backup needs; no file was removed; remove that backup by hand if it is not worth keeping`,
      { cause },
    )
  }
}

function removeIn(root: string, folder: string, named: KeyIndex): number {
  let removed = 0
  for (const entry of entriesOf(join(root, folder))) {
    const key = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) {
      removed += removeIn(root, key, named)
      removeIfEmpty(join(root, key))
    } else if (named.find(key) === null) {
      rmSync(join(root, key), { force: true })
      removed++
    }
  }
  return removed
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** Leaves the removed blobs out of the catalogue. */
function rewriteCatalogue(target: string, named: KeyIndex): void {
  const path = join(target, filesPart)
  const file = openSync(`${path}.new`, 'w', 0o600)
  try {
    let lines: FileLine[] = []
    const write = () => {
      writeAll(file, Buffer.from(linesText(lines)))
      lines = []
    }
    for (const line of catalogueLinesOf(path))
      if (named.find(line.key) !== null && lines.push(line) === linesPerWrite) write()
    write()
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(`${path}.new`, path)
  syncFile(target)
}
