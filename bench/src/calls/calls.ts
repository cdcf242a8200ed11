/**
 * Calls per event: clients of one group that all show it, an event for all of them, and the calls
 * that they make then; and the sends of a user with many conversations, under the default limits.
 */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { startProcess } from '../load/processes.js'
import type { Build, Builds, Storage, StoredServer } from '../measure/build.js'
import { createImportedUsers } from '../population/imported-users.js'
import { makeRealtimeApp, type RealtimeApp } from '../realtime/realtime-population.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import type { ClientsAnswer, ClientsOrder } from './clients.js'

/** Size of the set `calls`. */
export interface CallsOptions {
  /** Connected clients, all members of one group. */
  readonly clients: number
}

/** The calls after one event. */
export interface EventCalls {
  readonly event: 'rename' | 'join' | 'recall'
  /** Within a second after the event, and within ten. */
  readonly inSecond: number
  readonly inTenSeconds: number
}

/** Calls that clients make after events, on one database. */
export interface CallsFigures extends CallsOptions {
  readonly database: DatabaseName
  readonly events: readonly EventCalls[]
  readonly conversations: number
  /** The 95th percentile of the sends of a user with so many conversations. */
  readonly sendP95Ms: number
}

const peers = 300
const groups = 200
const sends = 100
const quietMs = 3_000
/** Joins in large groups are collected for a second. */
const collectedMs = 1_000
const secondMs = 1_000

/** @param onProgress reports progress */
export async function measureCalls(
  storage: Storage,
  [build]: Builds,
  { clients }: CallsOptions,
  onProgress: (text: string) => void,
): Promise<CallsFigures[]> {
  const events = await measureEvents(storage, build, clients, onProgress)
  onProgress(`calls: ${peers + groups} conversations`)
  const sendP95Ms = await measureSends(storage, build)
  return [{ database: storage.name, clients, events, conversations: peers + groups, sendP95Ms }]
}

async function measureEvents(
  storage: Storage,
  build: Build,
  clients: number,
  onProgress: (text: string) => void,
): Promise<readonly EventCalls[]> {
  await using server = await storage.start(build)
  onProgress(`calls: ${clients} members`)
  const app = await makeRealtimeApp(server, clients)
  const { process, host } = serverOf(server)
  const [newcomer] = await createImportedUsers(host, process.appId, 'newcomer', 1)
  onProgress(`calls: ${clients} clients`)
  using running = await RunningClients.start({
    ...addressOf(server),
    tokens: app.logins.map(({ token }) => token),
    groupId: app.groupId,
  })
  await running.online()
  await quiet(process.url)
  const owner = app.api.admin({ userId: app.logins[0]?.userId as number })
  const post = (path: string, body: object) => owner.succeed('POST', path, { body })
  const msg_id = await sendOne(app)
  await quiet(process.url)
  const of = { group_id: app.groupId }
  const acts: Readonly<Record<EventCalls['event'], () => Promise<unknown>>> = {
    rename: () => post('/group/info/name', { ...of, value: 'Renamed' }),
    join: () => post('/group/admin/member_join', { ...of, user_list: [newcomer] }),
    recall: () => post('/message/recall', { conversation_id: app.groupId, msg_id }),
  }
  const figures: EventCalls[] = []
  for (const event of ['rename', 'join', 'recall'] as const) {
    onProgress(`calls: ${event}`)
    figures.push(await callsAfter(process.url, event, acts[event]))
    await quiet(process.url)
  }
  return figures
}

async function callsAfter(
  url: string,
  event: EventCalls['event'],
  act: () => Promise<unknown>,
): Promise<EventCalls> {
  const before = await readCalls(url)
  await act()
  await sleep(event === 'join' ? collectedMs + secondMs : secondMs)
  // The call itself is one.
  const inSecond = (await readCalls(url)) - before - 1
  await sleep(9 * secondMs)
  return { event, inSecond, inTenSeconds: (await readCalls(url)) - before - 1 }
}

async function sendOne({ api, logins, groupId }: RealtimeApp): Promise<number> {
  const own = api.admin({ userId: logins[0]?.userId as number })
  const body = { type: 2, targets: [groupId], content_type: 0, content: 'to be recalled' }
  const answer = await own.succeed('POST', '/message/send', { body })
  const [msgId] = (answer as { readonly msg_ids?: readonly number[] }).msg_ids ?? []
  return Number(msgId)
}

/** Sends of a client with many conversations, one after another, under the default limits. */
async function measureSends(storage: Storage, build: Build): Promise<number> {
  await using server = await storage.start(build, { HERMOD_RATE_LIMIT: undefined })
  const { process, host } = serverOf(server)
  const ids = await createImportedUsers(host, process.appId, 'peer', peers + 1)
  const [own, ...others] = ids as [number, ...number[]]
  const caller = process.api.admin({ userId: own })
  const post = (path: string, body: object) => caller.succeed('POST', path, { body })
  await post('/user/add_roster', { list: others })
  await post('/message/send', { type: 1, targets: others, content_type: 0, content: 'hello' })
  for (let index = 0; index < groups; index++)
    await post('/group/create', { name: `group ${index}` })
  const token = (await process.api.options.issueToken?.(process.appId, own)) ?? ''
  const order = { ...addressOf(server), tokens: [token], sendTo: others.slice(0, sends) }
  using running = await RunningClients.start(order)
  await running.online()
  const ms = (await running.sent()).toSorted((a, b) => a - b)
  return ms[Math.floor(ms.length * 0.95)] ?? Number.NaN
}

function serverOf({ process }: StoredServer) {
  return { process, host: process.api.as(process.operatorToken) }
}

function addressOf({ process: { url, appId } }: StoredServer) {
  return { url, appId }
}

/** Waits until no call has come for a while. */
async function quiet(url: string): Promise<void> {
  for (let before = -1, now = await readCalls(url); now > before; now = await readCalls(url)) {
    before = now
    await sleep(quietMs)
  }
}

/**
 * Probes of connections, which clients send when their process was held up for seconds: refused,
 * since their list is empty.
 */
const probes = 'operation="message.delivered",code="10002"'

/** Reads how many calls a server has answered, over HTTP and sockets, without probes. */
async function readCalls(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const answers = text.replaceAll(probes, '')
  return [...answers.matchAll(/^hermod_request_answers_total\{[^}]+\} (\d+)/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  )
}

/** The clients, in a separate process. */
class RunningClients implements Disposable {
  readonly #child: ChildProcess = startProcess('../calls/clients')
  readonly #answers: ClientsAnswer[] = []
  #wake: () => void = () => {}

  static async start(order: ClientsOrder): Promise<RunningClients> {
    const clients = new RunningClients()
    clients.#child.on('message', (answer: ClientsAnswer) => {
      clients.#answers.push(answer)
      clients.#wake()
    })
    clients.#child.once('exit', () => {
      clients.#answers.push({ type: 'failed', error: 'the process of the clients has ended' })
      clients.#wake()
    })
    clients.#child.send(order)
    return clients
  }

  async online(): Promise<void> {
    await this.#next()
  }

  async sent(): Promise<readonly number[]> {
    const answer = await this.#next()
    return answer.type === 'sent' ? answer.ms : []
  }

  async #next(): Promise<ClientsAnswer> {
    while (this.#answers.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    const answer = this.#answers.shift() as ClientsAnswer
    if (answer.type === 'failed') throw new Error(answer.error)
    return answer
  }

  [Symbol.dispose](): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
