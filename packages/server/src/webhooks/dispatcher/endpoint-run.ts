import type { EndpointStore } from '../../domain/webhooks/endpoints/endpoint-store.js'
import type { Database } from '../../db/database.js'
import type { LoggedEvent } from '../../domain/events/logged-event.js'
import type { LoggedEvents } from '../../domain/events/logged-events.js'
import type { Attempt } from '../../domain/webhooks/attempts/attempt.js'
import { wantsEvent } from '../../domain/webhooks/endpoints/endpoint-filter.js'
import type {
  Endpoint,
  EndpointHealth,
  Replay,
} from '../../domain/webhooks/endpoints/endpoint-model.js'
import {
  joined,
  type StoredEvent,
  type WaitingPlace,
} from '../../domain/webhooks/waiting/waiting-event.js'
import type { WaitingEventStore } from '../../domain/webhooks/waiting/waiting-event-store.js'
import type { Clock } from '../../lib/clock.js'
import type { SendResult, WebhookSender } from '../sender.js'
import { EndpointRunner } from './endpoint-runner.js'

/** Reports of the dispatcher, for the log and metrics. */
export interface DispatchObserver {
  sent(endpoint: Endpoint, result: SendResult, events: number): void
  /** The endpoint does not answer; it is tried again at `health.retryAt`. */
  down(endpoint: Endpoint, health: EndpointHealth): void
  up(endpoint: Endpoint): void
  disabled(endpoint: Endpoint, reason: 'gone' | 'failing'): void
  missed(endpoint: Endpoint, positions: number): void
  failed(appId: string, error: unknown): void
}

export interface EndpointRunOptions {
  readonly database: Database
  readonly endpoints: EndpointStore
  readonly waiting: WaitingEventStore
  readonly events: LoggedEvents
  readonly sender: WebhookSender
  /** Returns the secrets that sign, the newest first; [] when no key opens them. */
  readonly secretsOf: (endpoint: Endpoint) => readonly string[]
  /** Disables the endpoint in the database and announces it. */
  readonly disable: (endpoint: Endpoint, reason: 'gone' | 'failing') => Promise<void>
  readonly attempted: (attempt: Omit<Attempt, 'attemptId'>) => void
  /** An endpoint takes events again. */
  readonly drained: (appId: string) => void
  /** Tests whether this node serves the application. */
  readonly isServed: (appId: string) => boolean
  readonly clock: Clock
  readonly observer: DispatchObserver
}

/** Some rows of the log as events. */
export interface EventPage {
  readonly events: readonly LoggedEvent[]
  /** Position of the last row. */
  readonly readTo: number
}

/** A replay goes on while fewer events wait. */
const maxReplayed = 2_000

/** One endpoint on this node: its runner with the database and the sender. */
export class EndpointRun {
  readonly runner: EndpointRunner
  readonly #ended = new AbortController()
  #savedPosition: number
  #savedHealth: EndpointHealth
  #replay: Replay | null

  private constructor(
    readonly endpoint: Endpoint,
    runner: (run: EndpointRun) => EndpointRunner,
    private readonly options: EndpointRunOptions,
  ) {
    this.#savedPosition = endpoint.position
    this.#savedHealth = endpoint.health
    this.#replay = endpoint.replay
    this.runner = runner(this)
  }

  /** Loads the events that wait. */
  static async open(endpoint: Endpoint, options: EndpointRunOptions): Promise<EndpointRun> {
    const { database, waiting } = options
    const { position, health } = endpoint
    const [places, dead] = await database.read((db) =>
      Promise.all([waiting.listWaiting(db, endpoint), waiting.listDead(db, endpoint, position)]),
    )
    const state = { position, health, waiting: places, dead }
    return new EndpointRun(endpoint, (run) => new EndpointRunner(state, run.#ports()), options)
  }

  /** Tests whether there is something to read, to send or to replay. */
  hasWork(head: number): boolean {
    return this.runner.readTo < head || !this.runner.isIdle || this.isReplaying
  }

  /** Takes events of the log; leaves out those that the endpoint does not want. */
  offer(events: readonly LoggedEvent[], readTo: number): void {
    const wanted = events.filter((event) => wantsEvent(this.endpoint, event))
    this.runner.offer(wanted, readTo)
  }

  /** Stores position and health if they have changed. */
  async save(): Promise<void> {
    const { position, health } = this.runner
    if (position === this.#savedPosition && health === this.#savedHealth) return
    const { database, endpoints, observer } = this.options
    await database.statement((tx) =>
      endpoints.saveProgress(tx, this.endpoint, { position, health }),
    )
    if (health.failures > 0 && health.failures !== this.#savedHealth.failures)
      observer.down(this.endpoint, health)
    if (health.failures === 0 && this.#savedHealth.failures > 0) observer.up(this.endpoint)
    this.#savedPosition = position
    this.#savedHealth = health
  }

  /** Tests whether a replay of the log is not over. */
  get isReplaying(): boolean {
    return this.#replay !== null
  }

  /**
   * Stores some events of a replay as waiting ones, if few wait.
   *
   * @param read returns the events of the next rows, and the last position of these; null at the end
   */
  async replay(read: (after: number) => Promise<EventPage | null>): Promise<void> {
    const { database, endpoints, waiting } = this.options
    while (this.#replay !== null && this.runner.waiting < maxReplayed && !this.runner.isStopped) {
      const { position, until, kinds, key } = this.#replay
      const page = position < until ? await read(position) : null
      const events = (page?.events ?? []).filter(
        (event) =>
          event.position <= until &&
          event.kind !== 'events.missed' &&
          wantsEvent(this.endpoint, event) &&
          (kinds.length === 0 || (kinds as readonly string[]).includes(event.kind)) &&
          (key === '' || event.key === key),
      )
      if (events.length > 0)
        await waiting.add(
          events.map((event) => this.#toStored(event)),
          joined,
        )
      this.#replay = page === null ? null : { ...this.#replay, position: page.readTo }
      const { appId, endpointId } = this.endpoint
      await database.transaction((tx) =>
        endpoints.update(tx, { appId, endpointId }, { replay: this.#replay }),
      )
      this.runner.adopt(events.map((event) => ({ ...placeOf(event), attempts: 0, nextAt: 0 })))
    }
  }

  /** Ends requests in flight. */
  stop(): void {
    this.runner.stop()
    this.#ended.abort()
  }

  #ports(): ConstructorParameters<typeof EndpointRunner>[1] {
    const { endpoint } = this
    const { database, waiting, events, clock, observer, disable } = this.options
    return {
      concurrency: endpoint.concurrency,
      batchSize: endpoint.format === 'callback' ? 1 : endpoint.batchSize,
      now: () => clock.now(),
      random: Math.random,
      send: (some, attempt) => this.#send(some, attempt),
      add: (some, attempt) =>
        waiting.add(
          some.map((event) => this.#toStored(event)),
          attempt,
        ),
      read: async (place) => {
        const stored = await database.read((db) => waiting.find(db, endpoint, place))
        if (stored === null) return null
        const { endpointId: _, ...event } = stored
        const payload = await events.ofStored(event.appId, event.kind, stored.payload)
        return payload && { ...event, payload }
      },
      update: (place, attempt) =>
        database.statement((tx) => waiting.update(tx, endpoint, place, attempt)),
      remove: (place) => database.statement((tx) => waiting.remove(tx, endpoint, place)),
      disable: (reason) => {
        observer.disabled(endpoint, reason)
        disable(endpoint, reason).catch((error) => observer.failed(endpoint.appId, error))
      },
      drained: () => this.options.drained(endpoint.appId),
      failed: (error) => observer.failed(endpoint.appId, error),
    }
  }

  #toStored(event: LoggedEvent): StoredEvent {
    const { endpointId } = this.endpoint
    return { ...event, endpointId, payload: this.options.events.toStored(event) }
  }

  async #send(events: readonly LoggedEvent[], attempt: number): Promise<SendResult> {
    const { endpoint } = this
    const { sender, secretsOf, clock, attempted, isServed, observer } = this.options
    if (!isServed(endpoint.appId)) {
      this.stop()
      throw new Error('another node serves the application')
    }
    const at = clock.now()
    const { url, format, timeoutMs, batchSize } = endpoint
    const secrets = secretsOf(endpoint)
    const target = { url, format, isBatch: batchSize > 1, secrets, timeoutMs }
    const result = await sender.send(target, events, this.#ended.signal)
    const [first] = events
    if (first && !this.#ended.signal.aborted) {
      const { appId, endpointId } = endpoint
      const { id, kind, key } = first
      observer.sent(endpoint, result, events.length)
      attempted({
        ...result,
        ...{ appId, endpointId, at, attempt, nextAt: 0 },
        events: events.length,
        first: { id, kind, key },
      })
    }
    return result
  }
}

function placeOf({
  key,
  position,
  place,
}: LoggedEvent): Pick<WaitingPlace, 'key' | 'position' | 'place'> {
  return { key, position, place }
}
