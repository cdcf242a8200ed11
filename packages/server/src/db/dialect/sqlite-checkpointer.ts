/** Copies the write-ahead log of the embedded database into its file while the writer continues. */
import { closeSync, openSync, statSync } from 'node:fs'
import type { ScrubResult } from './sqlite-scrub.js'

/** The result of a checkpoint, in frames of the log: one page each. */
export interface CheckpointState {
  /** In the log when the checkpoint began. */
  readonly frames: number
  /** The number of these that the database file has. */
  readonly copied: number
}

/** Runs the steps of checkpoints on their threads. */
export interface CheckpointThreads {
  /** Returns the state of the log, without copying where SQLite knows `noop`. */
  look(): Promise<CheckpointState>
  /** Runs a passive checkpoint while the writer continues. */
  pass(): Promise<CheckpointState>
  /** Waits until the database file is on the disk. */
  sync(descriptor: number): Promise<void>
  /** Copies the already copied part of the log once more and syncs, while the writer stands still. */
  copyAgain(descriptor: number): Promise<void>
  /**
   * Runs a passive checkpoint on the writer's connection, between two transactions, so that nothing
   * is written during it.
   */
  finish(): Promise<CheckpointState>
  /** Empties the log and scrubs some pages on the writer's connection; see SqlDialect.scrub. */
  scrub(descriptor: number, from: number): Promise<ScrubResult>
  /** Ends the thread of `pass` and `sync`, if it runs. */
  close(): Promise<void>
}

export interface CheckpointLimits {
  /** The time from a write to a look at the log. */
  readonly everyMs: number
  /**
   * The size at which passes begin: the larger the log, the more writes of a page are copied once.
   * The last connection copies a smaller log when it closes.
   */
  readonly restartFrames: number
  /** The most frames that are left to the writer, which stands still while it copies them. */
  readonly lastFrames: number
  /**
   * The size at which the writer stops until all is copied, when passes do not catch up with it. A
   * reader that makes the log larger is reported, and the file returns to this size.
   */
  readonly forceFrames: number
}

export const checkpointLimits: CheckpointLimits = {
  everyMs: 200,
  restartFrames: 40_000,
  lastFrames: 1_000,
  forceFrames: 120_000,
}

/** Statistics of checkpoints since the start, for metrics. */
export interface CheckpointStatistics {
  readonly passes: number
  /** Time of the passes, during which the writer continues. */
  readonly seconds: number
  /** Time in which the writer stood still. */
  readonly stoppedSeconds: number
  readonly failures: number
  /** Bytes of the log that a restart would have to read. */
  readonly walBytes: number
  /** Size of the file of the log. */
  readonly walFileBytes: number
}

/** The file of a database that no checkpoint changes until {@link PausedCheckpoints.resume}. */
export interface PausedCheckpoints {
  readonly path: string
  /**
   * Of the database file, open as long as the database is: closing any descriptor of the file, also
   * in another thread, would release the locks of SQLite.
   */
  readonly descriptor: number
  /** Returns the size of the database file. */
  databaseBytes(): number
  /** Returns the size of the file of the log now. */
  logBytes(): number
  /** Checkpoints begin again; a second call does nothing. */
  resume(): void
}

interface CheckpointerOptions {
  /** The file of the database. */
  readonly path: string
  readonly threads: CheckpointThreads
  readonly limits?: Partial<CheckpointLimits>
  readonly onError: (error: unknown) => void
  /**
   * A reader keeps the log from restarting. Called when it reaches `forceFrames`, and whenever it
   * has doubled since.
   */
  readonly onHeld: (walBytes: number) => void
}

/** A page and its head in the log. */
export const walFrameBytes = 4096 + 24
const passesMax = 10
const retryMsMax = 5_000

/**
 * Runs checkpoints in steps while the writer continues. A passive checkpoint blocks no connection,
 * but the log restarts only when all of it is in the database file. Under load that moment never
 * comes: each pass leaves the frames that were written during it. So passes follow each other, each
 * shorter than the last, until the writer copies the short rest itself within milliseconds; its
 * next transaction restarts the log.
 *
 * SQLite does not sync the database file after a pass during which the writer went on, so that is
 * done here: otherwise the writer would have to wait for all of it in the end.
 */
export class Checkpointer {
  readonly #path: string
  readonly #threads: CheckpointThreads
  readonly #limits: CheckpointLimits
  readonly #onError: (error: unknown) => void
  readonly #onHeld: (walBytes: number) => void
  readonly #figures = {
    passes: 0,
    seconds: 0,
    stoppedSeconds: 0,
    failures: 0,
    walBytes: 0,
    walFileBytes: 0,
  }
  #descriptor: number | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #wroteMeanwhile = false
  #failuresInRow = 0
  #copied = 0
  /** The size at which a log that a reader holds is reported. */
  #reportFrames: number
  /** A sync failed, so it is unknown which of the copied pages are on the disk. */
  #mustCopyAgain = false
  #isClosed = false
  #pauses = 0

  constructor({ path, threads, limits, onError, onHeld }: CheckpointerOptions) {
    this.#path = path
    this.#threads = threads
    this.#limits = { ...checkpointLimits, ...limits }
    this.#reportFrames = this.#limits.forceFrames
    this.#onError = onError
    this.#onHeld = onHeld
  }

  get statistics(): CheckpointStatistics {
    return this.#figures
  }

  /** Something was committed. */
  wrote(): void {
    if (this.#running) this.#wroteMeanwhile = true
    else this.#schedule(this.#limits.everyMs)
  }

  /**
   * Waits for the running step, after which none begins until all pauses have ended. The database
   * file then stays as it is, and with the log it always is the whole database.
   */
  async pause(): Promise<PausedCheckpoints> {
    this.#pauses++
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#running
    let isPaused = true
    return {
      path: this.#path,
      descriptor: this.#open(),
      databaseBytes: () => statSync(this.#path).size,
      logBytes: () => this.#logBytes(),
      resume: () => {
        if (!isPaused) return
        isPaused = false
        this.#pauses--
        this.#schedule(this.#limits.everyMs)
      },
    }
  }

  /** A step of SqlDialect.scrub, as a step of checkpoints. The writer waits meanwhile. */
  async scrub(from: number): Promise<ScrubResult> {
    while (this.#running) await this.#running
    if (this.#isClosed || this.#mustCopyAgain || this.#pauses > 0) return 'held'
    clearTimeout(this.#timer)
    this.#timer = undefined
    const step = this.#threads.scrub(this.#open(), from)
    const end = () => {
      this.#running = undefined
      this.#schedule(this.#limits.everyMs)
    }
    this.#running = step.then(end, end)
    return step
  }

  /** Waits for the running step; nothing begins after it. */
  async stop(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
    // The last connection deletes the log when it closes.
    if (this.#mustCopyAgain) await this.#copyAgain().catch(this.#onError)
    await this.#threads.close()
  }

  /**
   * Called after the last connection is closed: closing any descriptor of a file releases all locks
   * that the process holds on it.
   */
  release(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #schedule(delayMs: number): void {
    if (this.#isClosed || this.#timer || this.#pauses > 0) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#wroteMeanwhile = false
      this.#running = this.#run().then((nextMs) => {
        this.#running = undefined
        if (nextMs !== null) this.#schedule(nextMs)
      })
    }, delayMs).unref()
  }

  /** @returns the delay to the next run; null: the next write schedules it */
  async #run(): Promise<number | null> {
    const { everyMs } = this.#limits
    try {
      if (this.#isNeeded()) await this.#checkpoint()
      this.#failuresInRow = 0
      return this.#wroteMeanwhile ? everyMs : null
    } catch (error) {
      this.#failuresInRow++
      this.#figures.failures++
      this.#onError(error)
      return Math.min(everyMs * 2 ** this.#failuresInRow, retryMsMax)
    }
  }

  /**
   * The file of the log never becomes smaller than that while the database is open, so this stays
   * true once it is.
   */
  #isNeeded(): boolean {
    this.#figures.walFileBytes = this.#logBytes()
    return this.#figures.walFileBytes >= this.#limits.restartFrames * walFrameBytes
  }

  #logBytes(): number {
    return statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  async #checkpoint(): Promise<void> {
    if (!(await this.#isWorthAPass())) return
    const { lastFrames, forceFrames } = this.#limits
    for (let pass = 1; pass <= passesMax && !this.#isClosed && this.#pauses === 0; pass++) {
      const before = this.#copied
      const { frames, copied } = await this.#pass()
      // A long read keeps the log: frames after its beginning cannot be copied before its end.
      const isHeld = frames - copied > lastFrames
      if (isHeld) return this.#reportHeld(frames)
      const isCloseBehind = copied >= before && copied - before <= lastFrames
      if (isCloseBehind || (pass === passesMax && frames >= forceFrames)) return this.#finish()
    }
  }

  #reportHeld(frames: number): void {
    if (frames < this.#reportFrames) return
    this.#reportFrames = 2 * frames
    this.#onHeld(frames * walFrameBytes)
  }

  async #isWorthAPass(): Promise<boolean> {
    const { frames } = await this.#threads.look()
    this.#figures.walBytes = frames * walFrameBytes
    const hasBegunAgain = frames < this.#copied
    if (hasBegunAgain) {
      this.#copied = 0
      this.#reportFrames = this.#limits.forceFrames
    }
    return frames >= this.#limits.restartFrames
  }

  async #pass(): Promise<CheckpointState> {
    const startedAt = performance.now()
    try {
      if (this.#mustCopyAgain) await this.#copyAgain()
      const before = this.#copied
      const state = await this.#threads.pass()
      this.#note(state)
      if (state.copied !== before) await this.#sync()
      return state
    } finally {
      this.#figures.passes++
      this.#figures.seconds += (performance.now() - startedAt) / 1000
    }
  }

  async #sync(): Promise<void> {
    const descriptor = this.#open()
    try {
      await this.#threads.sync(descriptor)
    } catch (error) {
      this.#mustCopyAgain = true
      throw error
    }
  }

  #open(): number {
    this.#descriptor ??= openSync(this.#path, 'r+')
    return this.#descriptor
  }

  async #copyAgain(): Promise<void> {
    if (this.#descriptor !== undefined) await this.#threads.copyAgain(this.#descriptor)
    this.#mustCopyAgain = false
  }

  async #finish(): Promise<void> {
    const startedAt = performance.now()
    try {
      this.#note(await this.#threads.finish())
    } finally {
      this.#figures.stoppedSeconds += (performance.now() - startedAt) / 1000
    }
  }

  #note({ frames, copied }: CheckpointState): void {
    this.#copied = copied
    this.#figures.walBytes = frames * walFrameBytes
  }
}
