import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { atExit } from './exit-tasks.js'
import { descendants } from './proc.js'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ChildOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** The user and group to run as; only root may set it. */
  readonly user?: { readonly uid: number; readonly gid: number }
  /** Gives it a standard input, for {@link Child.write}. */
  readonly takesInput?: boolean
}

// Enough for the log of a long test; older lines are dropped.
const maxOutputLines = 100_000

/** A started program. Its output is collected, and it never outlives this process. */
export class Child {
  readonly exited: Promise<Exit>
  readonly #process: ChildProcess
  readonly #lines: string[] = []
  readonly #watchers = new Set<(line: string) => void>()
  #exit: Exit | null = null

  constructor(command: readonly [string, ...string[]], options: ChildOptions = {}) {
    const [program, ...args] = command
    this.#process = spawn(program, args, spawnOptions(options))
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.#take(line))
    }
    const forget = atExit(() => this.killTree())
    this.exited = new Promise((resolve) => {
      const end = (exit: Exit) => {
        forget()
        this.#exit ??= exit
        resolve(this.#exit)
      }
      // `close` comes after the last output, unlike `exit`.
      this.#process.once('close', (code, signal) => end({ code, signal }))
      this.#process.once('error', (error) => {
        this.#take(error.message)
        if (this.#process.pid === undefined) end({ code: null, signal: null })
      })
    })
  }

  /** -1: it could not be started; the output gives the reason. */
  get pid(): number {
    return this.#process.pid ?? -1
  }

  /** Null while it runs. */
  get exit(): Exit | null {
    return this.#exit
  }

  /** Its output so far on stdout and stderr. */
  output(): string {
    return this.#lines.map((line) => `${line}\n`).join('')
  }

  /** Calls back with every line, including earlier ones. */
  watch(watcher: (line: string) => void): () => void {
    this.#lines.forEach(watcher)
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Writes a line to its standard input. */
  write(line: string): void {
    this.#process.stdin?.write(`${line}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#process.pid !== undefined && this.#exit === null) send(this.#process.pid, signal)
  }

  /** Sends SIGKILL to all processes of its group, also when it has ended itself. */
  killGroup(): void {
    if (this.#process.pid !== undefined) send(-this.#process.pid, 'SIGKILL')
  }

  /** Sends SIGKILL to the process and its descendants. */
  killTree(): void {
    if (this.#process.pid === undefined || this.#exit !== null) return
    for (const pid of [this.pid, ...descendants(this.pid)]) send(pid, 'SIGKILL')
  }

  #take(line: string): void {
    this.#lines.push(line)
    if (this.#lines.length > maxOutputLines) this.#lines.splice(0, maxOutputLines / 10)
    for (const watcher of this.#watchers) watcher(line)
  }
}

function spawnOptions({ env = process.env, cwd, user, takesInput }: ChildOptions): SpawnOptions {
  return {
    env,
    stdio: [takesInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    // A separate process group: a Ctrl-C at the terminal reaches this process only, which then ends
    // the child in order.
    detached: true,
    ...(cwd === undefined ? {} : { cwd }),
    ...user,
  }
}

/** Sends a signal; a process that has ended is not an error. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
