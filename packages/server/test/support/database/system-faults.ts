/** Faults below the server: system calls that fail, by strace, and a disk that is full for good. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { atExit, Child, isRunning, TempFolder, waitFor } from '@hermod/testkit'

export interface SystemFault {
  /** Such as fsync; a call that the machine's architecture does not have must not be named. */
  readonly calls: readonly string[]
  readonly error: 'EIO' | 'ENOSPC'
  /** Only on these files; default: on all. */
  readonly paths?: readonly string[]
  /** Which calls of a thread fail, such as 3+5 for the third and then every fifth; default: every one. */
  readonly when?: string
}

interface Targets {
  readonly pids: readonly number[]
  /** Also in threads and processes that they start later. */
  readonly withChildren: boolean
}

const patienceMs = 20_000

/**
 * Makes calls of running processes fail until it is disposed. Only the fault is added: the
 * processes go on as they would.
 */
export async function injectFault(
  { calls, error, paths = [], when }: SystemFault,
  { pids, withChildren }: Targets,
): Promise<AsyncDisposable> {
  const names = calls.join(',')
  const tracer = new Child([
    'strace',
    ...(withChildren ? ['-f'] : []),
    ...pids.flatMap((pid) => ['-p', String(pid)]),
    ...paths.flatMap((path) => ['-P', path]),
    ...[
      '-e',
      `trace=${names}`,
      '-e',
      `inject=${names}:error=${error}${when === undefined ? '' : `:when=${when}`}`,
      '-e',
      'signal=none',
    ],
    ...['-o', '/dev/null'],
  ])
  // A process of a database may have ended by itself meanwhile.
  const areAttached = () =>
    pids.every(
      (pid) => new RegExp(`Process ${pid} attached`).test(tracer.output()) || !isRunning(pid),
    )
  await waitFor(
    () => {
      // It may have ended by now because what it traced has, of the very fault.
      if (areAttached()) return true
      if (tracer.exit) throw new Error(`strace ended: ${tracer.output()}`)
      return false
    },
    { what: 'strace', timeoutMs: patienceMs },
  )
  return {
    async [Symbol.asyncDispose]() {
      // It lets the processes go before it ends.
      tracer.signal('SIGINT')
      await tracer.exited
    },
  }
}

/** @returns why faults cannot be injected here; null: they can */
export async function faultInjectionProblem(): Promise<string | null> {
  if (spawnSync('strace', ['--version']).error) return 'strace is not installed'
  const subject = new Child(['sleep', '60'])
  try {
    await using _ = await injectFault(
      { calls: ['fsync'], error: 'EIO' },
      { pids: [subject.pid], withChildren: true },
    )
    return null
  } catch (error) {
    return `strace may not trace other processes: ${(error as Error).message.trim()}`
  } finally {
    subject.killTree()
    await subject.exited
  }
}

/** A file system of its own, small enough to be filled. */
export class SmallDisk implements Disposable {
  readonly #folder: TempFolder
  readonly #forget: () => void

  private constructor(folder: TempFolder) {
    this.#folder = folder
    this.#forget = atExit(() => this.#unmount())
  }

  /** @returns why there can be none here, usually a missing right */
  static mount(sizeMiB: number): SmallDisk | string {
    const folder = new TempFolder('disk')
    const { status, stderr, error } = spawnSync('mount', [
      '-t',
      'tmpfs',
      '-o',
      `size=${sizeMiB}m,mode=700`,
      'tmpfs',
      folder.path,
    ])
    if (status === 0) return new SmallDisk(folder)
    folder[Symbol.dispose]()
    return `no file system can be mounted: ${error?.message ?? stderr.toString().trim()}`
  }

  get path(): string {
    return this.#folder.path
  }

  /** @returns frees it again */
  fill(): () => void {
    const filler = join(this.path, 'filler')
    const descriptor = openSync(filler, 'w')
    try {
      for (const size of [64 * 1024, 4096, 1]) writeUntilFull(descriptor, Buffer.alloc(size))
    } finally {
      closeSync(descriptor)
    }
    return () => rmSync(filler)
  }

  [Symbol.dispose](): void {
    this.#forget()
    this.#unmount()
    this.#folder[Symbol.dispose]()
  }

  #unmount(): void {
    // Lazily: a process that is on its way out may still have its files open.
    spawnSync('umount', ['-l', this.path])
  }
}

function writeUntilFull(descriptor: number, block: Buffer): void {
  try {
    for (;;) writeSync(descriptor, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}
