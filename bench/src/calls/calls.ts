/**
 * Calls per event: clients of one group that all show it, an event for all of them, and the calls
 * that they make then; and the sends of a user with many conversations, under the default limits.
 */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '@hermod/testkit'
import { startProcess } from '../load/processes.js'
import type { Build, Builds, Storage, StoredServer } from '../measure/build.js'
import { createImportedUsers } from '../population/imported-users.js'
import { makeRealtimeApp, type RealtimeApp } from '../realtime/realtime-population.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import type { ClientsAnswer, ClientsOrder, ScreenOrder } from './clients.js'

/** Size of the set `calls`. */
export interface CallsOptions {
  /** Connected clients, all members of one group. */
  readonly clients: number
}

/** The events of the group, in this order; from `message` on all screens show its messages. */
export const groupEvents = [
  'rename',
  'join',
  'recall',
  'message',
  'reaction',
  'pin',
  'streamBegin',
  'delta',
  'streamEnd',
  'deltaGap',
  'replyToUnread',
] as const

/** An event of the group. */
export type GroupEvent = (typeof groupEvents)[number]

/** The calls after one event. */
export interface EventCalls {
  readonly event: GroupEvent
  /** The most within one second, until the calls have ended, and all of them. */
  readonly inSecond: number
  readonly inAll: number
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
/** More than a client loads at once. */
const laterMessages = 100
const quietMs = 3_000
const watchedMs = 10_000
/** Two samples are a second. */
const sampleMs = 500
const quietSamples = quietMs / sampleMs

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
  const owner = new Owner(app, newcomer as number)
  await owner.sendOld()
  onProgress(`calls: ${clients} clients`)
  using running = await RunningClients.start({
    ...addressOf(server),
    tokens: app.logins.map(({ token }) => token),
    groupId: app.groupId,
  })
  await running.online()
  await quiet(process.url)
  const acts = await owner.acts()
  await quiet(process.url)
  const figures: EventCalls[] = []
  for (const event of groupEvents) {
    onProgress(`calls: ${event}`)
    if (event === 'message') await running.show('show')
    if (event === 'deltaGap') await owner.loseText(running)
    await quiet(process.url)
    figures.push(await callsAfter(process.url, event, acts[event]))
  }
  return figures
}

/** The owner of the group, who makes its events. */
class Owner {
  readonly #caller: Api
  readonly #group: { readonly conversation_id: number; readonly type: number }
  #original = 0
  #stream = 0
  #index = 0

  constructor(
    { api, logins, groupId }: RealtimeApp,
    private readonly newcomer: number,
  ) {
    this.#caller = api.admin({ userId: logins[0]?.userId as number })
    this.#group = { conversation_id: groupId, type: 2 }
  }

  /** Sends a message, and so many others that no screen loads it. */
  async sendOld(): Promise<void> {
    this.#original = await this.#send({})
    for (let count = 0; count < laterMessages; count++) await this.#send({})
  }

  /** Sends the messages that the events need, and returns the calls that make them. */
  async acts(): Promise<Readonly<Record<GroupEvent, () => Promise<unknown>>>> {
    const { conversation_id: group_id } = this.#group
    const of = { group_id }
    const msg_id = await this.#send({})
    const recalled = await this.#send({})
    const message = { ...this.#group, msg_id }
    return {
      rename: () => this.#post('/group/info/name', { ...of, value: 'Renamed' }),
      join: () => this.#post('/group/admin/member_join', { ...of, user_list: [this.newcomer] }),
      recall: () => this.#post('/message/recall', { conversation_id: group_id, msg_id: recalled }),
      message: () => this.#send({}),
      reaction: () => this.#post('/message/reaction', { ...message, key: 'yes', on: true }),
      pin: () => this.#post('/message/pin', { conversation_id: group_id, msg_id }),
      streamBegin: () => this.#beginStream(),
      delta: () => this.#append(),
      streamEnd: () => this.#append({ end: { state: 'done' } }),
      deltaGap: () => this.#append(),
      replyToUnread: () => this.#send({ reply_to: this.#original }),
    }
  }

  /** Text of a stream that comes while no screen shows the group is missing when screens show it again. */
  async loseText(running: RunningClients): Promise<void> {
    await running.show('hide')
    await this.#beginStream()
    await this.#append()
    // All clients have read and dropped the text.
    await sleep(quietMs)
    await running.show('show')
  }

  async #beginStream(): Promise<void> {
    this.#stream = await this.#send({ stream: { kind: 'text' } })
    this.#index = 0
  }

  #append(more: object = {}): Promise<unknown> {
    const piece = { msg_id: this.#stream, index: ++this.#index, text: 'some words ' }
    return this.#post('/message/stream/append', { ...this.#group, ...piece, ...more })
  }

  async #send(more: object): Promise<number> {
    const { conversation_id, type } = this.#group
    const text = { content_type: 0, content: 'a text' }
    const body = { type, targets: [conversation_id], ...text, ...more }
    const { msg_ids } = (await this.#post('/message/send', body)) as {
      readonly msg_ids: readonly number[]
    }
    return Number(msg_ids[0])
  }

  #post(path: string, body: object): Promise<unknown> {
    return this.#caller.succeed('POST', path, { body })
  }
}

async function callsAfter(
  url: string,
  event: EventCalls['event'],
  act: () => Promise<unknown>,
): Promise<EventCalls> {
  const before = await readCalls(url)
  const startedAt = performance.now()
  await act()
  // The call itself is one.
  const samples = [before + 1, before + 1]
  const isOver = () =>
    performance.now() - startedAt > watchedMs && samples.at(-1) === samples.at(-1 - quietSamples)
  while (!isOver()) {
    await sleep(sampleMs)
    samples.push(await readCalls(url))
  }
  const inSeconds = samples.slice(2).map((count, index) => count - (samples[index] as number))
  return { event, inSecond: Math.max(...inSeconds), inAll: (samples.at(-1) ?? 0) - before - 1 }
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

  async show(order: ScreenOrder): Promise<void> {
    this.#child.send(order)
    await this.#next()
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
