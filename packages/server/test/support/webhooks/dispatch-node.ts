/** The dispatcher beside a database of its own, without the rest of the service. */
import { setMaxListeners } from 'node:events'
import { actorEvent } from '@hermod/protocol/events'
import { waitFor } from '@hermod/testkit'
import type { Database } from '../../../dist/db/database.js'
import { Histories } from '../../../dist/db/identity/histories.js'
import { ConsumerStore } from '../../../dist/domain/events/consumer-store.js'
import type { LoggedEvent } from '../../../dist/domain/events/logged-event.js'
import { EventIds } from '../../../dist/domain/events/event-ids.js'
import { LoggedEvents } from '../../../dist/domain/events/logged-events.js'
import { type Endpoint, newHealth } from '../../../dist/domain/webhooks/endpoints/endpoint-model.js'
import { EndpointStore } from '../../../dist/domain/webhooks/endpoints/endpoint-store.js'
import { WaitingEventStore } from '../../../dist/domain/webhooks/waiting/waiting-event-store.js'
import { OutboxPurge } from '../../../dist/outbox/outbox-purge.js'
import type { RecordedEvent } from '../../../dist/outbox/rows/recorded-event.js'
import { Dispatcher } from '../../../dist/webhooks/dispatcher/dispatcher.js'
import type { SendResult } from '../../../dist/domain/webhooks/webhook-sender.js'
import { hourMs, OutboxNode, patience } from '../database/outbox-node.js'
import { TestShares } from '../nodes/test-shares.js'

const histories = new Histories({ first: 'e', current: 'e', rows: [] })

type Outcome = SendResult['outcome']

/** An event that arrived at an endpoint. */
export interface Arrival {
  readonly node: string
  readonly url: string
  readonly event: LoggedEvent
}

/** The receivers of all endpoints, which the nodes of a test share. */
export class Receivers {
  readonly arrivals: Arrival[] = []
  /** Returns the outcome of a request; called when it arrives. */
  answer: (url: string, events: readonly LoggedEvent[]) => Outcome | Promise<Outcome> = () =>
    'delivered'

  readonly #ids = new Map<string, Set<string>>()

  /** IDs that arrived at an endpoint, without repetitions. */
  ids(url: string): string[] {
    return [...(this.#ids.get(url) ?? [])]
  }

  add(node: string, url: string, events: readonly LoggedEvent[]): void {
    const ids = this.#ids.get(url) ?? new Set()
    this.#ids.set(url, ids)
    for (const event of events) {
      this.arrivals.push({ node, url, event })
      ids.add(event.id)
    }
  }

  at(url: string): LoggedEvent[] {
    return this.arrivals.filter((each) => each.url === url).map(({ event }) => event)
  }

  /** Waits for so many different events of an endpoint. */
  got(url: string, count: number): Promise<true> {
    return waitFor(() => (this.#ids.get(url)?.size ?? 0) >= count && true, {
      what: `${url} gets ${count} events, has ${this.ids(url).length}`,
      ...patience,
    })
  }
}

export interface DispatchOptions {
  readonly name?: string
  /** Default: only when the test calls {@link DispatchNode.poll}. */
  readonly pollMs?: number
  /** Whether the node has the shares of all applications at first; default true. */
  readonly isHeld?: boolean
  /** The time that requests in flight have when it stops; default 5 000. */
  readonly graceMs?: number
}

/** One node: an outbox with a dispatcher, whose requests go to {@link Receivers}. */
export class DispatchNode implements AsyncDisposable {
  readonly log: OutboxNode
  readonly endpoints = new EndpointStore()
  readonly consumers = new ConsumerStore()
  readonly waiting: WaitingEventStore
  readonly dispatcher: Dispatcher
  readonly purge: OutboxPurge
  readonly failures: unknown[] = []
  readonly disabled: string[] = []
  readonly missed: number[] = []
  /** Reads of the log: the position after which each began. */
  readonly reads: number[] = []
  readonly shares: TestShares
  #isKilled = false

  constructor(
    database: Database,
    readonly receivers: Receivers,
    { name = 'node', pollMs = 3_600_000, isHeld = true, graceMs = 5_000 }: DispatchOptions = {},
  ) {
    this.log = new OutboxNode(database)
    this.waiting = new WaitingEventStore(database)
    const { store, clock, messages } = this.log
    this.shares = new TestShares({ isHeld })
    this.dispatcher = new Dispatcher({
      database,
      endpoints: this.endpoints,
      waiting: this.waiting,
      outbox: {
        head: store.head.bind(store),
        heads: store.heads.bind(store),
        listAfter: (db, appId, after, limit) => {
          this.reads.push(after)
          return store.listAfter(db, appId, after, limit)
        },
      },
      shares: this.shares,
      graceMs,
      events: new LoggedEvents(messages, new EventIds(histories)),
      sender: {
        send: async ({ url }, events, signal) => {
          receivers.add(name, url, events)
          setMaxListeners(0, signal)
          const aborted = new Promise<Outcome>((resolve) => {
            signal.addEventListener('abort', () => resolve('unavailable'))
          })
          const outcome = await Promise.race([receivers.answer(url, events), aborted])
          const nothing = { status: 0, durationMs: 0, error: '', answer: '', retryAfterMs: null }
          return { outcome, ...nothing }
        },
      },
      secretsOf: () => ['secret'],
      disable: async ({ url }, reason) => {
        this.disabled.push(`${url}: ${reason}`)
      },
      attempted: () => {},
      clock,
      observer: {
        sent: () => {},
        down: () => {},
        up: () => {},
        disabled: () => {},
        missed: (_, positions) => this.missed.push(positions),
        failed: (_, error) => this.#isKilled || this.failures.push(error),
      },
      pollMs,
    })
    this.purge = new OutboxPurge({
      database,
      store,
      clock,
      consumers: [],
      holders: [
        (db, appId) => this.endpoints.lowestPosition(db, appId),
        (db, appId) => this.consumers.lowestPosition(db, appId),
      ],
      keptMs: 3 * 24 * hourMs,
      maxLagMs: 7 * 24 * hourMs,
      leftBehind: () => {},
    })
  }

  get database(): Database {
    return this.log.database
  }

  /** Makes an endpoint at the beginning of the log; its URL names it. */
  async endpoint(url: string, more: Partial<Endpoint> = {}): Promise<Endpoint> {
    const [endpoint] = await this.addEndpoints([endpointOf(url, more)])
    return endpoint as Endpoint
  }

  async addEndpoints(endpoints: readonly Endpoint[]): Promise<readonly Endpoint[]> {
    const apps = [...new Set(endpoints.map(({ appId }) => appId))]
    await this.database.transaction(async (tx) => {
      for (const app_id of apps)
        await tx
          .insertInto('apps')
          .values({ app_id, ...appRow })
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      for (const endpoint of endpoints) await this.endpoints.insert(tx, endpoint)
    })
    return endpoints
  }

  /** Appends a fact about each of the users, in one row each. */
  async append(appId: string, ...userIds: readonly number[]): Promise<void> {
    await this.log.append(...userIds.map((userId) => factOf(appId, userId)))
    this.dispatcher.wake(appId)
  }

  /** Returns the stored position of an endpoint. */
  async position(endpoint: Endpoint): Promise<number | undefined> {
    const found = await this.database.read((db) => this.endpoints.find(db, endpoint))
    return found?.position
  }

  /** Polls until the stored position of an endpoint is there. */
  reaches(endpoint: Endpoint, position: number): Promise<true> {
    return waitFor(
      async () => {
        await this.dispatcher.poll()
        return (await this.position(endpoint)) === position && true
      },
      { what: `${endpoint.url} reaches ${position}`, ...patience },
    )
  }

  /** Ends the node as a kill does: it stores nothing more, and gives nothing back. */
  async kill(): Promise<void> {
    this.#isKilled = true
    await this.database[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispatcher.stop()
    await this.log[Symbol.asyncDispose]()
  }
}

const appRow = {
  name: '',
  status: 0,
  open_registration: 0,
  registration_secret: '',
  file_link_key: '',
  settings: '{}',
  created_at: 0,
}

let lastId = 1_000

export function endpointOf(url: string, more: Partial<Endpoint> = {}): Endpoint {
  return {
    appId: 'app-a',
    endpointId: ++lastId,
    url,
    description: '',
    kinds: [],
    receivers: [],
    format: 'standard',
    sealed: '',
    concurrency: 16,
    batchSize: 1,
    timeoutMs: 15_000,
    isEnabled: true,
    stateReason: '',
    position: 0,
    health: newHealth,
    replay: null,
    version: 1,
    createdAt: 0,
    updatedAt: lastId,
    ...more,
  }
}

/** A fact about a user, whose key is that of the user. */
export function factOf(appId: string, userId: number): RecordedEvent {
  return actorEvent(
    'user.info_updated',
    { appId, actorId: 0, userIds: [userId] },
    { properties: ['nickname'], changed: {} },
  )
}
