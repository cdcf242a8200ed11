import { AppError } from '@hermod/protocol'

/** Calls of an application that may wait at the same time. */
const maxWaits = 10

interface EventWaitsOptions {
  /** Reads the last position of each app, to notice what other nodes append; null: there are none. */
  readonly heads: (() => Promise<ReadonlyMap<string, number>>) | null
  readonly pollMs?: number
}

/** The calls that wait for events. While they wait they read nothing. */
export class EventWaits {
  readonly #byApp = new Map<string, Set<EventWait>>()
  #heads: ReadonlyMap<string, number> = new Map()
  #timer: NodeJS.Timeout | undefined
  #isPolling = false

  constructor(private readonly options: EventWaitsOptions) {}

  /** Number of calls that may wait. */
  get size(): number {
    return [...this.#byApp.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /**
   * Registers a call that may wait; it leaves at its end.
   *
   * @throws AppError too_many_event_readers
   */
  enter(appId: string): EventWait {
    const waits = this.#byApp.get(appId) ?? new Set()
    if (waits.size >= maxWaits) throw new AppError('too_many_event_readers')
    const wait = new EventWait(() => this.#leave(appId, wait))
    waits.add(wait)
    this.#byApp.set(appId, waits)
    if (this.options.heads !== null)
      this.#timer ??= setInterval(() => void this.#poll(), this.options.pollMs ?? 1_000).unref()
    return wait
  }

  /** Events were appended for an app. */
  wake(appId: string): void {
    for (const wait of this.#byApp.get(appId) ?? []) wait.wake()
  }

  #leave(appId: string, wait: EventWait): void {
    const waits = this.#byApp.get(appId)
    waits?.delete(wait)
    if (waits?.size === 0) this.#byApp.delete(appId)
    if (this.#byApp.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #poll(): Promise<void> {
    const { heads: read } = this.options
    if (read === null || this.#isPolling) return
    this.#isPolling = true
    try {
      const heads = await read()
      for (const appId of this.#byApp.keys())
        if (heads.get(appId) !== this.#heads.get(appId)) this.wake(appId)
      this.#heads = heads
    } catch {
      // The database does not answer; the calls end at their time.
    } finally {
      this.#isPolling = false
    }
  }
}

/** One call that may wait. */
export class EventWait implements Disposable {
  #isWoken = false
  #resolve: (() => void) | null = null

  constructor(private readonly leave: () => void) {}

  /** From now on wakes count. Called before the log is read, so that no event is overlooked. */
  arm(): void {
    this.#isWoken = false
  }

  wake(): void {
    this.#isWoken = true
    this.#resolve?.()
  }

  /** Waits for a wake since {@link arm}, for a time, or until the signal is aborted. */
  async woken(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isWoken || signal.aborted) return
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        this.#resolve = null
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal.addEventListener('abort', end)
      this.#resolve = end
    })
  }

  [Symbol.dispose](): void {
    this.leave()
  }
}
