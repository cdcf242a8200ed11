/** The events of one endpoint in memory, in a queue for each key. */
import { type LoggedEvent, sizeOf } from '../../domain/events/logged-event.js'
import {
  type EventPosition,
  forced,
  type WaitingEvent,
} from '../../domain/webhooks/waiting/waiting-event.js'

interface KeyQueue {
  /** In order; empty while events wait in the database. */
  readonly ready: LoggedEvent[]
  /** In order; only the first may be sent. */
  readonly waiting: WaitingEvent[]
  isBusy: boolean
  /** Events at the front of the queue that are sent alone, since they failed in a batch. */
  alone: number
}

/** Events that wait for a replay. */
export interface ReplayedRange {
  /** "" = all. */
  readonly key: string
  /** Later events of the key wait until the replay is over. */
  readonly until: number
}

/** The content of one request. */
export type Load =
  | { readonly kind: 'events'; readonly events: readonly LoggedEvent[] }
  | { readonly kind: 'waiting'; readonly waiting: WaitingEvent }

/** Compares places in the order of the log. */
export function comparePositions(a: EventPosition, b: EventPosition): number {
  return a.position - b.position || a.place - b.place
}

/**
 * Ordered queues of events. A queue is busy while a request has events of it. Events that come
 * while others of their key wait in the database have to join them there.
 */
export class OrderedQueues {
  readonly #queues = new Map<string, KeyQueue>()
  /** Keys of free queues with something to send, the longest waiting first. */
  readonly #ready = new Set<string>()
  /** Keys of free queues with a first event that waits for its time. */
  readonly #resting = new Set<string>()
  /** Keys of free queues with a first event that waits for the replay. */
  readonly #held = new Set<string>()
  /** Events that have to be stored behind others of their key, in order. */
  #joining: LoggedEvent[] = []
  /** Keys of the joining events, those that are being stored included, with their numbers. */
  readonly #joiningKeys = new Map<string, number>()
  #replay: ReplayedRange | null = null
  #waiting = 0

  /** Number of keys with events. */
  get size(): number {
    return this.#queues.size
  }

  /** Number of keys with events that are being sent, or could be. */
  get active(): number {
    return this.#queues.size - this.#resting.size - this.#held.size
  }

  /** Number of events that wait in the database. */
  get waiting(): number {
    return this.#waiting
  }

  /** Number of events that have to be stored, and are not yet. */
  get joining(): number {
    return this.#joining.length
  }

  /** Tests whether a replay is not over. */
  get isReplaying(): boolean {
    return this.#replay !== null
  }

  /** Holds back the events after a replay. @param replay null: it is over */
  hold(replay: ReplayedRange | null): void {
    this.#replay = replay
    for (const key of this.#queues.keys()) this.#update(key)
  }

  /** Tests whether events of the key wait in the database, or are being stored there. */
  isBlocked(key: string): boolean {
    return (this.#queues.get(key)?.waiting.length ?? 0) > 0 || this.#joiningKeys.has(key)
  }

  /** Appends an event to its queue, or to the joining ones if its key is blocked. */
  push(event: LoggedEvent): void {
    if (this.isBlocked(event.key)) this.#join([event])
    else this.#queueOf(event.key).ready.push(event)
    this.#update(event.key)
  }

  /** Adds an event that waits in the database. Events of its key in memory have to join it. */
  wait(waiting: WaitingEvent): void {
    const { key } = waiting
    const queue = this.#queueOf(key)
    const after = queue.waiting.findLastIndex((each) => comparePositions(each, waiting) < 0)
    const next = queue.waiting[after + 1]
    // One that was read again, or is replayed, may wait already.
    const isNew = next === undefined || comparePositions(next, waiting) !== 0
    if (isNew) {
      queue.waiting.splice(after + 1, 0, waiting)
      this.#waiting++
    }
    queue.alone = 0
    this.#join(queue.ready.splice(0))
    this.#update(key)
  }

  /** Takes events to store. Their keys are blocked until {@link endJoining}. */
  takeJoining(max: number): LoggedEvent[] {
    return this.#joining.splice(0, max)
  }

  /** Frees the keys of events that were taken to be stored. */
  endJoining(events: readonly LoggedEvent[]): void {
    this.#countJoining(events, -1)
  }

  /** Removes an event that waited: it is delivered, dead or gone. */
  stopWaiting({ key, position, place }: EventPosition & { readonly key: string }): void {
    const queue = this.#queueOf(key)
    const index = queue.waiting.findIndex(
      (each) => each.position === position && each.place === place,
    )
    if (index >= 0) {
      queue.waiting.splice(index, 1)
      this.#waiting--
    }
    this.#update(key)
  }

  /**
   * Takes the content of the next request, and makes its queues busy. Each queue gives its events in
   * order.
   *
   * @param max events of a request, at most, and their bytes, which a single event may exceed; 0
   * events: only one that waits in the database
   * @returns null when nothing can be sent now
   */
  take(max: { readonly events: number; readonly bytes: number }): Load | null {
    const events: LoggedEvent[] = []
    let bytes = 0
    for (const key of this.#ready) {
      const queue = this.#queueOf(key)
      const [first] = queue.waiting
      if (first !== undefined) {
        if (events.length > 0) continue
        this.#setBusy(key, true)
        return { kind: 'waiting', waiting: first }
      }
      if (max.events === 0) continue
      if (queue.alone > 0) {
        if (events.length > 0) continue
        queue.alone--
        this.#setBusy(key, true)
        return { kind: 'events', events: queue.ready.splice(0, 1) }
      }
      for (const event of queue.ready.slice(0, max.events - events.length)) {
        if (max.events > 1) bytes += sizeOf(event)
        if (bytes > max.bytes && events.length > 0) return { kind: 'events', events }
        this.#setBusy(key, true)
        events.push(event)
        queue.ready.shift()
      }
      if (events.length >= max.events) break
    }
    return events.length === 0 ? null : { kind: 'events', events }
  }

  /** Makes queues ready when the time of their first event has come. */
  wake(now: number): void {
    for (const key of this.#resting)
      if ((this.#queueOf(key).waiting[0]?.nextAt ?? 0) <= now) {
        this.#resting.delete(key)
        this.#ready.add(key)
      }
  }

  /** Frees the queues of a request. */
  release(load: Load): void {
    const keys = load.kind === 'waiting' ? [load.waiting.key] : load.events.map(({ key }) => key)
    for (const key of new Set(keys)) this.#setBusy(key, false)
  }

  /** Puts the events of a request back at the front of their queues, to be sent alone. */
  putBack(events: readonly LoggedEvent[]): void {
    for (const event of events.toReversed()) {
      const queue = this.#queueOf(event.key)
      queue.ready.unshift(event)
      queue.alone++
    }
  }

  /** Forgets the events in memory; those in the database stay. */
  clear(): void {
    this.#countJoining(this.#joining, -1)
    this.#joining = []
    for (const [key, queue] of this.#queues) {
      queue.ready.length = 0
      queue.alone = 0
      this.#update(key)
    }
  }

  #join(events: readonly LoggedEvent[]): void {
    this.#joining.push(...events)
    this.#countJoining(events, 1)
  }

  #countJoining(events: readonly LoggedEvent[], change: 1 | -1): void {
    for (const { key } of events) {
      const count = (this.#joiningKeys.get(key) ?? 0) + change
      if (count === 0) this.#joiningKeys.delete(key)
      else this.#joiningKeys.set(key, count)
    }
  }

  #queueOf(key: string): KeyQueue {
    const known = this.#queues.get(key)
    if (known) return known
    const queue: KeyQueue = { ready: [], waiting: [], isBusy: false, alone: 0 }
    this.#queues.set(key, queue)
    return queue
  }

  #setBusy(key: string, isBusy: boolean): void {
    this.#queueOf(key).isBusy = isBusy
    this.#update(key)
  }

  #update(key: string): void {
    const { ready, waiting, isBusy } = this.#queueOf(key)
    const first = waiting[0] ?? ready[0]
    const isFree = first !== undefined && !isBusy
    const isHeld = isFree && this.#isAfterReplay(key, first)
    const isResting = (waiting[0]?.nextAt ?? 0) > forced
    setMember(this.#held, key, isHeld)
    setMember(this.#ready, key, isFree && !isHeld && !isResting)
    setMember(this.#resting, key, isFree && !isHeld && isResting)
    if (first === undefined && !isBusy) this.#queues.delete(key)
  }

  #isAfterReplay(key: string, { position }: EventPosition): boolean {
    const replay = this.#replay
    return replay !== null && position > replay.until && (replay.key === '' || replay.key === key)
  }
}

/** Adds a key, or removes it; an existing key keeps its place. */
function setMember(set: Set<string>, key: string, isMember: boolean): void {
  if (isMember) set.add(key)
  else set.delete(key)
}
