/** The events of one endpoint in memory, in a lane for each key. */
import { type LoggedEvent, sizeOf } from '../../domain/events/logged-event.js'
import {
  type EventPlace,
  forced,
  type WaitingPlace,
} from '../../domain/webhooks/waiting/waiting-event.js'

interface Lane {
  /** In order; empty while events wait in the database. */
  readonly queue: LoggedEvent[]
  /** In order; only the first may be sent. */
  readonly waiting: WaitingPlace[]
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
  | { readonly kind: 'waiting'; readonly waiting: WaitingPlace }

/** Compares places in the order of the log. */
export function comparePlaces(a: EventPlace, b: EventPlace): number {
  return a.position - b.position || a.place - b.place
}

/**
 * Lanes of events. A lane is busy while a request has events of it. Events that come while others of
 * their key wait in the database have to join them there.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()
  /** Keys of free lanes with something to send, the longest waiting first. */
  readonly #ready = new Set<string>()
  /** Keys of free lanes with a first event that waits for its time. */
  readonly #resting = new Set<string>()
  /** Keys of free lanes with a first event that waits for the replay. */
  readonly #held = new Set<string>()
  #replay: ReplayedRange | null = null
  #waiting = 0

  /** Number of keys with events. */
  get size(): number {
    return this.#lanes.size
  }

  /** Number of keys with events that are being sent, or could be. */
  get active(): number {
    return this.#lanes.size - this.#resting.size - this.#held.size
  }

  /** Number of events that wait in the database. */
  get waiting(): number {
    return this.#waiting
  }

  /** Tests whether a replay is not over. */
  get isReplaying(): boolean {
    return this.#replay !== null
  }

  /** Holds back the events after a replay. @param replay null: it is over */
  hold(replay: ReplayedRange | null): void {
    this.#replay = replay
    for (const key of this.#lanes.keys()) this.#update(key)
  }

  /** Tests whether events of the key wait in the database. */
  isBlocked(key: string): boolean {
    return (this.#lanes.get(key)?.waiting.length ?? 0) > 0
  }

  /** Appends an event to its lane, which is not blocked. */
  push(event: LoggedEvent): void {
    this.#lane(event.key).queue.push(event)
    this.#update(event.key)
  }

  /** Adds an event that waits in the database. @returns events of the key that have to join it */
  wait(waiting: WaitingPlace): LoggedEvent[] {
    const { key } = waiting
    const lane = this.#lane(key)
    const after = lane.waiting.findLastIndex((each) => comparePlaces(each, waiting) < 0)
    const next = lane.waiting[after + 1]
    // One that was read again, or is replayed, may wait already.
    const isNew = next === undefined || comparePlaces(next, waiting) !== 0
    if (isNew) {
      lane.waiting.splice(after + 1, 0, waiting)
      this.#waiting++
    }
    lane.alone = 0
    const joining = lane.queue.splice(0)
    this.#update(key)
    return joining
  }

  /** Removes an event that waited: it is delivered, dead or gone. */
  stopWaiting({ key, position, place }: EventPlace & { readonly key: string }): void {
    const lane = this.#lane(key)
    const index = lane.waiting.findIndex(
      (each) => each.position === position && each.place === place,
    )
    if (index >= 0) {
      lane.waiting.splice(index, 1)
      this.#waiting--
    }
    this.#update(key)
  }

  /**
   * Takes the content of the next request, and makes its lanes busy. Each lane gives its events in
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
      const lane = this.#lane(key)
      const [first] = lane.waiting
      if (first !== undefined) {
        if (events.length > 0) continue
        this.#setBusy(key, true)
        return { kind: 'waiting', waiting: first }
      }
      if (max.events === 0) continue
      if (lane.alone > 0) {
        if (events.length > 0) continue
        lane.alone--
        this.#setBusy(key, true)
        return { kind: 'events', events: lane.queue.splice(0, 1) }
      }
      for (const event of lane.queue.slice(0, max.events - events.length)) {
        if (max.events > 1) bytes += sizeOf(event)
        if (bytes > max.bytes && events.length > 0) return { kind: 'events', events }
        this.#setBusy(key, true)
        events.push(event)
        lane.queue.shift()
      }
      if (events.length >= max.events) break
    }
    return events.length === 0 ? null : { kind: 'events', events }
  }

  /** Makes lanes ready when the time of their first event has come. */
  wake(now: number): void {
    for (const key of this.#resting)
      if ((this.#lane(key).waiting[0]?.nextAt ?? 0) <= now) {
        this.#resting.delete(key)
        this.#ready.add(key)
      }
  }

  /** Frees the lanes of a request. */
  release(load: Load): void {
    const keys = load.kind === 'waiting' ? [load.waiting.key] : load.events.map(({ key }) => key)
    for (const key of new Set(keys)) this.#setBusy(key, false)
  }

  /** Puts the events of a request back at the front of their lanes, to be sent alone. */
  putBack(events: readonly LoggedEvent[]): void {
    for (const event of events.toReversed()) {
      const lane = this.#lane(event.key)
      lane.queue.unshift(event)
      lane.alone++
    }
  }

  /** Forgets the events in memory; those in the database stay. */
  clear(): void {
    for (const [key, lane] of this.#lanes) {
      lane.queue.length = 0
      lane.alone = 0
      this.#update(key)
    }
  }

  #lane(key: string): Lane {
    const known = this.#lanes.get(key)
    if (known) return known
    const lane: Lane = { queue: [], waiting: [], isBusy: false, alone: 0 }
    this.#lanes.set(key, lane)
    return lane
  }

  #setBusy(key: string, isBusy: boolean): void {
    this.#lane(key).isBusy = isBusy
    this.#update(key)
  }

  #update(key: string): void {
    const { queue, waiting, isBusy } = this.#lane(key)
    const first = waiting[0] ?? queue[0]
    const isFree = first !== undefined && !isBusy
    const isHeld = isFree && this.#isAfterReplay(key, first)
    const isResting = (waiting[0]?.nextAt ?? 0) > forced
    setMember(this.#held, key, isHeld)
    setMember(this.#ready, key, isFree && !isHeld && !isResting)
    setMember(this.#resting, key, isFree && !isHeld && isResting)
    if (first === undefined && !isBusy) this.#lanes.delete(key)
  }

  #isAfterReplay(key: string, { position }: EventPlace): boolean {
    const replay = this.#replay
    return replay !== null && position > replay.until && (replay.key === '' || replay.key === key)
  }
}

/** Adds a key, or removes it; one that is there keeps its place. */
function setMember(set: Set<string>, key: string, isMember: boolean): void {
  if (isMember) set.add(key)
  else set.delete(key)
}
