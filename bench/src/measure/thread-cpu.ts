/** Processor time of a service by thread. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ServerOptions, TempFolder, threadCpuMs } from '@hermod/testkit'

/** The parts of the processor time of a service. */
export const cpuParts = ['main', 'writer', 'checkpointer', 'others', 'database'] as const

/**
 * Part of the processor time: threads by their name, all other threads of the process (those of
 * libuv and the helpers of V8), and the processes of PostgreSQL.
 */
export type CpuPart = (typeof cpuParts)[number]

/** Milliseconds of each part. */
export type CpuTimes = Readonly<Record<CpuPart, number>>

/** Names the threads of services that are started with its environment. */
export class ThreadNames implements Disposable {
  readonly #folder = new TempFolder('threads')

  get env(): NonNullable<ServerOptions['env']> {
    const probe = pathToFileURL(resolve(import.meta.dirname, 'thread-probe.js')).href
    return { NODE_OPTIONS: `--import ${probe}`, BENCH_THREADS: this.#folder.path }
  }

  /** @param databaseMs processor time of the database's own processes */
  read(pid: number, databaseMs: number): CpuTimes {
    const names = new Map(
      readdirSync(this.#folder.path)
        .map((file) => file.split('-').map(Number))
        .filter(([process]) => process === pid)
        .map(([, thread]) => [thread, this.#nameOf(pid, thread as number)]),
    )
    return cpuTimesOf(pid, (thread) => names.get(thread), databaseMs)
  }

  #nameOf(pid: number, thread: number): string {
    return readFileSync(join(this.#folder.path, `${pid}-${thread}`), 'utf8')
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }
}

/** Returns the times of a process whose only named thread is the main one. */
export function bareCpuTimes(pid: number): CpuTimes {
  return cpuTimesOf(pid, (thread) => (thread === pid ? 'main' : undefined), 0)
}

function cpuTimesOf(
  pid: number,
  nameOf: (thread: number) => string | undefined,
  database: number,
): CpuTimes {
  const times = { main: 0, writer: 0, checkpointer: 0, others: 0, database }
  for (const [thread, ms] of threadCpuMs(pid)) {
    const name = nameOf(thread)
    times[name === 'main' || name === 'writer' || name === 'checkpointer' ? name : 'others'] += ms
  }
  return times
}

/** Returns the times of an interval. */
export function cpuTimesBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return mapParts((part) => after[part] - before[part])
}

/** Returns a value for each part. */
export function mapParts<T>(make: (part: CpuPart) => T): Record<CpuPart, T> {
  return Object.fromEntries(cpuParts.map((part) => [part, make(part)])) as Record<CpuPart, T>
}
