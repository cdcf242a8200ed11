/** Events reach endpoints although the service and the receiver are killed at any moment. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backend, isFullRun, testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import type { Sql } from '../support/database/sql.js'
import { Random } from '../support/random.js'
import { EventTraffic } from '../support/webhooks/event-traffic.js'
import { HookNodes } from '../support/webhooks/hook-nodes.js'
import { ReceiverProcess, type SeenEvents } from '../support/webhooks/receiver-process.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const timeoutMs = isFullRun ? 900_000 : 240_000
const patienceMs = 120_000
const users = 6
/** Share of requests that the receiver refuses, or answers with 503. */
const badAnswers = 0.02
const operatorEveryMs = 500
/** More events that arrive before the next kill, at most. */
const eventsPerKill = isFullRun ? 60 : 20
/** One endpoint gets single events, the other batches. */
const endpoints = [
  { path: '/single', settings: { concurrency: 8 } },
  { path: '/batches', settings: { concurrency: 4, batch_size: 20 } },
] as const

/** What the database says was committed. */
interface Committed {
  /** IDs of the events other than messages. */
  readonly ids: readonly string[]
  readonly messages: readonly number[]
}

async function committed(sql: Sql): Promise<Committed> {
  const rows = await sql.run(
    "select position from outbox where app_id = 'test' and kind not in ('message.stored', 'change.skipped')",
  )
  const messages = await sql.run("select msg_id from messages where app_id = 'test'")
  return {
    ids: rows.map(({ position }) => `evt_test_${position}`),
    messages: messages.map(({ msg_id }) => Number(msg_id)),
  }
}

/** Returns what did not arrive. */
function missing({ ids, messages }: Committed, { events }: SeenEvents): (string | number)[] {
  const seen = messageIds(events.keys())
  return [
    ...ids.filter((id) => !events.has(id)),
    ...messages.filter((message) => !seen.has(message)),
  ]
}

function messageIds(ids: Iterable<string>): Set<number> {
  return new Set([...ids].map((id) => Number(id.split('_')[3])))
}

/** A service with endpoints, a receiver, and an operator who enables endpoints that do not get on. */
class Place implements AsyncDisposable {
  #endpointIds: number[] = []

  constructor(
    readonly nodes: HookNodes,
    readonly receiver: ReceiverProcess,
  ) {}

  static async start(backend: Backend, nodes: number, random: Random): Promise<Place> {
    const [started, receiver] = await Promise.all([
      HookNodes.start(backend, nodes, random),
      ReceiverProcess.start(badAnswers),
    ])
    const place = new Place(started, receiver)
    for (const { path, settings } of endpoints) {
      const body = { url: receiver.url(path), secret: receiver.secret, ...settings }
      const { data } = await started.api.admin().succeed('POST', '/app/webhook/create', { body })
      place.#endpointIds.push(data.endpoint_id)
    }
    return place
  }

  /** Numbers of events that the endpoints have accepted. */
  get arrived(): number {
    return Math.min(...endpoints.map(({ path }) => this.receiver.seen(path).events.size))
  }

  /** Enables the endpoints, which tries them and their waiting events at once. */
  async enable(): Promise<void> {
    for (const endpoint_id of this.#endpointIds) {
      const body = { endpoint_id, state: 'enabled' }
      await this.nodes.api.admin().succeed('POST', '/app/webhook/update', { body })
    }
  }

  /** Waits for a state; the operator enables endpoints again and again meanwhile. */
  async until(isReached: () => boolean | Promise<boolean>, what: string): Promise<void> {
    let next = performance.now() + operatorEveryMs
    await waitFor(
      async () => {
        if (await isReached()) return true
        if (performance.now() < next) return false
        await this.enable()
        next = performance.now() + operatorEveryMs
        return false
      },
      { what, timeoutMs: patienceMs, everyMs: 20 },
    )
  }

  async list(): Promise<{ waiting: number; dead: number; behind: number }[]> {
    return (await this.nodes.api.admin().succeed('GET', '/app/webhook/list')).data
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.nodes[Symbol.asyncDispose]()
    await this.receiver[Symbol.asyncDispose]()
  }
}

interface Setup {
  readonly backend: Backend
  readonly nodes: number
  readonly kills: number
}

async function survivesKills({ backend, nodes, kills }: Setup): Promise<void> {
  const random = new Random(seed)
  await using place = await Place.start(backend, nodes, random)
  const { receiver } = place
  const { api } = place.nodes
  const sessions = []
  for (let made = 0; made < users; made++) sessions.push(await api.newSession())
  const [owner] = sessions
  if (!owner) throw new Error('there is no user')
  const traffic = await EventTraffic.start(
    { users: sessions, random, api: () => place.nodes.api },
    owner,
  )
  let ofReceiver = 0
  for (let kill = 0; kill < kills; kill++) {
    const wanted = place.arrived + random.integer(1, eventsPerKill)
    await place.until(() => place.arrived >= wanted, 'more events arrive')
    await sleep(random.integer(0, 100))
    if (kill % 2 === 1) await place.nodes.killOne()
    else {
      ofReceiver++
      await receiver.kill()
      await sleep(random.integer(0, 200))
      await receiver.startAgain()
      if (!isFullRun || random.chance(0.7)) await place.enable()
    }
  }
  await traffic.stop()
  await place.enable()
  await using sql = await place.nodes.openSql()
  const all = await committed(sql)
  const isComplete = () =>
    endpoints.every(({ path }) => missing(all, receiver.seen(path)).length === 0)
  await place.until(isComplete, 'every committed event arrives')
  await place.until(
    async () => (await place.list()).every(({ waiting, behind }) => waiting + behind === 0),
    'the endpoints have nothing left to send',
  )
  for (const { path } of endpoints) {
    const seen = receiver.seen(path)
    const known = messageIds(seen.events.keys())
    const lost = [...traffic.sent].filter((id) => !known.has(id) && !traffic.recalled.has(id))
    expect(lost, `${path}: answered sends without an event`).toEqual([])
    expect(seen.disordered, `${path}: events after later ones of their key`).toEqual([])
  }
  expect((await place.list()).map(({ dead }) => dead)).toEqual([0, 0])
  expect(receiver.invalid).toEqual([])
  expect(traffic.refusals).toEqual([])
  const figures = endpoints.map(({ path }) => {
    const { events, repeated } = receiver.seen(path)
    return `${path} ${events.size} events, ${repeated} repeated`
  })
  console.log(
    `${backend.name}, nodes: ${nodes}, kills of nodes: ${kills - ofReceiver}, of the receiver: ${ofReceiver}; 0 lost, 0 reordered; ${figures.join('; ')}`,
  )
}

describe('webhooks of a service that is killed', () => {
  for (const backend of testBackends('durable')) {
    const isSqlite = backend.name === 'sqlite'
    // The quick run proves the rules; the full run proves the SQL of each database.
    if (isSqlite || isFullRun)
      it(`kills of the service and of the receiver lose and reorder nothing on ${backend.name}`, {
        timeout: timeoutMs,
      }, () => {
        const kills = isFullRun ? 25 : 3
        return survivesKills({ backend, nodes: 1, kills })
      })

    // A node takes over from a killed one after 10 s.
    if (!isSqlite && isFullRun)
      it(
        'kills of two nodes and of the receiver lose and reorder nothing',
        {
          timeout: timeoutMs,
        },
        () => survivesKills({ backend, nodes: 2, kills: 20 }),
      )
  }
})
