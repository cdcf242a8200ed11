import type { Session } from '../../sessions/session.js'
import type { Frames } from './frames.js'

/** Frames for a fixed list of sessions. */
export interface FanOut {
  /** Fan-outs of one queue are written one after the other; null = at once, for few receivers. */
  readonly queue: string | null
  readonly receivers: readonly Session[]
  readonly frames: Frames
  /**
   * True: sessions that cannot receive now have missed nothing, and the fan-out is dropped when
   * many wait.
   */
  readonly isTransient?: boolean
  /** Called once all receivers are done. */
  ended(): void
}

/** Receives measurements of fan-outs, for metrics. */
export interface FanOutObserver {
  /** @param receivers the sessions of the fan-out */
  fannedOut(receivers: number, seconds: number): void
  /** A session has too much unread, so that its events are skipped. */
  skipped(): void
}

interface FanOutsOptions {
  readonly observer: FanOutObserver
  /** The time of the event loop that a slice takes. */
  readonly sliceMs?: number
  /** A fan-out up to this size is written at once unless its queue is busy. */
  readonly smallSize?: number
  readonly now?: () => number
  readonly nextTurn?: (run: () => void) => void
}

interface Job extends FanOut {
  readonly startedAt: number
  next: number
}

/** The writes of a queue before the next queue has its turn. */
const writesPerTurn = 128
const writesPerLook = 32
const maxWaiting = 2_000
/** Fan-outs of a queue that wait when further transient ones are dropped. */
const maxWaitingTransient = 16
const maxWaitingBytes = 64 * 2 ** 20

/**
 * Writes frames to many sessions in slices of the event loop. Queues take turns, so a small fan-out
 * overtakes a large one of another queue; order is kept within a queue.
 */
export class FanOuts {
  readonly #queues = new Map<string, Job[]>()
  readonly #forRoom: (() => void)[] = []
  readonly #observer: FanOutObserver
  readonly #sliceMs: number
  readonly #smallSize: number
  readonly #now: () => number
  readonly #nextTurn: (run: () => void) => void
  #waiting = 0
  #waitingBytes = 0
  #isRunning = false

  constructor({
    observer,
    sliceMs = 2,
    smallSize = 64,
    now = () => performance.now(),
    nextTurn = setImmediate,
  }: FanOutsOptions) {
    this.#observer = observer
    this.#sliceMs = sliceMs
    this.#smallSize = smallSize
    this.#now = now
    this.#nextTurn = nextTurn
  }

  /** Tests whether so much waits that no more events should be begun. */
  get isFull(): boolean {
    return this.#waiting > maxWaiting || this.#waitingBytes > maxWaitingBytes
  }

  /** Calls back once it is no longer full. */
  whenRoom(run: () => void): void {
    this.#forRoom.push(run)
  }

  start(fanOut: FanOut): void {
    const { queue, receivers, frames, isTransient } = fanOut
    const before = queue === null ? undefined : this.#queues.get(queue)
    if (queue === null || (!before && receivers.length <= this.#smallSize)) {
      const startedAt = this.#now()
      for (const session of receivers) this.#write(session, fanOut)
      this.#end(fanOut, startedAt)
      return
    }
    if (isTransient && (this.isFull || (before?.length ?? 0) >= maxWaitingTransient)) {
      fanOut.ended()
      return
    }
    const job: Job = { ...fanOut, startedAt: this.#now(), next: 0 }
    if (before) before.push(job)
    else this.#queues.set(queue, [job])
    this.#waiting++
    this.#waitingBytes += frames.all.length
    if (this.#isRunning) return
    this.#isRunning = true
    this.#nextTurn(() => this.#slice())
  }

  #slice(): void {
    const end = this.#now() + this.#sliceMs
    let isInTime = true
    while (isInTime && this.#queues.size > 0) {
      for (const [queue, jobs] of this.#queues) {
        isInTime = this.#turn(queue, jobs, end)
        if (!isInTime) break
      }
    }
    if (this.#queues.size > 0) this.#nextTurn(() => this.#slice())
    else this.#isRunning = false
    if (!this.isFull) for (const run of this.#forRoom.splice(0)) run()
  }

  /** @returns false when the time of the slice is over */
  #turn(queue: string, jobs: Job[], end: number): boolean {
    const job = jobs[0] as Job
    const { receivers, frames } = job
    const last = Math.min(job.next + writesPerTurn, receivers.length)
    let isInTime = true
    while (job.next < last && isInTime) {
      this.#write(receivers[job.next++] as Session, job)
      if (job.next % writesPerLook === 0) isInTime = this.#now() < end
    }
    const isEnded = job.next === receivers.length
    if (isEnded) jobs.shift()
    // The queue goes to the end of the round.
    this.#queues.delete(queue)
    if (jobs.length > 0) this.#queues.set(queue, jobs)
    if (!isEnded) return isInTime
    this.#waiting--
    this.#waitingBytes -= frames.all.length
    this.#end(job, job.startedAt)
    return isInTime && this.#now() < end
  }

  #end(fanOut: FanOut, startedAt: number): void {
    this.#observer.fannedOut(fanOut.receivers.length, (this.#now() - startedAt) / 1_000)
    fanOut.ended()
  }

  #write(session: Session, { frames: { all, own }, isTransient }: FanOut): void {
    const { link } = session
    if (session.phase === 'live' && !link.isBehind) {
      link.write(own?.get(session.userId) ?? all)
      return
    }
    if (isTransient) return
    session.hasMissed = true
    if (session.phase !== 'live') return
    session.phase = 'behind'
    this.#observer.skipped()
  }
}
