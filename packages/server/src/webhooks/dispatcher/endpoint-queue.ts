import { type LoggedEvent, sizeOf } from '../../domain/events/logged-event.js'
import type { EndpointHealth } from '../../domain/webhooks/endpoints/endpoint-model.js'
import {
  type EventPosition,
  type FailedAttempt,
  forced,
  joinedAttempt,
  maxWaiting,
  replayed,
  rowsForReplay,
  type WaitingEvent,
  waitingEvent,
} from '../../domain/webhooks/waiting/waiting-event.js'
import type { SendResult } from '../../domain/webhooks/webhook-sender.js'
import {
  afterRequest,
  type HealthState,
  isDown,
  requestBounds,
  startingHealth,
} from './endpoint-health.js'
import type { MemoryBudget } from './memory-budget.js'
import { type Load, OrderedQueues, type ReplayedRange } from './ordered-queues.js'
import { askedPause, eventDelay, maxRefusals, type Random } from './retry-rules.js'

/** Stored state of an endpoint when its queue starts. */
export interface QueueState {
  /** Everything up to it is delivered, waits, or is dead. */
  readonly position: number
  readonly health: EndpointHealth
  /** In the order of the log. */
  readonly waiting: readonly WaitingEvent[]
  /** Dead events after the position. */
  readonly dead: readonly EventPosition[]
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

interface QueueOptions {
  readonly concurrency: number
  readonly batchSize: number
  /** Current time, milliseconds since 1970. */
  readonly now: () => number
  readonly random: Random
  /** The events in memory of all endpoints of this node. */
  readonly budget: MemoryBudget
  /**
   * Sends one request. Rejects for failures of the database, and when the queue stops.
   * @returns null when none of the events is left to send
   */
  send(events: readonly LoggedEvent[], attempt: number): Promise<Sent | null>
  /** Notes a request. @param nextAt time of the next attempt, milliseconds since 1970; 0: none */
  sent(sent: Sent, nextAt: number): void
  /** Stores events that wait, or are dead; one that is stored already stays as it is. */
  add(events: readonly LoggedEvent[], attempt: FailedAttempt): Promise<void>
  /** Reads the content of a waiting event; null: it is gone, such as a recalled message. */
  read(place: EventPosition): Promise<LoggedEvent | null>
  update(place: EventPosition, attempt: FailedAttempt): Promise<void>
  remove(place: EventPosition): Promise<void>
  /** The endpoint has to be disabled; the queue sends nothing more. */
  disable(reason: 'gone' | 'failing'): void
  /** The queue was full, and takes events again. */
  drained(): void
  /** The database failed. The queue pauses, and continues at a {@link EndpointQueue.tick} after that. */
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

/**
 * Delivers the events of one endpoint in the order of their keys. It decides what is sent when, and
 * what waits in the database.
 */
export class EndpointQueue {
  readonly #queues = new OrderedQueues()
  /** Events that were read and are neither delivered nor stored, in the order of the log. */
  readonly #outstanding = new Map<string, LoggedEvent>()
  /** Bytes of the outstanding events. */
  #bytes = 0
  /** Events after the position that need nothing more. */
  readonly #handled = new Map<string, EventPosition>()
  #pruneAt = maxEvents
  #isJoining = false
  #readTo: number
  #inFlight = 0
  /** Events in flight or being stored, each of which may become a waiting one. */
  #reserved = 0
  #isFull = false
  /** A full queue takes events again when it has at most this number. */
  #resumeAt = lowWater
  #pausedUntil = 0
  #isEnding = false
  #isStopped = false
  /** Requests and storing in progress. */
  readonly #work = new Set<Promise<void>>()
  /** Grows whenever the events in memory are forgotten. */
  #generation = 0
  #health: HealthState

  constructor(
    { position, health, waiting, dead }: QueueState,
    private readonly options: QueueOptions,
  ) {
    this.#readTo = position
    this.#health = startingHealth(health)
    for (const event of waiting) this.#queues.wait(event)
    for (const place of [...waiting, ...dead])
      if (place.position > position) this.#handled.set(idOf(place), place)
  }

  get health(): EndpointHealth {
    return this.#health.stored
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
    return this.#queues.waiting
  }

  /** Tests whether the queue has ended. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Number of events of a replay that may be stored now. */
  get replayRoom(): number {
    return maxWaiting - this.#queues.waiting - this.#reserved
  }

  /** Tests whether the queue takes more events now. */
  get wantsEvents(): boolean {
    const isOverfull = this.#room <= this.#queues.joining
    return !(this.#isEnding || this.#isAtRest || this.#isFull || isOverfull)
  }

  /** Number of new events that may be stored as waiting ones. */
  get #room(): number {
    return this.replayRoom - (this.#queues.isReplaying ? rowsForReplay : 0)
  }

  /** Tests whether there is nothing to do without new events. */
  get isIdle(): boolean {
    return this.#queues.size === 0 && this.#inFlight === 0 && this.health.failures === 0
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
      this.#queues.push(event)
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

  /** Holds back the events after a replay. @param replay null: it is over */
  hold(replay: ReplayedRange | null): void {
    this.#queues.hold(replay)
    this.#run()
  }

  /** Stores events of a replay as waiting ones, for which there is {@link replayRoom}. */
  async replay(events: readonly LoggedEvent[]): Promise<void> {
    await this.#keepWaiting(events, replayed)
    this.#run()
  }

  /** Continues with what is due by now. */
  tick(): void {
    this.#queues.wake(this.options.now())
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
    const now = this.options.now()
    return isDown(this.health, now) || this.#pausedUntil > now
  }

  #run(): void {
    if (this.#queues.joining > 0 && !this.#isJoining && this.#room > 0)
      this.#track(this.#storeJoining())
    const bounds = requestBounds(this.health, this.options)
    while (!this.#isEnding && !this.#isAtRest && this.#inFlight < bounds.requests) {
      // Each event of the request may have to wait.
      const events = Math.min(bounds.events, Math.max(this.#room, 0))
      const load = this.#queues.take({ events, bytes: maxRequestBytes })
      if (load === null) return
      this.#inFlight++
      this.#reserved += reservedFor(load)
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
      this.#reserved -= reservedFor(load)
      this.#queues.release(load)
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
    const isUp = isOld || this.#count(result, events[0]?.key ?? '')
    if (isOld || !isUp || outcome === 'delivered')
      return this.options.sent(sent, outcome === 'delivered' ? 0 : this.#nextTryAt)
    if (events.length > 1 && (outcome === 'refused' || result.retryAfterMs === null)) {
      this.options.sent(sent, this.options.now())
      // Later events of a key that a replay has blocked wait in the database; these come before them.
      const isBlocked = ({ key }: LoggedEvent) => this.#queues.isBlocked(key)
      this.#queues.putBack(events.filter((event) => !isBlocked(event)))
      return this.#keepWaiting(events.filter(isBlocked), joinedAttempt)
    }
    const attempt = this.#failedAttempt(result, joinedAttempt)
    this.options.sent(sent, attempt.nextAt)
    const isFirst = ({ key }: LoggedEvent, index: number) =>
      events.findIndex((event) => event.key === key) === index
    await this.#keepWaiting(events.filter(isFirst), attempt)
    await this.#keepWaiting(
      events.filter((event, index) => !isFirst(event, index)),
      joinedAttempt,
    )
  }

  /** Stores events that wait, or are dead. */
  async #keepWaiting(events: readonly LoggedEvent[], attempt: FailedAttempt): Promise<void> {
    if (events.length === 0) return
    this.#reserved += events.length
    try {
      await this.options.add(events, attempt)
    } finally {
      this.#reserved -= events.length
    }
    for (const event of events) {
      this.#handle(event)
      if (!attempt.isDead) this.#queues.wait(waitingEvent(event, attempt))
    }
  }

  async #sendWaiting(waiting: WaitingEvent): Promise<void> {
    const event = await this.options.read(waiting)
    const sent = event === null ? null : await this.options.send([event], waiting.attempts + 1)
    if (this.#isStopped) return
    const isUp = sent === null || this.#count(sent.result, waiting.key)
    if (sent === null || sent.result.outcome === 'delivered') {
      if (sent !== null) this.options.sent(sent, 0)
      await this.options.remove(waiting)
      return this.#queues.stopWaiting(waiting)
    }
    // An endpoint that is down says nothing about the event.
    if (!isUp) return this.options.sent(sent, this.#nextTryAt)
    const attempt = this.#failedAttempt(sent.result, waiting)
    this.options.sent(sent, attempt.nextAt)
    await this.options.update(waiting, attempt)
    this.#queues.stopWaiting(waiting)
    if (!attempt.isDead) this.#queues.wait(waitingEvent(waiting, attempt))
  }

  /** The end of the back-off; 0 for an endpoint that is disabled. */
  get #nextTryAt(): number {
    return this.#isStopped ? 0 : this.health.retryAt
  }

  /** Counts a result. @returns false when it makes the endpoint down or disabled */
  #count(result: SendResult, key: string): boolean {
    const { now, random } = this.options
    const change = { result, key, active: this.#queues.active, now: now(), random }
    const { state, verdict } = afterRequest(this.#health, change)
    this.#health = state
    if (verdict === 'down') this.#forget()
    if (verdict === 'gone' || verdict === 'failing') {
      this.stop()
      this.options.disable(verdict)
    }
    return verdict === 'up'
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
    this.#queues.clear()
    this.#isFull = false
  }

  #hold(bytes: number): void {
    if (this.#isStopped) return
    this.#bytes += bytes
    this.options.budget.hold(bytes)
  }

  /** @param before the event before the attempt */
  #failedAttempt(
    { outcome, status, error, retryAfterMs }: SendResult,
    before: Pick<WaitingEvent, 'attempts' | 'nextAt' | 'retryAfter'>,
  ): FailedAttempt {
    const attempts = before.nextAt === forced ? before.attempts : before.attempts + 1
    const isRefused = outcome === 'refused'
    const isDead = isRefused && attempts >= maxRefusals
    const retryAfter =
      isRefused || retryAfterMs === null ? undefined : askedPause(retryAfterMs, before.retryAfter)
    const pause = retryAfter?.pauseMs ?? eventDelay(attempts, this.options.random)
    const nextAt = isDead ? 0 : this.options.now() + pause
    return { attempts, nextAt, isDead, status, error, retryAfter }
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

  /** Tests whether a full queue takes events again. */
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

  /** Stores events whose keys are blocked, a part at a time. */
  async #storeJoining(): Promise<void> {
    if (this.#isStopped) return
    this.#isJoining = true
    const events = this.#queues.takeJoining(Math.min(lowWater, this.#room))
    try {
      await this.#keepWaiting(events, joinedAttempt)
    } catch (error) {
      if (!this.#isStopped) this.#pause(error)
      return
    } finally {
      this.#isJoining = false
      this.#queues.endJoining(events)
    }
    this.#run()
  }
}

/** Returns the number of events of a request that may have to wait, and do not yet. */
function reservedFor(load: Load): number {
  return load.kind === 'events' ? load.events.length : 0
}

function idOf({ position, place }: EventPosition): string {
  return `${position}.${place}`
}
