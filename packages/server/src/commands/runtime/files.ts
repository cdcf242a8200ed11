/** Files that options name; - is standard input. */
import { readFile } from 'node:fs/promises'
import { CommandFailure } from './call.js'
import type { CommandContext } from './command.js'

/** The end of the help of an option that names a file. */
export const fileNote = '- reads standard input'

/**
 * Reads a file. Secrets come from files, because all users of the machine can read the arguments of
 * a command.
 *
 * @throws CommandFailure
 */
export async function readInput(file: string, { dependencies }: CommandContext): Promise<Buffer> {
  if (file === '-') {
    const chunks: Buffer[] = []
    for await (const chunk of dependencies.stdin) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks)
  }
  try {
    return await readFile(file)
  } catch (error) {
    throw new CommandFailure(`${file} cannot be read: ${(error as Error).message}`)
  }
}

/** Returns the text of a file without the line break at its end. */
export function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}
