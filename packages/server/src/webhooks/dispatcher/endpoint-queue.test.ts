import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LoggedEvent } from '../../domain/events/logged-event.js'
import { newHealth } from '../../domain/webhooks/endpoints/endpoint-model.js'
import {
  type EventPosition,
  type FailedAttempt,
  forced,
  maxWaiting,
} from '../../domain/webhooks/waiting/waiting-event.js'
import type { SendResult } from '../../domain/webhooks/webhook-sender.js'
import { EndpointQueue } from './endpoint-queue.js'
import { MemoryBudget } from './memory-budget.js'

const minute = 60_000

type Outcome = SendResult['outcome']

interface Row extends FailedAttempt {
  readonly event: LoggedEvent
}

interface Request {
  readonly events: readonly LoggedEvent[]
  readonly attempt: number
  readonly settle: (outcome: Outcome, retryAfterMs?: number) => void
}

/** Next attempts that were reported, by the ID of the first event. */
type NextAttempts = readonly (readonly [id: string | undefined, nextAt: number])[]

interface WorldOptions {
  readonly concurrency?: number
  readonly batchSize?: number
  readonly budget?: MemoryBudget
}

function eventOf(position: number, key: string, place = 1): LoggedEvent {
  return {
    id: `evt_app_${position}_${place}`,
    kind: 'message.stored',
    appId: 'app',
    position,
    place,
    name: '',
    key,
    createdAt: 0,
    payload: {},
  }
}

/** A log, the stored state of an endpoint, and a receiver that answers when the test says so. */
class World {
  time = 1_000
  readonly log: LoggedEvent[] = []
  readonly rows = new Map<string, Row>()
  readonly gone = new Set<string>()
  readonly delivered: string[] = []
  pending: Request[] = []
  failures: unknown[] = []
  nextAttempts: NextAttempts = []
  disabled = ''
  isStoreBroken = false
  #isStalled = false
  readonly #stalled: (() => void)[] = []
  position = 0
  health = newHealth
  queue: EndpointQueue

  constructor(private readonly options: WorldOptions = {}) {
    this.queue = this.start()
  }

  append(...keys: readonly string[]): void {
    for (const key of keys) this.log.push(eventOf(this.log.length + 1, key))
  }

  start(): EndpointQueue {
    const rows = [...this.rows.values()].sort((a, b) => a.event.position - b.event.position)
    const queue: EndpointQueue = new EndpointQueue(
      {
        position: this.position,
        health: this.health,
        waiting: rows
          .filter(({ isDead }) => !isDead)
          .map(({ event: { key, position, place }, attempts, nextAt }) => ({
            ...{ key, position, place, attempts, nextAt },
          })),
        dead: rows.filter(({ isDead }) => isDead).map(({ event }) => event),
      },
      {
        concurrency: this.options.concurrency ?? 16,
        batchSize: this.options.batchSize ?? 1,
        now: () => this.time,
        random: () => 0,
        budget: this.options.budget ?? new MemoryBudget(1e9),
        send: async (events, attempt) => {
          const at = this.time
          return { result: await this.#send(events, attempt), events, attempt, at }
        },
        sent: ({ events: [first] }, nextAt) => {
          this.nextAttempts = [...this.nextAttempts, [first?.id, nextAt]]
        },
        add: async (events, attempt) => {
          await this.#useStore(queue)
          for (const event of events)
            if (!this.rows.has(event.id)) this.rows.set(event.id, { event, ...attempt })
        },
        read: async (place) => {
          await this.#useStore(queue)
          const row = this.#rowAt(place)
          return row && !this.gone.has(row.event.id) ? row.event : null
        },
        update: async (place, attempt) => {
          await this.#useStore(queue)
          const row = this.#rowAt(place)
          if (row) this.rows.set(row.event.id, { ...row, ...attempt })
        },
        remove: async (place) => {
          await this.#useStore(queue)
          const row = this.#rowAt(place)
          if (row) this.rows.delete(row.event.id)
        },
        disable: (reason) => {
          this.disabled = reason
        },
        drained: () => {},
        failed: (error) => this.failures.push(error),
      },
    )
    this.queue = queue
    return queue
  }

  /** True: operations of the store wait for {@link release}. */
  async stall(isStalled: boolean): Promise<void> {
    this.#isStalled = isStalled
    if (isStalled) return
    for (const go of this.#stalled.splice(0)) go()
    await settled()
  }

  /** Lets one operation of the store go on. */
  async release(index: number): Promise<void> {
    const [go] = this.#stalled.splice(index % Math.max(1, this.#stalled.length), 1)
    go?.()
    await settled()
  }

  async #useStore(queue: EndpointQueue): Promise<void> {
    if (this.#isStalled) await new Promise<void>((go) => this.#stalled.push(go))
    if (this.isStoreBroken || queue !== this.queue) throw new Error('the store fails')
  }

  #rowAt({ position, place }: EventPosition): Row | undefined {
    return [...this.rows.values()].find(
      ({ event }) => event.position === position && event.place === place,
    )
  }

  #send(events: readonly LoggedEvent[], attempt: number): Promise<SendResult> {
    const busy = new Set(this.pending.flatMap((request) => request.events.map(({ key }) => key)))
    for (const { key } of events)
      if (busy.has(key)) throw new Error(`two requests at once have events of ${key}`)
    return new Promise((resolve) => {
      const request: Request = {
        events,
        attempt,
        settle: (outcome, retryAfterMs) => {
          this.pending = this.pending.filter((each) => each !== request)
          if (outcome === 'delivered') this.delivered.push(...events.map(({ id }) => id))
          const answer = { status: 0, durationMs: 0, error: '', answer: '' }
          resolve({ outcome, ...answer, retryAfterMs: retryAfterMs ?? null })
        },
      }
      this.pending.push(request)
    })
  }

  /** Lets the queue take the next events of the log. */
  async read(max = 100): Promise<void> {
    const { readTo, wantsEvents } = this.queue
    const events = this.log.slice(readTo, readTo + max)
    if (wantsEvents && events.length > 0) this.queue.offer(events, readTo + events.length)
    await settled()
  }

  async answer(outcome: Outcome, index = 0, retryAfterMs?: number): Promise<void> {
    this.pending[index % this.pending.length]?.settle(outcome, retryAfterMs)
    await settled()
  }

  async answerAll(outcome: (event: LoggedEvent) => Outcome): Promise<void> {
    while (this.pending.length > 0) {
      const [{ events, settle }] = this.pending as [Request]
      const outcomes = events.map(outcome)
      settle(outcomes.find((each) => each !== 'delivered') ?? 'delivered')
      await settled()
    }
  }

  async pass(ms: number): Promise<void> {
    this.time += ms
    this.queue.tick()
    await settled()
  }

  /** Makes an event before the stored position wait again, unless the store fails. */
  async replay(id: string): Promise<void> {
    const event = this.log.find((each) => each.id === id) as LoggedEvent
    this.queue.replay([event]).catch(() => {})
    await settled()
  }

  /** An operator asks for attempts at once. */
  async force(): Promise<void> {
    for (const [id, row] of this.rows)
      if (row.nextAt > 0) this.rows.set(id, { ...row, nextAt: forced })
    this.save()
    this.health = newHealth
    await this.restart(() => false)
  }

  save(): void {
    this.position = this.queue.position
    this.health = this.queue.health
  }

  /** A kill: requests in flight arrive or not. */
  async restart(arrives: (index: number) => boolean): Promise<void> {
    const { pending } = this
    this.queue.stop()
    this.start()
    for (const [index, { settle }] of [...pending].entries())
      settle(arrives(index) ? 'delivered' : 'unavailable')
    this.pending = []
    this.queue.tick()
    await settled()
  }

  /** Reads, sends and waits until nothing is left to do; the receiver takes everything. */
  async finish(): Promise<void> {
    this.isStoreBroken = false
    await this.stall(false)
    this.queue.hold(null)
    for (let round = 0; round < 400; round++) {
      await this.read()
      await this.answerAll(() => 'delivered')
      const isDone =
        this.queue.isIdle && this.queue.readTo >= this.log.length && this.pending.length === 0
      if (isDone) return
      await this.pass(30 * minute)
    }
    throw new Error('the endpoint does not come to an end')
  }

  /** IDs in the order of their first delivery. */
  get firstDeliveries(): string[] {
    return [...new Set(this.delivered)]
  }

  isSettled({ id }: LoggedEvent): boolean {
    return this.delivered.includes(id) || this.rows.has(id) || this.gone.has(id)
  }
}

/** Lets all promises that can go on do so. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

const keysOf = (request: Request) => request.events.map(({ key }) => key)
const idsOf = (request: Request) => request.events.map(({ id }) => id)

describe('order', () => {
  it('sends one event of a key at a time, and of other keys at once', async () => {
    const world = new World()
    world.append('a', 'a', 'b', 'a', 'c')
    await world.read()
    expect(world.pending.map(keysOf)).toEqual([['a'], ['b'], ['c']])
    await world.answer('delivered')
    expect(world.pending.map(idsOf)).toEqual([['evt_app_3_1'], ['evt_app_5_1'], ['evt_app_2_1']])
  })

  it('sends at most as many requests at once as the endpoint allows', async () => {
    const world = new World({ concurrency: 2 })
    world.append('a', 'b', 'c')
    await world.read()
    expect(world.pending).toHaveLength(2)
  })

  it('a batch has events of several keys, each in order, up to its size', async () => {
    const world = new World({ batchSize: 4 })
    world.append('a', 'b', 'a', 'a', 'c')
    await world.read()
    expect(world.pending.map(keysOf)).toEqual([['a', 'a', 'a', 'b'], ['c']])
    await world.answerAll(() => 'delivered')
    expect(new Set(world.delivered).size).toBe(5)
  })

  it('the position is before the first event that is not delivered', async () => {
    const world = new World()
    world.append('a', 'b', 'c')
    await world.read()
    await world.answer('delivered', 1)
    await world.answer('delivered', 1)
    expect(world.queue.position).toBe(0)
    await world.answer('delivered')
    expect(world.queue.position).toBe(3)
  })
})

describe('an event that is refused', () => {
  it('waits in the database, and stops only its own key', async () => {
    const world = new World()
    world.append('a', 'b', 'a', 'b')
    await world.read()
    await world.answerAll(({ key }) => (key === 'a' ? 'refused' : 'delivered'))
    expect(world.delivered).toEqual(['evt_app_2_1', 'evt_app_4_1'])
    expect([...world.rows.values()].map(({ attempts }) => attempts)).toEqual([1, 0])
    expect(world.queue.position).toBe(4)
  })

  it('is dead after five attempts within an hour, and its key goes on', async () => {
    const world = new World()
    world.append('a', 'a')
    await world.read()
    const start = world.time
    let attempts = 0
    while (world.delivered.length === 0 && world.time < start + 60 * minute) {
      await world.answerAll(({ position }) => {
        if (position === 1) attempts++
        return position === 1 ? 'refused' : 'delivered'
      })
      await world.pass(5_000)
    }
    expect(attempts).toBe(5)
    expect(world.delivered).toEqual(['evt_app_2_1'])
    expect([...world.rows.values()]).toMatchObject([{ isDead: true, attempts: 5 }])
  })

  it('of a batch is found by sending the events alone', async () => {
    const world = new World({ batchSize: 10 })
    world.append('a', 'b', 'c', 'd')
    await world.read()
    await world.answerAll(({ key }) => (key === 'c' ? 'refused' : 'delivered'))
    expect(world.firstDeliveries).toEqual(['evt_app_1_1', 'evt_app_2_1', 'evt_app_4_1'])
    expect([...world.rows.values()].map(({ event }) => event.key)).toEqual(['c'])
  })

  it('is reported with the time of its next attempt', async () => {
    const world = new World()
    world.append('a', 'b')
    await world.read()
    await world.answer('refused')
    await world.answer('delivered')
    expect(world.nextAttempts).toEqual([
      ['evt_app_1_1', world.time + 10_000],
      ['evt_app_2_1', 0],
    ])
  })

  it('is left out when it is gone at the next attempt', async () => {
    const world = new World()
    world.append('a', 'a')
    await world.read()
    await world.answerAll(() => 'refused')
    world.gone.add('evt_app_1_1')
    await world.pass(minute)
    expect(world.pending.map(idsOf)).toEqual([['evt_app_2_1']])
  })
})

describe('attempts that were asked for', () => {
  it('are not among the five of an event', async () => {
    const world = new World()
    world.append('a')
    await world.read()
    await world.answer('refused')
    for (let attempt = 0; attempt < 10; attempt++) {
      await world.force()
      await world.answer('refused')
    }
    expect([...world.rows.values()]).toMatchObject([{ isDead: false, attempts: 1 }])
    expect(world.nextAttempts.at(-1)).toEqual(['evt_app_1_1', world.time + 10_000])
    for (let attempt = 2; attempt <= 5; attempt++) {
      await world.pass(30 * minute)
      await world.answer('refused')
    }
    expect([...world.rows.values()]).toMatchObject([{ isDead: true, attempts: 5 }])
  })

  it('of a replay are not among them either', async () => {
    const world = new World()
    world.append('a')
    await world.read()
    await world.answer('delivered')
    await world.replay('evt_app_1_1')
    await world.answer('refused')
    expect([...world.rows.values()]).toMatchObject([{ isDead: false, attempts: 0 }])
  })
})

describe('new events of replayed keys', () => {
  it('wait until the replay is over, and those of other keys do not', async () => {
    const world = new World()
    world.append('a', 'b')
    await world.read()
    await world.answerAll(() => 'delivered')
    world.queue.hold({ key: 'a', until: 2 })
    world.append('a', 'b')
    await world.read()
    await world.answerAll(() => 'delivered')
    await world.replay('evt_app_1_1')
    await world.answerAll(() => 'delivered')
    expect(world.delivered.slice(2)).toEqual(['evt_app_4_1', 'evt_app_1_1'])
    world.queue.hold(null)
    await world.pass(0)
    await world.answerAll(() => 'delivered')
    expect(world.delivered.slice(4)).toEqual(['evt_app_3_1'])
  })
})

describe('the number of waiting events', () => {
  it('never exceeds its bound, whatever pages and batches bring', async () => {
    const world = new World({ batchSize: 50 })
    world.append('a')
    await world.read()
    await world.answer('refused')
    world.append(...Array.from({ length: 12_000 }, () => 'a'))
    for (let page = 0; page < 30; page++) {
      await world.read(3_000)
      await world.pass(0)
    }
    expect(world.rows.size).toBe(maxWaiting)
    expect(world.queue.wantsEvents).toBe(false)
    world.append(...Array.from({ length: 100 }, (_, index) => `other ${index}`))
    await world.read(3_000)
    for (let attempt = 2; attempt <= 5; attempt++) {
      await world.pass(30 * minute)
      await world.answerAll(() => 'refused')
      const waiting = [...world.rows.values()].filter(({ isDead }) => !isDead)
      expect(waiting.length).toBeLessThanOrEqual(maxWaiting)
    }
    expect(world.failures).toEqual([])
  })

  it('leaves places to a replay, so that held events cannot stop it', async () => {
    const world = new World()
    world.append('a')
    await world.read()
    await world.answer('delivered')
    world.queue.hold({ key: '', until: 1 })
    await world.replay('evt_app_1_1')
    world.append(...Array.from({ length: 12_000 }, () => 'a'))
    for (let page = 0; page < 30; page++) await world.read(3_000)
    expect(world.queue.wantsEvents).toBe(false)
    expect(world.queue.replayRoom).toBeGreaterThan(1_000)
  })
})

describe('events that join waiting ones', () => {
  it('block their key while they are stored, also when the first one is delivered meanwhile', async () => {
    const world = new World()
    world.append('a', 'a')
    await world.read(1)
    await world.answer('refused')
    await world.pass(minute)
    await world.stall(true)
    await world.read(1)
    await world.answer('delivered')
    // The removal of the first event ends before the second one is stored.
    await world.release(1)
    world.append('a')
    await world.read()
    expect(world.pending).toEqual([])
    await world.stall(false)
    await world.answerAll(() => 'delivered')
    expect(world.delivered).toEqual(['evt_app_1_1', 'evt_app_2_1', 'evt_app_3_1'])
  })

  it('come after those of a batch that fails while a replay begins', async () => {
    const world = new World({ batchSize: 10 })
    world.append('a')
    await world.read()
    await world.answer('delivered')
    world.append('a', 'a')
    await world.read()
    await world.replay('evt_app_1_1')
    await world.answer('refused')
    world.append('a')
    await world.stall(true)
    await world.read()
    await world.release(0)
    await world.answer('delivered')
    // The replayed event is removed, and the next one sent, before the store does anything else.
    await world.release(1)
    await world.release(1)
    await world.answer('delivered')
    await world.stall(false)
    await world.answerAll(() => 'delivered')
    const ids = [1, 1, 2, 3, 4].map((position) => `evt_app_${position}_1`)
    expect(world.delivered).toEqual(ids)
  })
})

describe('an endpoint that is down', () => {
  it('gets nothing until the pause ends, then a few requests, then all', async () => {
    const world = new World()
    world.append('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i')
    await world.read()
    await world.answerAll(() => 'unavailable')
    expect(world.queue.wantsEvents).toBe(false)
    expect(world.queue.health).toMatchObject({ failures: 1, retryAt: world.time + 5_000 })
    await world.pass(4_999)
    expect(world.queue.wantsEvents).toBe(false)
    await world.pass(1)
    await world.read()
    expect(world.pending).toHaveLength(3)
    await world.answer('delivered')
    expect(world.queue.health.failures).toBe(0)
    expect(world.pending.length).toBeGreaterThan(3)
    await world.finish()
    expect(new Set(world.delivered).size).toBe(9)
  })

  it('is tried after growing pauses, and what was delivered before is not sent anew', async () => {
    const world = new World({ concurrency: 4 })
    const keys = Array.from({ length: 40 }, (_, index) => `key ${index}`)
    world.append(...keys)
    await world.read()
    await world.answer('delivered', 3)
    const pauses: number[] = []
    for (let failure = 0; failure < 6; failure++) {
      await world.answerAll(() => 'unavailable')
      pauses.push(world.queue.health.retryAt - world.time)
      await world.pass(world.queue.health.retryAt - world.time)
      await world.read()
    }
    expect(pauses).toEqual([5, 300, 1_800, 7_200, 18_000, 18_000].map((each) => each * 1_000))
    await world.finish()
    expect(world.delivered.filter((id) => id === 'evt_app_4_1')).toHaveLength(1)
  })

  it('does not count as down for a single key that fails while others succeed', async () => {
    const world = new World()
    for (let round = 0; round < 20; round++) {
      world.append('poison', 'a', 'b', 'c')
      await world.read()
      await world.answerAll(({ key }) => (key === 'poison' ? 'unavailable' : 'delivered'))
      await world.pass(minute)
    }
    await world.answerAll(({ key }) => (key === 'poison' ? 'unavailable' : 'delivered'))
    expect(world.delivered).toHaveLength(60)
    expect(world.queue.health.failures).toBe(0)
    expect([...world.rows.values()].some(({ isDead }) => isDead)).toBe(false)
  })

  it('Retry-After of three keys: holds the endpoint', async () => {
    const world = new World()
    world.append('a', 'b', 'c')
    await world.read()
    for (const _ of 'abc') await world.answer('unavailable', 0, 42_000)
    expect(world.queue.health.retryAt).toBe(world.time + 42_000)
  })

  it('Retry-After of one key: holds its key only, also in a batch', async () => {
    for (const batchSize of [1, 10]) {
      const world = new World({ batchSize })
      world.append('a', 'a')
      await world.read()
      await world.answer('unavailable', 0, 42_000)
      expect(world.nextAttempts).toEqual([['evt_app_1_1', world.time + 42_000]])
      world.append('a', 'b')
      await world.read()
      await world.answerAll(() => 'delivered')
      expect(world.delivered).toEqual(['evt_app_4_1'])
      await world.pass(41_999)
      expect(world.pending).toEqual([])
      await world.pass(1)
      await world.answerAll(() => 'delivered')
      const ids = [4, 1, 2, 3].map((position) => `evt_app_${position}_1`)
      expect(world.delivered).toEqual(ids)
    }
  })

  it.each([
    [
      [0, 0, 0, 0],
      [1, 2, 4, 8],
    ],
    [
      [60, 60, 90, 90, 10],
      [60, 120, 90, 180, 360],
    ],
    [
      [18_000, 18_000],
      [18_000, 18_000],
    ],
  ])('Retry-After of %j seconds: pauses for %j', async (stated, expected) => {
    const ofKey = new World()
    const ofEndpoint = new World()
    ofKey.append('a')
    ofEndpoint.append('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o')
    const pauses: number[][] = []
    for (const seconds of stated) {
      for (const world of [ofKey, ofEndpoint]) await world.read()
      await ofKey.answer('unavailable', 0, seconds * 1_000)
      const keyMs = (ofKey.nextAttempts.at(-1)?.[1] ?? 0) - ofKey.time
      for (const _ of 'abc') await ofEndpoint.answer('unavailable', 0, seconds * 1_000)
      const endpointMs = ofEndpoint.queue.health.retryAt - ofEndpoint.time
      await ofEndpoint.answerAll(() => 'unavailable')
      pauses.push([keyMs / 1_000, endpointMs / 1_000])
      await ofKey.pass(keyMs)
      await ofEndpoint.pass(endpointMs)
    }
    expect(pauses).toEqual(expected.map((each) => [each, each]))
  })

  it('is not disabled by failures on two days with a quiet day between them', async () => {
    const world = new World()
    for (const _ of [1, 2, 3]) {
      world.append('a')
      await world.read()
      for (let attempt = 0; attempt < 5; attempt++) {
        await world.answerAll(() => 'refused')
        await world.pass(30 * minute)
      }
      await world.pass(47 * 60 * minute)
    }
    expect([...world.rows.values()].map(({ isDead }) => isDead)).toEqual([true, true, true])
    expect(world.disabled).toBe('')
  })

  it('is disabled by 410, and after three days of nothing but failures', async () => {
    const gone = new World()
    gone.append('a')
    await gone.read()
    await gone.answer('gone')
    expect(gone.disabled).toBe('gone')

    const failing = new World()
    failing.append('a')
    const start = failing.time
    while (failing.disabled === '' && failing.time < start + 100 * 60 * minute) {
      await failing.read()
      await failing.answerAll(() => 'unavailable')
      await failing.pass(minute)
    }
    expect(failing.disabled).toBe('failing')
    expect(failing.time - start).toBeGreaterThanOrEqual(72 * 60 * minute)
    expect(failing.time - start).toBeLessThan(78 * 60 * minute)
  })

  it('reads no more than it can keep, also when very many events wait', async () => {
    const world = new World()
    world.append(...Array.from({ length: 3_000 }, () => 'a'))
    for (let page = 0; page < 30; page++) await world.read(100)
    expect(world.queue.readTo).toBe(1_000)
    await world.finish()
    expect(new Set(world.delivered).size).toBe(3_000)
  })
})

describe('a failure of the database', () => {
  it('pauses the endpoint for a second, and counts no failure of the endpoint', async () => {
    const world = new World()
    world.append('a', 'b')
    await world.read()
    world.isStoreBroken = true
    await world.answerAll(() => 'refused')
    expect(world.failures.length).toBeGreaterThan(0)
    expect(world.queue.wantsEvents).toBe(false)
    expect(world.queue.health).toMatchObject({ failures: 0, retryAt: 0 })
    expect(world.queue.position).toBe(0)
    world.isStoreBroken = false
    await world.pass(1_000)
    await world.read()
    await world.answerAll(() => 'delivered')
    expect(world.firstDeliveries).toEqual(['evt_app_1_1', 'evt_app_2_1'])
  })
})

describe('the memory of an endpoint', () => {
  it('gets no more events while the events of the node exceed their bound, and reads on when it has none left', async () => {
    const budget = new MemoryBudget(1_000)
    const world = new World({ budget })
    world.append('a', 'b', 'c', 'd', 'e')
    await world.read(4)
    expect(budget.isSpent).toBe(true)
    expect(world.queue.wantsEvents).toBe(false)
    budget.hold(1_000_000)
    await world.answerAll(() => 'delivered')
    expect(world.queue.wantsEvents).toBe(true)
    budget.hold(-1_000_000)
    await world.finish()
    expect(world.delivered).toHaveLength(5)
    expect(budget.isSpent).toBe(false)
  })

  it('is free after a stop', async () => {
    const budget = new MemoryBudget(100)
    const world = new World({ budget })
    world.append('a')
    await world.read()
    expect(budget.isSpent).toBe(true)
    world.queue.stop()
    expect(budget.isSpent).toBe(false)
  })

  it.each([
    ['ASCII', 'x', 1],
    ['Chinese', '\u4e2d', 3],
    ['control characters, six bytes each in JSON', '\u0001', 6],
  ])(
    'a batch of %s ends before it exceeds a MiB; a single larger event is sent alone',
    async (_, text, bytes) => {
      const world = new World({ batchSize: 100 })
      world.append('a', 'a', 'a', 'a')
      for (const [index, event] of world.log.entries()) {
        const content = text.repeat((index === 3 ? 2e6 : 4e5) / bytes)
        world.log[index] = { ...event, payload: { content } }
      }
      await world.read()
      const sizes: number[] = []
      while (world.pending.length > 0) {
        sizes.push(world.pending[0]?.events.length ?? 0)
        await world.answer('delivered')
      }
      expect(sizes).toEqual([2, 1, 1])
    },
  )
})

describe('events.missed', () => {
  it('is delivered before anything that follows is read', async () => {
    const world = new World()
    world.append('app', 'a', 'b')
    world.log[0] = { ...(world.log[0] as LoggedEvent), kind: 'events.missed' }
    await world.read(1)
    expect(world.queue.wantsEvents).toBe(false)
    await world.answer('delivered')
    expect(world.queue.wantsEvents).toBe(true)
    await world.finish()
    expect(world.delivered).toEqual(['evt_app_1_1', 'evt_app_2_1', 'evt_app_3_1'])
  })
})

describe('a queue that drains', () => {
  it('begins no more requests, and ends when those in flight have their answers', async () => {
    const world = new World({ concurrency: 1 })
    world.append('a', 'b')
    await world.read()
    let isDrained = false
    const drained = world.queue.drain().then(() => {
      isDrained = true
    })
    await settled()
    expect(isDrained).toBe(false)
    await world.answer('delivered')
    await drained
    expect(world.delivered).toEqual(['evt_app_1_1'])
    expect(world.pending).toEqual([])
    expect(world.queue.position).toBe(1)
  })
})

describe('a queue', () => {
  const outcomes: readonly Outcome[] = ['delivered', 'delivered', 'refused', 'unavailable']
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('append' as const),
        keys: fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 6 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('read' as const),
        max: fc.integer({ min: 1, max: 10 }),
      }),
    },
    {
      weight: 10,
      arbitrary: fc.record({
        do: fc.constant('answer' as const),
        index: fc.nat(20),
        outcome: fc.constantFrom(...outcomes),
        retryAfter: fc.option(fc.integer({ min: 0, max: 60_000 }), { freq: 10 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('pass' as const),
        ms: fc.constantFrom(1_000, 10_000, 60_000, 400_000, 4_000_000),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('save' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), arrived: fc.nat(255) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('break' as const), isBroken: fc.boolean() }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('stall' as const), isStalled: fc.boolean() }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('release' as const), index: fc.nat(5) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('recall' as const), index: fc.nat(30) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('replay' as const), index: fc.nat(30) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('hold' as const),
        key: fc.constantFrom('', 'a', 'b'),
        isOver: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('force' as const) }) },
  )

  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

  async function run(world: World, steps: readonly Step[]) {
    for (const each of steps)
      switch (each.do) {
        case 'append':
          world.append(...each.keys)
          break
        case 'read':
          await world.read(each.max)
          break
        case 'answer':
          await world.answer(each.outcome, each.index, each.retryAfter ?? undefined)
          break
        case 'pass':
          await world.pass(each.ms)
          break
        case 'save':
          world.save()
          for (const event of world.log.slice(0, world.position))
            expect(world.isSettled(event), `${event.id} is before the position`).toBe(true)
          break
        case 'kill':
          await world.restart((index) => ((each.arrived >> (index % 8)) & 1) === 1)
          break
        case 'break':
          world.isStoreBroken = each.isBroken
          break
        case 'stall':
          await world.stall(each.isStalled)
          break
        case 'release':
          await world.release(each.index)
          break
        case 'recall': {
          const id = world.log[each.index]?.id
          if (id !== undefined && world.rows.has(id) && !world.rows.get(id)?.isDead)
            world.gone.add(id)
          break
        }
        case 'replay': {
          const event = world.log.slice(0, world.position)[each.index]
          if (event !== undefined && !world.rows.has(event.id)) await world.replay(event.id)
          break
        }
        case 'hold':
          world.queue.hold(each.isOver ? null : { key: each.key, until: world.queue.position })
          break
        case 'force':
          await world.force()
      }
  }

  it('loses nothing and keeps the order of each key, whatever the receiver, the store and the process do', {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 5 }),
        async (steps, concurrency, batchSize) => {
          const world = new World({ concurrency, batchSize })
          await run(world, steps)
          await world.finish()
          const isDead = ({ id }: LoggedEvent) => world.rows.get(id)?.isDead === true
          for (const event of world.log)
            expect(
              world.delivered.includes(event.id) || isDead(event) || world.gone.has(event.id),
              `${event.id} is lost`,
            ).toBe(true)
          for (const key of ['a', 'b', 'c', 'd']) {
            const ofKey = world.log.filter((event) => event.key === key).map(({ id }) => id)
            const arrived = world.firstDeliveries.filter((id) => ofKey.includes(id))
            expect(arrived).toEqual(ofKey.filter((id) => arrived.includes(id)))
          }
          expect([...world.rows.values()].filter((row) => !row.isDead)).toEqual([])
          expect(world.disabled).toBe('')
        },
      ),
      { numRuns: 500 },
    )
  })
})
