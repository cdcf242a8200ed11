/** The check that a folder, and the files in it that a process uses, belong to the user of the process. */
import { accessSync, constants, lstatSync, readFileSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

const { R_OK, W_OK, X_OK } = constants
/** Null where files have no such owners. */
const ownUid = process.geteuid?.() ?? null

/**
 * Returns a sentence about the first entry that is a symbolic link, or that this user does not own
 * or may not use; null when there is none.
 * @param folder an existing one; it may be a link itself
 * @param names of entries, which need not exist
 */
export function foreignEntry(folder: string, names: readonly string[]): string | null {
  if (ownUid === null) return null
  const entries = names.map((name) => join(folder, name))
  return entryProblem(folder, statSync(folder)) ?? firstProblem(entries)
}

function firstProblem(paths: readonly string[]): string | null {
  for (const path of paths) {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    const problem = stats ? entryProblem(path, stats) : null
    if (problem !== null) return problem
  }
  return null
}

function entryProblem(path: string, stats: Stats): string | null {
  if (stats.isSymbolicLink())
    return `${path} is a symbolic link, and links are not followed; put the file or folder itself there, or mount it`
  if (stats.uid !== ownUid) {
    const [owner, user] = [userName(stats.uid), userName(ownUid)]
    return `${path} belongs to ${owner}, and this process runs as ${user}; run it as ${owner}, or give the files to the other user with chown`
  }
  try {
    accessSync(path, R_OK | W_OK | (stats.isDirectory() ? X_OK : 0))
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'EACCES' ? `its mode is ${modeText(stats)}` : code
    return `${path} cannot be read and written by ${userName(ownUid)}: ${reason}`
  }
}

/** Returns a clause about the user of this process and the owner of the nearest folder that exists. */
export function accessText(path: string): string {
  if (ownUid === null) return ''
  let nearest = dirname(path)
  let stats = findStats(nearest)
  while (stats === null && nearest !== dirname(nearest)) {
    nearest = dirname(nearest)
    stats = findStats(nearest)
  }
  const owner =
    stats && `${nearest} belongs to ${userName(stats.uid)} and has the mode ${modeText(stats)}`
  return `this process runs as ${userName(ownUid)}${owner ? `, and ${owner}` : ''}`
}

function findStats(path: string): Stats | null {
  try {
    return statSync(path)
  } catch {
    return null
  }
}

function modeText({ mode }: Stats): string {
  return (mode & 0o777).toString(8)
}

/** The name of a local user, or the number of another one. */
function userName(uid: number | null): string {
  const line = passwd().find((fields) => fields[2] === String(uid))
  return line ? `${line[0]} (uid ${uid})` : `uid ${uid}`
}

function passwd(): string[][] {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
    return lines.map((line) => line.split(':'))
  } catch {
    return []
  }
}
