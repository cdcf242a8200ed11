/** Several nodes on one PostgreSQL with sessions on all of them: rates, processor time, latencies. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ServerProcess, startServer } from '@hermod/testkit'
import type { Builds, Storage, StoredServer } from '../measure/build.js'
import type { Effort } from '../measure/measure.js'
import type { DeviceLogin } from '../realtime/device.js'
import type { Latencies } from '../realtime/latencies.js'
import { makeRealtimeApp, type RealtimeApp } from '../realtime/realtime-population.js'
import { RunningSwarms } from '../realtime/realtime-processes.js'
import type { ReturnResult } from '../realtime/swarm.js'

/** Size of the set `nodes`. */
export interface NodesOptions {
  /** Connected devices, spread over the nodes, all members of one group. */
  readonly devices: number
}

/** Figures of so many nodes. */
export interface NodeCountFigures {
  readonly nodes: number
  readonly sendsPerSecond: number
  /** Processor time of all nodes. */
  readonly cpuUsPerSend: number
  readonly databaseCpuUsPerSend: number
  /** Bytes of the messages between nodes. */
  readonly busBytesPerSend: number
  /** From the send to the event on another node, at a quarter of the rate of one node. */
  readonly latency: Latencies
  /** Messages a second to the group of all devices, one after another. */
  readonly fanOutsPerSecond: number
  /** All devices open their sessions again. */
  readonly storm: ReturnResult
}

/** Cost of the end of one of three nodes for the others. */
export interface KillFigures {
  /** Latencies of messages between the other two, while the node is killed. */
  readonly latency: Latencies
  readonly errors: number
  /** All devices of the killed node come to another one and are in sync. */
  readonly moved: ReturnResult & { readonly devices: number }
}

/** Figures of the set `nodes`. */
export interface NodesFigures {
  readonly devices: number
  readonly counts: readonly NodeCountFigures[]
  readonly kill: KillFigures
}

const nodeCounts = [1, 2, 3]
const senders = 64
const killPerSecond = 200
const killAfterMs = 5_000
const killSeconds = 30
const env = { HERMOD_SECRET_KEY: `bench-${'k'.repeat(40)}` }

/** @param onProgress reports progress */
export async function measureNodes(
  storage: Storage,
  [build]: Builds,
  { devices, seconds }: NodesOptions & Effort,
  onProgress: (text: string) => void,
): Promise<NodesFigures[]> {
  if (storage.name === 'sqlite') return []
  await using server = await storage.start(build, env)
  onProgress(`nodes: ${devices} users`)
  const app = await makeRealtimeApp(server, devices)
  await server.settle()
  await using nodes = new Nodes(server, app)
  const counts: NodeCountFigures[] = []
  for (const count of nodeCounts) {
    onProgress(`nodes: ${count}`)
    await nodes.grow(count)
    const perSecond = (counts[0]?.sendsPerSecond ?? 0) / 4
    counts.push(await measureCount(storage, nodes, { seconds, perSecond }))
  }
  onProgress('nodes: a kill')
  return [{ devices, counts, kill: await measureKill(nodes) }]
}

/** The nodes, and the process of all devices. */
class Nodes implements AsyncDisposable {
  readonly #others: ServerProcess[] = []
  readonly swarms = new RunningSwarms()

  constructor(
    private readonly server: StoredServer,
    readonly app: RealtimeApp,
  ) {}

  get all(): readonly ServerProcess[] {
    return [this.server.process, ...this.#others]
  }

  async grow(count: number): Promise<void> {
    const { process } = this.server
    const { appId, adminToken, operatorToken, databaseUrl } = process
    while (this.all.length < count)
      this.#others.push(
        await startServer({
          appId,
          adminToken,
          operatorToken,
          databaseUrl: databaseUrl ?? '',
          env,
        }),
      )
  }

  /** Opens all devices. @param placesOf the nodes of the sender and the receiver of a pair */
  async open(placesOf: (pair: number) => readonly [number, number]): Promise<ReturnResult> {
    await this.swarms.run('service', 'close')
    const { logins } = this.app
    const half = Math.floor(logins.length / 2)
    const placed = logins.map((login, index): DeviceLogin => {
      const place = placesOf(index % half)[index < half ? 0 : 1]
      return { ...login, port: portOf(this.all[place] as ServerProcess) }
    })
    const { appId } = this.server.process
    return this.swarms.run('service', 'open', { port: 0, appId }, placed)
  }

  cpuMs(): number {
    return this.all.reduce((sum, node) => sum + node.cpuMs(), 0)
  }

  async busBytes(): Promise<number> {
    const texts = await Promise.all(
      this.all.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
    )
    return texts.reduce(
      (sum, text) => sum + Number(/^hermod_bus_sent_bytes_total (\d+)/m.exec(text)?.[1] ?? 0),
      0,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.swarms[Symbol.dispose]()
    for (const node of this.#others) await node[Symbol.asyncDispose]()
  }
}

async function measureCount(
  storage: Storage,
  nodes: Nodes,
  { seconds, perSecond }: { readonly seconds: number; readonly perSecond: number },
): Promise<NodeCountFigures> {
  const count = nodes.all.length
  const spread = (pair: number) => [pair % count, (pair + 1) % count] as const
  await nodes.open(spread)
  const { swarms, app } = nodes
  await swarms.run('service', 'oneToOne', { seconds: Math.ceil(seconds / 4), devices: senders })
  const before = { cpu: nodes.cpuMs(), database: storage.cpuMs(), bytes: await nodes.busBytes() }
  const sends = await swarms.run('service', 'oneToOne', { seconds, devices: senders })
  const sent = sends.perSecond * seconds
  const perSend = (ms: number) => (ms * 1_000) / sent
  const used = {
    cpuUsPerSend: perSend(nodes.cpuMs() - before.cpu),
    databaseCpuUsPerSend: perSend(storage.cpuMs() - before.database),
    busBytesPerSend: ((await nodes.busBytes()) - before.bytes) / sent,
  }
  const paced = { seconds, devices: senders, perSecond: perSecond || sends.perSecond / 4 }
  const { latency } = await swarms.run('service', 'oneToOne', paced)
  const order = { groupId: app.groupId, burst: 1, window: 2, seconds }
  const { messagesPerSecond: fanOutsPerSecond } = await swarms.run('service', 'fanOut', order)
  const storm = await nodes.open(spread)
  return {
    nodes: count,
    sendsPerSecond: sends.perSecond,
    ...used,
    latency,
    fanOutsPerSecond,
    storm,
  }
}

/** Messages between two nodes while the third one, with the other devices, is killed. */
async function measureKill(nodes: Nodes): Promise<KillFigures> {
  const [first, , killed] = nodes.all as [ServerProcess, ServerProcess, ServerProcess]
  await nodes.open((pair) => (pair < senders ? [0, 1] : [2, 2]))
  const { swarms, app } = nodes
  const order = { seconds: killSeconds, devices: senders, perSecond: killPerSecond }
  const sends = swarms.run('service', 'oneToOne', order)
  await sleep(killAfterMs)
  await killed.kill9()
  const { latency, errors } = await sends
  const ports = { from: portOf(killed), to: portOf(first) }
  const moved = await swarms.run('service', 'move', ports)
  return { latency, errors, moved: { ...moved, devices: app.logins.length - 2 * senders } }
}

function portOf({ url }: ServerProcess): number {
  return Number(new URL(url).port)
}
