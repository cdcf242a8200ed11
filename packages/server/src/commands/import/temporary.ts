import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandFailure } from '../runtime/call.js'
import { option } from '../runtime/fields.js'

/** The parent of the temporary folder of a command. */
export const temporary = option(
  '--temporary <folder>',
  'a folder with room for twice the file; default: that of the system',
)

/**
 * Runs work with a temporary folder, which is removed at its end.
 * @throws CommandFailure when the folder takes no files, or its disk is full
 */
export async function withTemporaryFolder<T>(
  parent: string | undefined,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = makeFolder(parent ?? tmpdir())
  try {
    return await work(folder)
  } catch (error) {
    // The error of SQLite.
    if (!(error instanceof Error && /database or disk is full/i.test(error.message))) throw error
    throw new CommandFailure(`${folder} is full; name a folder with more room by --temporary`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function makeFolder(parent: string): string {
  try {
    return mkdtempSync(join(parent, 'hermod-import-'))
  } catch (error) {
    throw new CommandFailure(`${parent} takes no temporary files: ${(error as Error).message}`)
  }
}
