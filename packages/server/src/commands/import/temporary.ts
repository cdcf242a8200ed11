import { accessSync, constants, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { CommandFailure } from '../runtime/call.js'
import { option } from '../runtime/fields.js'

/** The folder for the temporary files of a command. */
export const temporary = option(
  '--temporary <folder>',
  'a folder with room for twice the file; default: that of the system',
)

/**
 * Runs work whose temporary files are in a folder. They have no names, so a killed command leaves
 * none.
 * @throws CommandFailure when the folder takes no files, or its disk is full
 */
export async function withTemporaryFolder<T>(
  folder: string = tmpdir(),
  work: (folder: string) => Promise<T>,
): Promise<T> {
  requireWritable(folder)
  try {
    return await work(folder)
  } catch (error) {
    // The error of SQLite.
    if (!(error instanceof Error && /database or disk is full/i.test(error.message))) throw error
    throw new CommandFailure(`${folder} is full; name a folder with more room by --temporary`)
  }
}

function requireWritable(folder: string): void {
  const refused = (why: string) =>
    new CommandFailure(`${folder} takes no temporary files: ${why}; name a folder by --temporary`)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    if (statSync(folder).isDirectory()) return
  } catch (error) {
    throw refused((error as Error).message)
  }
  throw refused('it is no folder')
}
