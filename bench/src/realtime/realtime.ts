/** Realtime: what thousands of connected devices cost, beside a bare WebSocket server. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { freePort } from '@hermod/testkit'
import { load } from '../load/processes.js'
import { type Builds, portOf, type Storage, type StoredServer } from '../measure/build.js'
import type { Effort } from '../measure/measure.js'
import { median } from '../measure/statistics.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import type { LagFigures } from './lag-probe.js'
import type { Latencies } from './latencies.js'
import {
  addConversations,
  addGroupsAndContacts,
  makeRealtimeApp,
  type RealtimeApp,
  sendFromEach,
  sendToGroup,
} from './realtime-population.js'
import { RunningSwarms, readLag, startBareGateway } from './realtime-processes.js'
import type { FanOutResult, ReturnResult, SendResult } from './swarm.js'

/** Size of the set `realtime`. */
export interface RealtimeOptions {
  /** Connected devices, all members of one group. */
  readonly devices: number
  /** Conversations of the device that was away; a twenty-fifth of them have new messages. */
  readonly conversations: number
}

/** A fan-out beside the bare server. Rates are medians of the rounds. */
export interface FanOutRow {
  readonly burst: number
  readonly servicePerSecond: number
  readonly barePerSecond: number
  /** The median of the ratios of each round. */
  readonly ofBare: number
  /** CPU time of the process of the devices by wall time: near 1 it is the bottleneck. */
  readonly devicesCpuShare: number
}

/** Figures of the set `realtime` on one database. */
export interface RealtimeFigures {
  readonly database: DatabaseName
  readonly devices: number
  readonly open: ReturnResult
  readonly fanOuts: readonly FanOutRow[]
  /** One message a second to all. */
  readonly toAll: Latencies
  readonly lag: LagFigures
  /** The figures of the idle service, which shows the share of the machine. */
  readonly idleLag: LagFigures
  readonly socketPerSecond: number
  readonly httpPerSecond: number
  readonly socketOfHttp: number
  /** At half of the rate over the socket. */
  readonly oneToOne: SendResult
  /** The same while a group gets a message a second. */
  readonly besideFanOut: SendResult
  readonly storm: ReturnResult
  readonly restart: ReturnResult
  /** The device that was away, with the size of its list. */
  readonly list: ReturnResult
  readonly behind: ReturnResult & { readonly messages: number; readonly conversations: number }
  /** Without a change: open and sync. */
  readonly unchanged: ReturnResult
  readonly idleBytes: number
  /** The same with 20 groups and 30 contacts of each user. */
  readonly idleWithGroupsBytes: number
}

const senders = 64
const burstMessages = 10
const messagesOfPeer = 50
const behindShare = 1 / 25
const window = 50
const idleMs = 3_000
const heartbeatMs = 26_000

/** @param onProgress reports progress */
export async function measureRealtime(
  storage: Storage,
  [build]: Builds,
  { devices, conversations, seconds, rounds }: RealtimeOptions & Effort,
  onProgress: (text: string) => void,
): Promise<RealtimeFigures[]> {
  requireDescriptors(devices)
  const lagPort = await freePort()
  const probe = pathToFileURL(resolve(import.meta.dirname, 'lag-probe.js')).href
  const env = { NODE_OPTIONS: `--import ${probe}`, BENCH_LAG_PORT: String(lagPort) }
  await using server = await storage.start(build, env)
  using swarms = new RunningSwarms()
  onProgress(`realtime: ${devices} users`)
  const app = await makeRealtimeApp(server, devices)
  const service = () => ({ port: portOf(server), appId: server.process.appId })

  onProgress('realtime: idle')
  await server.settle()
  // The first connections make the devices; a restart leaves only what idle connections cost.
  const open = await swarms.run('service', 'open', service(), app.logins)
  const idleBytes = await idleBytesOf(server, swarms, app, service)
  const idleLag = await readLag(lagPort)

  const fanOuts: FanOutRow[] = []
  await swarms.run('service', 'fanOut', { groupId: app.groupId, burst: 1, window: 1, seconds: 1 })
  using bare = await startBareGateway(await swarms.run('service', 'sample'))
  await swarms.run('bare', 'open', { port: bare.port, appId: '' }, app.logins)
  for (const burst of [1, burstMessages]) {
    onProgress(`realtime: fan-out, ${burst} at once`)
    fanOuts.push(await measureFanOut(swarms, app, { burst, seconds, rounds }))
  }
  await swarms.run('bare', 'close')

  onProgress('realtime: one message a second')
  await readLag(lagPort)
  const everySecond = { groupId: app.groupId, burst: 1, window: 1, perSecond: 1 }
  const { toAll } = await swarms.run('service', 'fanOut', {
    ...everySecond,
    seconds: seconds * rounds,
  })
  const lag = await readLag(lagPort)

  onProgress('realtime: sends')
  const sends = await measureSends(server, swarms, app, { seconds, rounds })
  const half = { seconds, devices: senders, perSecond: sends.socketPerSecond / 2 }
  const oneToOne = await swarms.run('service', 'oneToOne', half)
  const fanOut = { ...everySecond, seconds }
  const besideFanOut = await swarms.run('service', 'beside', half, fanOut)

  onProgress('realtime: reconnect of all')
  // A heartbeat brings the newest pos.
  await sleep(heartbeatMs)
  await swarms.run('service', 'cutAll')
  await sendToGroup(app)
  const storm = await swarms.run('service', 'comeBack')

  onProgress('realtime: restart of the service')
  await server.restart()
  const restart = await swarms.run('service', 'comeBack')

  onProgress('realtime: a device that was away')
  const away = await measureAway(swarms, app, conversations)

  await swarms.run('service', 'close')
  onProgress('realtime: idle, with groups and contacts')
  await addGroupsAndContacts(server, app)
  await server.settle()
  const idleWithGroupsBytes = await idleBytesOf(server, swarms, app, service)
  const messages = { fanOuts, toAll, lag, idleLag, ...sends, oneToOne, besideFanOut }
  const returns = { storm, restart, ...away, idleBytes, idleWithGroupsBytes }
  return [{ database: storage.name, devices, open, ...messages, ...returns }]
}

/** Resident memory of an idle connection, from a server that has just started. */
export async function idleBytesOf(
  server: StoredServer,
  swarms: RunningSwarms,
  { logins }: RealtimeApp,
  service: () => { readonly port: number; readonly appId: string },
): Promise<number> {
  await swarms.run('service', 'close')
  await server.restart()
  // The first calls load and compile the service.
  await swarms.run('service', 'open', service(), logins.slice(0, Math.ceil(logins.length / 50)))
  await sleep(idleMs)
  const before = server.process.rssBytes()
  await swarms.run('service', 'open', service(), logins)
  await sleep(idleMs)
  return (server.process.rssBytes() - before) / logins.length
}

async function measureFanOut(
  swarms: RunningSwarms,
  { groupId }: RealtimeApp,
  { burst, seconds, rounds }: Effort & { readonly burst: number },
): Promise<FanOutRow> {
  const order = { burst, seconds, window: 2 }
  const results: (readonly [service: FanOutResult, bare: FanOutResult])[] = []
  for (let round = 0; round < rounds; round++) {
    const bare = await swarms.run('bare', 'fanOut', { ...order, groupId: null })
    results.push([await swarms.run('service', 'fanOut', { ...order, groupId }), bare])
  }
  const rate = ({ messagesPerSecond }: FanOutResult) => messagesPerSecond
  return {
    burst,
    servicePerSecond: median(results.map(([service]) => rate(service))),
    barePerSecond: median(results.map(([, bare]) => rate(bare))),
    ofBare: median(results.map(([service, bare]) => rate(service) / rate(bare))),
    devicesCpuShare: median(results.map(([service]) => service.cpuShare)),
  }
}

/** Sends over sockets and over HTTP, in turns, to users who are connected. */
async function measureSends(
  server: StoredServer,
  swarms: RunningSwarms,
  { logins }: RealtimeApp,
  { seconds, rounds }: Effort,
): Promise<Pick<RealtimeFigures, 'socketPerSecond' | 'httpPerSecond' | 'socketOfHttp'>> {
  const { appId } = server.process
  const half = Math.floor(logins.length / 2)
  const results: (readonly [socket: number, http: number])[] = []
  let firstTransaction = 1
  for (let round = 0; round < rounds; round++) {
    const { succeeded, seconds: measured } = await load({
      port: portOf(server),
      connections: senders,
      plan: {
        kind: 'send',
        appId,
        users: logins.map(({ userId, token }) => ({ id: userId, token })),
        offsets: [[half]],
        firstTransaction,
      },
      warmUpMs: seconds * 250,
      measureMs: seconds * 1_000,
      minBodyBytes: 0,
    })
    firstTransaction += 10_000_000
    const socket = await swarms.run('service', 'oneToOne', { seconds, devices: senders })
    results.push([socket.perSecond, succeeded / measured])
  }
  return {
    socketPerSecond: median(results.map(([socket]) => socket)),
    httpPerSecond: median(results.map(([, http]) => http)),
    socketOfHttp: median(results.map(([socket, http]) => socket / http)),
  }
}

async function measureAway(
  swarms: RunningSwarms,
  app: RealtimeApp,
  conversations: number,
): Promise<Pick<RealtimeFigures, 'list' | 'behind' | 'unchanged'>> {
  const [own, ...peers] = app.logins.map(({ userId }) => userId) as [number, ...number[]]
  await addConversations(app, peers.slice(0, conversations))
  const list = await swarms.run('service', 'list', 0)
  await swarms.run('service', 'cut', 0)
  const writers = peers.slice(0, Math.max(1, Math.floor(conversations * behindShare)))
  await sendFromEach(app.api, writers, own, messagesOfPeer)
  const behind = await swarms.run('service', 'comeBackAlone', 0, window, 1)
  await sleep(heartbeatMs)
  await swarms.run('service', 'cut', 0)
  const unchanged = await swarms.run('service', 'comeBackAlone', 0, 0)
  const messages = writers.length * messagesOfPeer
  return { list, behind: { ...behind, messages, conversations: writers.length }, unchanged }
}

/** @throws Error when a process may not open as many sockets */
export function requireDescriptors(devices: number): void {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  const hard = Number(
    /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY,
  )
  // The devices of the service and of the bare server are in one process.
  const needed = 2 * devices + 1_000
  if (hard < needed)
    throw new Error(`${devices} devices need ${needed} descriptors, and ulimit -Hn says ${hard}`)
}
