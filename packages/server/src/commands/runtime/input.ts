/** Files that are read as streams; - is standard input. */
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { CommandFailure } from './call.js'
import type { CommandContext } from './command.js'

interface OpenInput {
  readonly input: Readable
  /** The size of the file; 0 for standard input. */
  readonly bytes: number
}

/**
 * @param signal ends the input with its reason, also while no bytes come
 * @throws CommandFailure when the file cannot be opened
 */
export async function openInput(
  { dependencies }: CommandContext,
  file: string,
  signal?: AbortSignal,
): Promise<OpenInput> {
  const opened = file === '-' ? { input: dependencies.stdin, bytes: 0 } : await openFile(file)
  const { input } = opened
  if (signal?.aborted) input.destroy()
  signal?.throwIfAborted()
  signal?.addEventListener('abort', () => input.destroy(signal.reason as Error), { once: true })
  return opened
}

async function openFile(file: string): Promise<OpenInput> {
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
