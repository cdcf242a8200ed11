/** Files that are read as streams; - is standard input. */
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { CommandFailure } from './call.js'
import type { CommandContext } from './command.js'

/** @throws CommandFailure when the file cannot be opened */
export async function openInput(
  { dependencies }: CommandContext,
  file: string,
): Promise<{ readonly input: Readable; readonly bytes: number }> {
  if (file === '-') return { input: dependencies.stdin, bytes: 0 }
  try {
    const handle = await open(file)
    const found = await handle.stat()
    if (!found.isDirectory()) return { input: handle.createReadStream(), bytes: found.size }
    await handle.close()
  } catch (error) {
    throw unreadable(file, error as Error)
  }
  throw new CommandFailure(`${file} cannot be read: it is a folder; name a file`)
}

/** @throws CommandFailure when the file cannot be read to its end */
export async function* readable<T>(file: string, entries: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* entries
  } catch (error) {
    throw (error as NodeJS.ErrnoException).syscall === undefined
      ? error
      : unreadable(file, error as Error)
  }
}

function unreadable(file: string, { message }: Error): CommandFailure {
  return new CommandFailure(`${file} cannot be read: ${message}`)
}

export function bytesRead(input: Readable): number {
  return (input as { bytesRead?: number }).bytesRead ?? 0
}
