import { type LoggedEvent, sizeOf } from '../../domain/events/logged-event.js'
import type { EndpointHealth } from '../../domain/webhooks/endpoints/endpoint-model.js'
import {
  type EventPlace,
  type FailedAttempt,
  joined,
  maxWaiting,
  type WaitingPlace,
  waitingPlace,
} from '../../domain/webhooks/waiting/waiting-event.js'
import type { SendResult } from '../sender.js'
import { Lanes, type Load } from './lanes.js'
import type { MemoryBudget } from './memory-budget.js'
import { endpointDelay, eventDelay, maxFailingMs, maxRefusals, type Random } from './retry-rules.js'

/** Stored state of an endpoint when its runner starts. */
export interface RunnerState {
  /** Everything up to it is delivered, waits, or is dead. */
  readonly position: number
  readonly health: EndpointHealth
  /** In the order of the log. */
  readonly waiting: readonly WaitingPlace[]
  /** Dead events after the position. */
  readonly dead: readonly EventPlace[]
}

/** A request with its result. */
export interface Sent {
  readonly result: SendResult
  /** Those that were sent; others are gone. */
  readonly events: readonly LoggedEvent[]
  /** Number of the attempt for the first event, from 1. */
  readonly attempt: number
  /** Milliseconds since 1970. */
  readonly at: number
}

export interface RunnerOptions {
  readonly concurrency: number
  readonly batchSize: number
  /** Current time, milliseconds since 1970. */
  readonly now: () => number
  readonly random: Random
  /** The events in memory of all endpoints of this node. */
  readonly budget: MemoryBudget
  /**
   * Sends one request. Rejects for failures of the database, and when the runner stops.
   * @returns null when none of the events is left to send
   */
  send(events: readonly LoggedEvent[], attempt: number): Promise<Sent | null>
  /** Notes a request. @param nextAt time of the next attempt, milliseconds since 1970; 0: none */
  sent(sent: Sent, nextAt: number): void
  /** Stores events that wait, or are dead; one that is stored already stays as it is. */
  add(events: readonly LoggedEvent[], attempt: FailedAttempt): Promise<void>
  /** Reads the content of a waiting event; null: it is gone, such as a recalled message. */
  read(place: EventPlace): Promise<LoggedEvent | null>
  update(place: EventPlace, attempt: FailedAttempt): Promise<void>
  remove(place: EventPlace): Promise<void>
  /** The endpoint has to be disabled; the runner sends nothing more. */
  disable(reason: 'gone' | 'failing'): void
  /** The runner was full, and takes events again. */
  drained(): void
  /** The database failed. The runner pauses, and continues at a {@link EndpointRunner.tick} after that. */
  failed(error: unknown): void
}

const maxEvents = 1_000
const lowWater = maxEvents / 2
/** Bytes of the events in memory; a page may exceed them. */
const maxBytes = 8 * 1024 * 1024
/** Bytes of the events of a request of more than one. */
const maxRequestBytes = 1024 * 1024
/** Pause after a failure of the database. */
const pauseMs = 1_000
/** Shortest pause of an endpoint that is down, whatever Retry-After states. */
const minPauseMs = 1_000
/** Requests that must fail in a row before the endpoint counts as down, if so many keys are active. */
const failingLanes = 3

/**
 * Delivers the events of one endpoint in the order of their keys. It decides what is sent when, what
 * waits in the database, and when the endpoint is down.
 */
export class EndpointRunner {
  readonly #lanes = new Lanes()
  /** Events that were read and are neither delivered nor stored, in the order of the log. */
  readonly #outstanding = new Map<string, LoggedEvent>()
  /** Bytes of the outstanding events. */
  #bytes = 0
  /** Events after the position that need nothing more. */
  readonly #handled = new Map<string, EventPlace>()
  #pruneAt = maxEvents
  #joining: LoggedEvent[] = []
  /** Keys of the joining events, those that are being stored included, with their numbers. */
  readonly #joiningKeys = new Map<string, number>()
  #isJoining = false
  #readTo: number
  #inFlight = 0
  /** Failures of requests since the last answer. */
  #failuresInRow = 0
  #isFull = false
  /** A full runner takes events again when it has at most so many. */
  #resumeAt = lowWater
  #pausedUntil = 0
  #isEnding = false
  #isStopped = false
  /** Requests and storing in progress. */
  readonly #work = new Set<Promise<void>>()
  /** Grows whenever the events in memory are forgotten. */
  #generation = 0
  #health: EndpointHealth

  constructor(
    { position, health, waiting, dead }: RunnerState,
    private readonly options: RunnerOptions,
  ) {
    this.#readTo = position
    this.#health = health
    for (const event of waiting) this.#lanes.wait(event)
    for (const place of [...waiting, ...dead])
      if (place.position > position) this.#handled.set(idOf(place), place)
  }

  get health(): EndpointHealth {
    return this.#health
  }

  /** Position up to which every event is delivered, waits in the database, or is dead. */
  get position(): number {
    const [first] = this.#outstanding.values()
    return first === undefined ? this.#readTo : first.position - 1
  }

  /** Position after which the reader has to go on. */
  get readTo(): number {
    return this.#readTo
  }

  /** Number of events that wait in the database. */
  get waiting(): number {
    return this.#lanes.waiting
  }

  /** Tests whether the runner has ended. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Tests whether the runner takes more events now. */
  get wantsEvents(): boolean {
    const isOverfull = this.#lanes.waiting + this.#joining.length >= maxWaiting
    return !(this.#isEnding || this.#isAtRest || this.#isFull || isOverfull)
  }

  /** Tests whether there is nothing to do without new events. */
  get isIdle(): boolean {
    return this.#lanes.size === 0 && this.#inFlight === 0 && this.#health.failures === 0
  }

  /**
   * Takes events of the log, in order and without gaps.
   * @param readTo position of the last row that was read
   */
  offer(events: readonly LoggedEvent[], readTo: number): void {
    if (this.#isEnding || this.#isAtRest) return
    for (const event of events) {
      if (this.#handled.has(idOf(event))) continue
      this.#outstanding.set(idOf(event), event)
      this.#hold(sizeOf(event))
      if (this.#lanes.isBlocked(event.key) || this.#joiningKeys.has(event.key)) this.#join([event])
      else this.#lanes.push(event)
    }
    this.#readTo = readTo
    // The receiver knows what is missing before it gets anything that follows.
    const hasMissed = events.some(({ kind }) => kind === 'events.missed')
    const isFull =
      hasMissed ||
      this.#outstanding.size >= maxEvents ||
      this.#bytes >= maxBytes ||
      this.options.budget.isSpent
    this.#resumeAt = hasMissed ? 0 : lowWater
    this.#isFull = this.#outstanding.size > 0 && isFull
    this.#run()
  }

  /** Takes events that were stored as waiting by a replay. */
  adopt(waiting: readonly WaitingPlace[]): void {
    for (const event of waiting) this.#join(this.#lanes.wait(event))
    this.#run()
  }

  /** Goes on with what is due by now. */
  tick(): void {
    this.#lanes.wake(this.options.now())
    this.#run()
  }

  /** Begins no more requests. Resolves when those in flight have ended and their results are stored. */
  async drain(): Promise<void> {
    this.#isEnding = true
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  /** Sends nothing more; results that still arrive change nothing. */
  stop(): void {
    if (this.#isStopped) return
    this.#hold(-this.#bytes)
    this.#isEnding = true
    this.#isStopped = true
  }

  /** Tests whether the endpoint is down, or the database has failed a moment ago. */
  get #isAtRest(): boolean {
    return this.#isDown || this.#pausedUntil > this.options.now()
  }

  get #isDown(): boolean {
    return this.#health.retryAt > this.options.now()
  }

  /** Tests whether the endpoint has not answered since a back-off; a few requests then show whether it is up. */
  get #isProbing(): boolean {
    return this.#health.failures > 0
  }

  #run(): void {
    if (this.#joining.length > 0 && !this.#isJoining) this.#track(this.#storeJoining())
    const { concurrency, batchSize } = this.options
    const limit = this.#isProbing ? Math.min(failingLanes, concurrency) : concurrency
    const most = { events: this.#isProbing ? 1 : batchSize, bytes: maxRequestBytes }
    while (!this.#isEnding && !this.#isAtRest && this.#inFlight < limit) {
      const load = this.#lanes.take(most)
      if (load === null) return
      this.#inFlight++
      this.#track(this.#send(load))
    }
  }

  #track(work: Promise<void>): void {
    this.#work.add(work)
    void work.finally(() => this.#work.delete(work))
  }

  async #send(load: Load): Promise<void> {
    try {
      if (load.kind === 'events') await this.#sendEvents(load.events)
      else await this.#sendWaiting(load.waiting)
    } catch (error) {
      if (!this.#isStopped) this.#pause(error)
    } finally {
      this.#inFlight--
      this.#lanes.release(load)
      if (!this.#isStopped) this.#run()
    }
  }

  async #sendEvents(events: readonly LoggedEvent[]): Promise<void> {
    const generation = this.#generation
    const sent = await this.options.send(events, 1)
    if (this.#isStopped) return
    const outcome = sent?.result.outcome ?? 'delivered'
    if (outcome === 'delivered') for (const event of events) this.#handle(event)
    if (sent === null) return
    const { result } = sent
    // The events of an older request are read again.
    const isOld = generation !== this.#generation
    const isUp = isOld || this.#note(result)
    if (isOld || !isUp || outcome === 'delivered')
      return this.options.sent(sent, outcome === 'delivered' ? 0 : this.#nextTryAt)
    const [first] = events
    if (first === undefined || events.length > 1) {
      this.options.sent(sent, this.options.now())
      // Later events of a key that a replay has blocked wait in the database; these come before them.
      const isBlocked = ({ key }: LoggedEvent) => this.#lanes.isBlocked(key)
      this.#lanes.putBack(events.filter((event) => !isBlocked(event)))
      return this.#keepWaiting(events.filter(isBlocked), joined)
    }
    const attempt = this.#failedAttempt(result, 1)
    this.options.sent(sent, attempt.nextAt)
    await this.#keepWaiting([first], attempt)
  }

  /** Stores events that wait, or are dead. */
  async #keepWaiting(events: readonly LoggedEvent[], attempt: FailedAttempt): Promise<void> {
    if (events.length > 0) await this.options.add(events, attempt)
    for (const event of events) {
      this.#handle(event)
      if (!attempt.isDead) this.#join(this.#lanes.wait(waitingPlace(event, attempt)))
    }
  }

  async #sendWaiting(waiting: WaitingPlace): Promise<void> {
    const event = await this.options.read(waiting)
    const attempts = waiting.attempts + 1
    const sent = event === null ? null : await this.options.send([event], attempts)
    if (this.#isStopped) return
    const isUp = sent === null || this.#note(sent.result)
    if (sent === null || sent.result.outcome === 'delivered') {
      if (sent !== null) this.options.sent(sent, 0)
      await this.options.remove(waiting)
      return this.#lanes.stopWaiting(waiting)
    }
    // An endpoint that is down says nothing about the event.
    if (!isUp) return this.options.sent(sent, this.#nextTryAt)
    const attempt = this.#failedAttempt(sent.result, attempts)
    this.options.sent(sent, attempt.nextAt)
    await this.options.update(waiting, attempt)
    this.#lanes.stopWaiting(waiting)
    if (!attempt.isDead) this.#join(this.#lanes.wait(waitingPlace(waiting, attempt)))
  }

  /** The end of the back-off; 0 for an endpoint that is disabled. */
  get #nextTryAt(): number {
    return this.#isStopped ? 0 : this.#health.retryAt
  }

  /** Notes a result. @returns false when it makes the endpoint down or disabled */
  #note(result: SendResult): boolean {
    const now = this.options.now()
    if (result.outcome === 'delivered') {
      this.#failuresInRow = 0
      this.#health = { failingSince: 0, failures: 0, retryAt: 0, lastSuccessAt: now }
      return true
    }
    const failingSince = this.#health.failingSince || now
    this.#health = { ...this.#health, failingSince }
    if (result.outcome === 'gone') return this.#disable('gone')
    if (now - failingSince >= maxFailingMs) return this.#disable('failing')
    if (result.outcome === 'refused') {
      this.#failuresInRow = 0
      this.#health = { ...this.#health, failures: 0, retryAt: 0 }
      return true
    }
    this.#failuresInRow++
    const isDown = this.#failuresInRow >= Math.min(failingLanes, this.#lanes.active)
    if (isDown || result.retryAfterMs !== null) this.#goDown(now, result.retryAfterMs)
    return !isDown && result.retryAfterMs === null
  }

  #goDown(now: number, retryAfterMs: number | null): void {
    // Requests that were sent before it was down tell nothing new.
    if (this.#isDown) return
    const failures = retryAfterMs === null ? this.#health.failures + 1 : this.#health.failures || 1
    const isDoubtful = this.#failuresInRow < failingLanes
    const delay = endpointDelay(failures, { isDoubtful, random: this.options.random })
    const pause = Math.max(retryAfterMs ?? delay, minPauseMs)
    this.#health = { ...this.#health, failures, retryAt: now + pause }
    this.#failuresInRow = 0
    this.#forget()
  }

  /** The database failed, which says nothing about the endpoint. */
  #pause(error: unknown): void {
    this.options.failed(error)
    this.#pausedUntil = this.options.now() + pauseMs
    this.#forget()
  }

  /** Forgets the events in memory; they are read again from the position. */
  #forget(): void {
    this.#generation++
    this.#readTo = this.position
    this.#outstanding.clear()
    this.#hold(-this.#bytes)
    this.#countJoining(this.#joining, -1)
    this.#joining = []
    this.#lanes.clear()
    this.#isFull = false
  }

  #hold(bytes: number): void {
    if (this.#isStopped) return
    this.#bytes += bytes
    this.options.budget.hold(bytes)
  }

  #disable(reason: 'gone' | 'failing'): false {
    this.stop()
    this.options.disable(reason)
    return false
  }

  #failedAttempt({ outcome, status, error }: SendResult, attempts: number): FailedAttempt {
    const isDead = outcome === 'refused' && attempts >= maxRefusals
    const nextAt = isDead ? 0 : this.options.now() + eventDelay(attempts, this.options.random)
    return { attempts, nextAt, isDead, status, error }
  }

  /** An event needs nothing more of the reader. */
  #handle(event: LoggedEvent): void {
    const { position, place } = event
    const outstanding = this.#outstanding.get(idOf(event))
    if (outstanding) this.#hold(-sizeOf(outstanding))
    this.#outstanding.delete(idOf(event))
    this.#handled.set(idOf(event), { position, place })
    if (this.#handled.size >= this.#pruneAt) this.#prune()
    if (!this.#isFull || !this.#hasRoom) return
    this.#isFull = false
    this.options.drained()
  }

  /** Tests whether a full runner takes events again. */
  get #hasRoom(): boolean {
    const { size } = this.#outstanding
    const isBelow = this.#bytes <= maxBytes / 2 && !this.options.budget.isSpent
    return size === 0 || (size <= this.#resumeAt && isBelow)
  }

  #prune(): void {
    const { position } = this
    for (const [id, place] of this.#handled)
      if (place.position <= position) this.#handled.delete(id)
    this.#pruneAt = Math.max(maxEvents, 2 * this.#handled.size)
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

  /** Stores events whose keys are blocked, a part at a time. */
  async #storeJoining(): Promise<void> {
    if (this.#isStopped) return
    this.#isJoining = true
    const events = this.#joining.splice(0, lowWater)
    try {
      await this.#keepWaiting(events, joined)
    } catch (error) {
      if (!this.#isStopped) this.#pause(error)
      return
    } finally {
      this.#isJoining = false
      this.#countJoining(events, -1)
    }
    this.#run()
  }
}

function idOf({ position, place }: EventPlace): string {
  return `${position}.${place}`
}
