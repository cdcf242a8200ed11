import type { ChildProcess } from 'node:child_process'
import { setPriority } from 'node:os'
import { residentBytes } from '../lib/system/resident-memory.js'
import { MediaError } from './media.js'

/** The bounds of one conversion in a child process. */
export interface ConversionLimits {
  readonly timeMs: number
  /** Resident memory. */
  readonly memoryBytes: number
}

/** The cost of a conversion for its user, per second that it takes. */
export const tokensPerSecond = 100

const checkMs = 50
/** A conversion takes the processor only when the service leaves it. */
const lowPriority = 10

/** Watches a child process during one conversion, and kills it when it exceeds a limit. */
export class Watchdog implements Disposable {
  readonly #timer
  readonly #startedAt = performance.now()
  #exceeded: MediaError | null = null
  #isChecking = false

  constructor(
    private readonly child: ChildProcess,
    private readonly limits: ConversionLimits,
  ) {
    lowerPriority(child)
    this.#timer = setInterval(() => void this.#check(), checkMs)
  }

  /** The limit that the process exceeded; null: none. */
  get exceeded(): MediaError | null {
    return this.#exceeded
  }

  /** The duration of the conversion so far. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1_000
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  async #check(): Promise<void> {
    const { timeMs, memoryBytes } = this.limits
    const { pid } = this.child
    if (pid === undefined || this.#isChecking) return
    if (this.seconds * 1_000 > timeMs) return this.#kill('too much time')
    this.#isChecking = true
    const bytes = await residentBytes(pid)
    this.#isChecking = false
    if (bytes !== null && bytes > memoryBytes) this.#kill('too much memory')
  }

  #kill(what: string): void {
    this.#exceeded ??= new MediaError('too_complex', `converting the file takes ${what}`)
    this.child.kill('SIGKILL')
  }
}

function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, lowPriority)
  } catch {
    // The process has ended, or the system does not allow it.
  }
}
