import type { LoggedEvent } from '../../domain/events/logged-event.js'
import type { EndpointHealth } from '../../domain/webhooks/endpoints/endpoint-model.js'
import {
  type EventPlace,
  type FailedAttempt,
  joined,
  maxWaiting,
  type WaitingPlace,
} from '../../domain/webhooks/waiting/waiting-event.js'
import type { SendResult } from '../sender.js'
import { Lanes, type Load } from './lanes.js'
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

export interface RunnerOptions {
  readonly concurrency: number
  readonly batchSize: number
  /** Current time, milliseconds since 1970. */
  readonly now: () => number
  readonly random: Random
  /** Sends one request. Rejects only for bugs and when the runner stops. */
  send(events: readonly LoggedEvent[], attempt: number): Promise<SendResult>
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
  /** Storing failed; the runner tries again at the next {@link EndpointRunner.tick}. */
  failed(error: unknown): void
}

const maxEvents = 1_000
const lowWater = maxEvents / 2
/** Requests that must fail in a row before the endpoint counts as down, if so many keys are active. */
const failingLanes = 3

/**
 * Delivers the events of one endpoint in the order of their keys. It decides what is sent when, what
 * waits in the database, and when the endpoint is down.
 */
export class EndpointRunner {
  readonly #lanes = new Lanes()
  /** Events that were read and are neither delivered nor stored, in the order of the log. */
  readonly #outstanding = new Map<string, EventPlace>()
  /** Events after the position that need nothing more. */
  readonly #handled = new Map<string, EventPlace>()
  #pruneAt = maxEvents
  #joining: LoggedEvent[] = []
  #isJoining = false
  #readTo: number
  #inFlight = 0
  /** Failures of requests since the last answer. */
  #failuresInRow = 0
  #isFull = false
  #isStopped = false
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
    return !(this.#isStopped || this.#isDown || this.#isFull || isOverfull)
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
    if (this.#isStopped || this.#isDown) return
    for (const event of events) {
      if (this.#handled.has(idOf(event))) continue
      this.#outstanding.set(idOf(event), event)
      if (this.#lanes.isBlocked(event.key)) this.#joining.push(event)
      else this.#lanes.push(event)
    }
    this.#readTo = readTo
    this.#isFull = this.#outstanding.size >= maxEvents
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

  /** Sends nothing more; results that still arrive change nothing. */
  stop(): void {
    this.#isStopped = true
  }

  get #isDown(): boolean {
    return this.#health.retryAt > this.options.now()
  }

  /** Until the first answer after a back-off, a few requests show whether the endpoint is up. */
  get #isProbing(): boolean {
    return this.#health.failures > 0
  }

  #run(): void {
    void this.#storeJoining()
    const { concurrency, batchSize } = this.options
    const limit = this.#isProbing ? Math.min(failingLanes, concurrency) : concurrency
    while (!this.#isStopped && !this.#isDown && this.#inFlight < limit) {
      const load = this.#lanes.take(this.#isProbing ? 1 : batchSize)
      if (load === null) return
      this.#inFlight++
      void this.#send(load)
    }
  }

  async #send(load: Load): Promise<void> {
    try {
      if (load.kind === 'events') await this.#sendEvents(load.events)
      else await this.#sendWaiting(load.waiting)
    } catch (error) {
      if (!this.#isStopped) this.options.failed(error)
      // Events of the request that are in memory are read again from the position.
      this.#goDown(this.options.now(), null)
    } finally {
      this.#inFlight--
      this.#lanes.release(load)
      if (!this.#isStopped) this.#run()
    }
  }

  async #sendEvents(events: readonly LoggedEvent[]): Promise<void> {
    const generation = this.#generation
    const result = await this.options.send(events, 1)
    if (this.#isStopped) return
    if (result.outcome === 'delivered') for (const event of events) this.#handle(event)
    // The events of an older request are read again.
    const isOld = generation !== this.#generation
    if (isOld || !this.#note(result) || result.outcome === 'delivered') return
    const [first] = events
    if (first === undefined || events.length > 1) return this.#lanes.putBack(events)
    const attempt = this.#failedAttempt(result, 1)
    await this.options.add([first], attempt)
    this.#handle(first)
    if (!attempt.isDead) this.#join(this.#lanes.wait(waitingPlace(first, attempt)))
  }

  async #sendWaiting(waiting: WaitingPlace): Promise<void> {
    const event = await this.options.read(waiting)
    const attempts = waiting.attempts + 1
    const result = event === null ? null : await this.options.send([event], attempts)
    if (this.#isStopped) return
    const isUp = result === null || this.#note(result)
    if (result === null || result.outcome === 'delivered') {
      await this.options.remove(waiting)
      return this.#lanes.stopWaiting(waiting)
    }
    // An endpoint that is down says nothing about the event.
    if (!isUp) return
    const attempt = this.#failedAttempt(result, attempts)
    await this.options.update(waiting, attempt)
    this.#lanes.stopWaiting(waiting)
    if (!attempt.isDead) this.#join(this.#lanes.wait(waitingPlace(waiting, attempt)))
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
    this.#health = { ...this.#health, failures, retryAt: now + (retryAfterMs ?? delay) }
    this.#failuresInRow = 0
    this.#generation++
    this.#readTo = this.position
    this.#outstanding.clear()
    this.#joining = []
    this.#lanes.clear()
    this.#isFull = false
  }

  #disable(reason: 'gone' | 'failing'): false {
    this.#isStopped = true
    this.options.disable(reason)
    return false
  }

  #failedAttempt({ outcome, status, error }: SendResult, attempts: number): FailedAttempt {
    const isDead = outcome === 'refused' && attempts >= maxRefusals
    const nextAt = isDead ? 0 : this.options.now() + eventDelay(attempts, this.options.random)
    return { attempts, nextAt, isDead, status, error }
  }

  /** An event needs nothing more of the reader. */
  #handle(event: EventPlace): void {
    this.#outstanding.delete(idOf(event))
    this.#handled.set(idOf(event), event)
    if (this.#handled.size >= this.#pruneAt) this.#prune()
    if (!this.#isFull || this.#outstanding.size > lowWater) return
    this.#isFull = false
    this.options.drained()
  }

  #prune(): void {
    const { position } = this
    for (const [id, place] of this.#handled)
      if (place.position <= position) this.#handled.delete(id)
    this.#pruneAt = Math.max(maxEvents, 2 * this.#handled.size)
  }

  #join(events: readonly LoggedEvent[]): void {
    this.#joining.push(...events)
  }

  /** Stores events whose keys are blocked, a part at a time. */
  async #storeJoining(): Promise<void> {
    if (this.#isJoining || this.#joining.length === 0 || this.#isStopped) return
    this.#isJoining = true
    const events = this.#joining.splice(0, lowWater)
    try {
      await this.options.add(events, joined)
      for (const event of events) {
        this.#handle(event)
        this.#join(this.#lanes.wait(waitingPlace(event, joined)))
      }
    } catch (error) {
      this.options.failed(error)
      this.#joining.unshift(...events)
      return
    } finally {
      this.#isJoining = false
    }
    this.#run()
  }
}

function waitingPlace(
  { key, position, place }: EventPlace & { readonly key: string },
  { attempts, nextAt }: FailedAttempt,
): WaitingPlace {
  return { key, position, place, attempts, nextAt }
}

function idOf({ position, place }: EventPlace): string {
  return `${position}.${place}`
}
