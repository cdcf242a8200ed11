import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * @param path the variable PATH
 * @returns the path of the program; null when no folder has it
 */
export function findInPath(program: string, path: string | undefined): string | null {
  const folders = (path ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, program)).find(isExecutable) ?? null
}

/** Tells whether the path is a file that this process may run. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
