import { setTimeout as sleep } from 'node:timers/promises'
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
import type {
  EndpointProgress,
  EndpointStore,
} from '../../domain/webhooks/endpoints/endpoint-store.js'
import type { StoredEvent } from '../../domain/webhooks/waiting/waiting-event.js'
import type { WaitingEventStore } from '../../domain/webhooks/waiting/waiting-event-store.js'
import type { Clock } from '../../lib/clock.js'
import type { OutboxStore } from '../../outbox/outbox-store.js'
import {
  type SendResult,
  targetOf,
  type WebhookSender,
} from '../../domain/webhooks/webhook-sender.js'
import { EndpointQueue, type QueueState, type Sent } from './endpoint-queue.js'
import type { MemoryBudget } from './memory-budget.js'

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

export interface EndpointWorkerOptions {
  readonly database: Database
  readonly endpoints: EndpointStore
  readonly waiting: WaitingEventStore
  readonly events: LoggedEvents
  readonly outbox: Pick<OutboxStore, 'listAfter'>
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
  /** The events in memory of all endpoints of this node. */
  readonly budget: MemoryBudget
  readonly clock: Clock
  readonly observer: DispatchObserver
}

/** Some rows of the log as events. */
export interface EventPage {
  readonly events: readonly LoggedEvent[]
  /** Position of the last row. */
  readonly readTo: number
}

/** Events that have been in memory for longer are read again before they are sent or stored. */
const freshMs = 2_000

/** One endpoint on this node: its queue with the database and the sender. */
export class EndpointWorker {
  readonly queue: EndpointQueue
  readonly #ended = new AbortController()
  #savedPosition: number
  #savedHealth: EndpointHealth
  /** The replay as it is stored; null: none. */
  #replay: Replay | null
  #replaying: Promise<void> | null = null
  readonly #readAt = new WeakMap<LoggedEvent, number>()

  constructor(
    readonly endpoint: Endpoint,
    { waiting, dead }: Pick<QueueState, 'waiting' | 'dead'>,
    private readonly options: EndpointWorkerOptions,
  ) {
    const { position, health } = endpoint
    this.#savedPosition = position
    this.#savedHealth = health
    this.#replay = endpoint.replay
    this.queue = new EndpointQueue({ position, health, waiting, dead }, this.#ports())
    if (this.#replay !== null) this.queue.hold(this.#rangeOf(this.#replay))
  }

  /** Tests whether there is something to read, to send or to replay. */
  hasWork(head: number): boolean {
    return this.queue.readTo < head || !this.queue.isIdle || this.isReplaying
  }

  /** Takes events of the log; leaves out those that the endpoint does not want. */
  offer(events: readonly LoggedEvent[], readTo: number): void {
    const wanted = events.filter((event) => wantsEvent(this.endpoint, event))
    const now = this.options.clock.now()
    for (const event of wanted) this.#readAt.set(event, now)
    this.queue.offer(wanted, readTo)
  }

  /** Returns position and health if they have changed since they were stored; null: they have not. */
  get progress(): EndpointProgress | null {
    const { position, health } = this.queue
    const isSaved = position === this.#savedPosition && health === this.#savedHealth
    return isSaved ? null : { position, health }
  }

  /** Notes progress that is stored. */
  saved({ position, health }: EndpointProgress): void {
    const { observer } = this.options
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

  /** Continues a replay. Resolves when it is over, or enough events wait. */
  replay(read: (after: number) => Promise<EventPage | null>): Promise<void> {
    this.#replaying ??= this.#runReplay(read).finally(() => {
      this.#replaying = null
    })
    return this.#replaying
  }

  /** The replay ends where the queue began: later events are sent anyway. */
  #rangeOf({ until, ...replay }: Replay): Replay {
    return { ...replay, until: Math.min(until, this.endpoint.position) }
  }

  /**
   * Stores the events of a replay as waiting ones while there is room for them.
   *
   * @param read returns the events of the next rows, and the last position of these; null at the end
   */
  async #runReplay(read: (after: number) => Promise<EventPage | null>): Promise<void> {
    const { database, endpoints } = this.options
    while (this.#replay !== null && !this.queue.isStopped) {
      const before: Replay = this.#replay
      const range = this.#rangeOf(before)
      const { position, until, kinds, key } = range
      const page = position < until ? await read(position) : null
      const events = (page?.events ?? []).filter(
        (event) =>
          event.position <= until &&
          event.kind !== 'events.missed' &&
          wantsEvent(this.endpoint, event) &&
          (kinds.length === 0 || (kinds as readonly string[]).includes(event.kind)) &&
          (key === '' || event.key === key),
      )
      const excess = events[Math.max(this.queue.replayRoom, 0)]
      const readTo = excess === undefined ? page?.readTo : excess.position - 1
      if (readTo === position) return
      await this.queue.replay(events.filter((event) => event.position <= (readTo ?? 0)))
      const after = readTo === undefined ? null : { ...range, position: readTo }
      const isMoved = await database.statement((tx) =>
        endpoints.moveReplay(tx, this.endpoint, before, after),
      )
      // Another replay has replaced this one; the next look at the endpoint begins it.
      this.#replay = isMoved ? after : null
    }
    if (this.#replay === null) this.queue.hold(null)
  }

  /**
   * Ends requests in flight. Resolves when nothing is sent, read or stored any more.
   * @param graceMs time in which requests in flight may end
   */
  async stop(graceMs = 0): Promise<void> {
    const drained = this.queue.drain()
    if (graceMs > 0) {
      const grace = new AbortController()
      const time = sleep(graceMs, undefined, { signal: grace.signal, ref: false }).catch(() => {})
      await Promise.race([drained, time])
      grace.abort()
    }
    this.queue.stop()
    this.#ended.abort()
    await drained
    await this.#replaying?.catch(() => {})
  }

  #ports(): ConstructorParameters<typeof EndpointQueue>[1] {
    const { endpoint } = this
    const { database, waiting, events, clock, observer, disable } = this.options
    return {
      concurrency: endpoint.concurrency,
      batchSize: endpoint.format === 'callback' ? 1 : endpoint.batchSize,
      now: () => clock.now(),
      random: Math.random,
      budget: this.options.budget,
      send: (some, attempt) => this.#send(some, attempt),
      sent: (sent, nextAt) => this.#note(sent, nextAt),
      add: async (some, attempt) => {
        const current = some.map(async (event) => (await this.#current(event)) ?? event)
        const stored = (await Promise.all(current)).map((event) => this.#toStored(event))
        this.#requireServed()
        await waiting.add(stored, attempt)
      },
      read: async (place) => {
        const stored = await database.read((db) => waiting.find(db, endpoint, place))
        if (stored === null) return null
        const { endpointId: _, ...event } = stored
        const payload = await events.ofStored(event.appId, event.kind, stored.payload)
        return payload && { ...event, id: events.idOf(event.appId, event), payload }
      },
      update: async (place, attempt) => {
        this.#requireServed()
        await database.statement((tx) => waiting.update(tx, endpoint, place, attempt))
      },
      remove: async (place) => {
        this.#requireServed()
        await database.statement((tx) => waiting.remove(tx, endpoint, place))
      },
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
    const { id: _, ...stored } = event
    return { ...stored, endpointId, payload: this.options.events.toStored(event) }
  }

  async #send(some: readonly LoggedEvent[], attempt: number): Promise<Sent | null> {
    const { endpoint } = this
    const { sender, secretsOf, clock } = this.options
    const events = await this.#fresh(some)
    this.#requireServed()
    if (events.length === 0) return null
    const at = clock.now()
    const target = targetOf(endpoint, secretsOf(endpoint))
    const result = await sender.send(target, events, this.#ended.signal)
    return { result, events, attempt, at }
  }

  /**
   * Ends the queue when another node may serve the application, as after a pause of the machine: a
   * late result must not change what that node has stored.
   */
  #requireServed(): void {
    const { appId } = this.endpoint
    if (this.options.isServed(appId)) return
    this.queue.stop()
    throw new Error('another node serves the application')
  }

  #note({ result, events, attempt, at }: Sent, nextAt: number): void {
    const { appId, endpointId } = this.endpoint
    const { attempted, observer } = this.options
    const [first] = events
    if (first === undefined) return
    const { id, kind, key } = first
    observer.sent(this.endpoint, result, events.length)
    attempted({
      ...result,
      ...{ appId, endpointId, at, attempt, nextAt },
      events: events.length,
      first: { id, kind, key },
    })
  }

  /** Messages that are gone by now are left out. */
  async #fresh(some: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
    if (!some.some((event) => this.#isOld(event))) return some
    const read = await Promise.all(some.map((event) => this.#current(event)))
    return read.filter((event) => event !== null)
  }

  #isOld(event: LoggedEvent): boolean {
    const oldest = this.options.clock.now() - freshMs
    return (this.#readAt.get(event) ?? oldest) < oldest
  }

  /**
   * Reads an event again that has been in memory for long: the texts of a deleted user may be erased.
   * @returns null when its message is gone
   */
  async #current(event: LoggedEvent): Promise<LoggedEvent | null> {
    if (!this.#isOld(event)) return event
    const { database, events, outbox } = this.options
    const { appId, kind, position, place } = event
    if (kind !== 'message.stored') {
      const [row] = await database.read((db) => outbox.listAfter(db, appId, position - 1, 1))
      if (row?.position === position)
        return (await events.ofRow(appId, row)).find((each) => each.place === place) ?? null
    }
    const payload = await events.ofStored(appId, kind, events.toStored(event))
    return payload && { ...event, payload }
  }
}
