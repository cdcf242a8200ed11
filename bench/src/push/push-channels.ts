/** Measures the service on each channel, compared with a bare HTTP client. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type SimulatedChannel, simulatedChannels } from '@hermod/push-simulator'
import { type Storage, type StoredServer, type Usage, usageOf } from '../measure/build.js'
import { type Effort, quiet } from '../measure/measure.js'
import { median, ratioOf } from '../measure/statistics.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import type { BareOrder } from './bare-run.js'
import { boundBy, channelLimits } from './channel-limits.js'
import { makePushApp, notify, type PushApp, sentOf, warmUp } from './push-app.js'
import { loadBare, type RunningSimulator } from './push-processes.js'

/** One channel; figures are medians of the rounds. */
export interface PushChannelRow {
  readonly database: DatabaseName
  readonly channel: SimulatedChannel
  readonly devices: number
  readonly sendsPerRequest: number
  /** From the first outcome to the last one. */
  readonly sendsPerSecond: number
  readonly barePerSecond: number
  /** The median of the shares of each round. */
  readonly ofBare: number
  readonly serverCpuUs: number
  readonly simulatorCpuUs: number
  readonly databaseCpuUs: number
  /** CPU time of the bare client. */
  readonly bareCpuUs: number
  /** Null: not limited by a rate of the service. */
  readonly boundBy: string | null
}

/** CPU figures are per send. */
interface Round {
  readonly perSecond: number
  readonly serverCpuUs: number
  readonly simulatorCpuUs: number
  readonly databaseCpuUs: number
}

interface BareRound {
  readonly perSecond: number
  readonly cpuUs: number
}

const pollMs = 20
const stuckMs = 30_000

/** Measures sends on each channel, in turns with a bare client. */
export async function measureChannels(
  storage: Storage,
  server: StoredServer,
  simulator: RunningSimulator,
  {
    devices,
    seconds,
    rounds,
    onProgress,
  }: Effort & { readonly devices: number; onProgress(text: string): void },
): Promise<PushChannelRow[]> {
  const usage = usageOf(server, storage)
  const rows: PushChannelRow[] = []
  for (const channel of simulatedChannels) {
    onProgress(`push: ${devices} devices over ${channel}`)
    const app = await makePushApp(server, simulator.certificates[channel], devices)
    await warmUp(app)
    const own: Round[] = []
    const bare: BareRound[] = []
    let sendsPerRequest = Number.NaN
    for (let round = 0; round < rounds; round++) {
      await quiet([usage])
      await simulator.sends(channel)
      own.push(await sendToAll(app, usage, simulator))
      const { requests, count } = await simulator.sends(channel)
      sendsPerRequest = devices / count
      bare.push(await bareRound({ channel, simulator, requests, sendsPerRequest, seconds }))
    }
    rows.push(channelRow(storage.name, app, { own, bare, sendsPerRequest }))
  }
  return rows
}

/** @throws Error when sending stops although devices are left */
async function sendToAll(app: PushApp, usage: Usage, simulator: RunningSimulator): Promise<Round> {
  const used = () => [usage.serverCpuMs(), simulator.cpuMs(), usage.databaseCpuMs()] as const
  const before = used()
  const taskId = await notify(app)
  let first: { readonly at: number; readonly sent: number } | null = null
  let last = { at: performance.now(), sent: 0 }
  while (last.sent < app.userIds.length) {
    await sleep(pollMs)
    const sent = await sentOf(app, taskId)
    if (sent > last.sent) last = { at: performance.now(), sent }
    if (sent > 0) first ??= last
    if (performance.now() - last.at > stuckMs)
      throw new Error(`${app.channel}: after ${sent} sends there were no more`)
  }
  const after = used()
  const cpuUs = (index: 0 | 1 | 2) => ((after[index] - before[index]) * 1000) / last.sent
  return {
    perSecond: ((last.sent - (first?.sent ?? 0)) * 1000) / (last.at - (first?.at ?? 0)),
    serverCpuUs: cpuUs(0),
    simulatorCpuUs: cpuUs(1),
    databaseCpuUs: cpuUs(2),
  }
}

async function bareRound({
  channel,
  simulator,
  requests,
  sendsPerRequest,
  seconds,
}: {
  readonly channel: SimulatedChannel
  readonly simulator: RunningSimulator
  readonly requests: BareOrder['requests']
  readonly sendsPerRequest: number
  readonly seconds: number
}): Promise<BareRound> {
  const { maxInFlight, maxConnections = maxInFlight } = channelLimits[channel]
  const { endpoint } = simulator.certificates[channel]
  const result = await loadBare({
    url: endpoint.sendUrl,
    ca: endpoint.ca,
    isHttp2: channel === 'ios_gw',
    requests,
    atOnce: maxInFlight,
    connections: maxConnections,
    warmUpMs: seconds * 250,
    measureMs: seconds * 1000,
  })
  const sends = result.requests * sendsPerRequest
  return { perSecond: sends / result.seconds, cpuUs: (result.cpuMs * 1000) / sends }
}

function channelRow(
  database: DatabaseName,
  { channel, userIds }: PushApp,
  {
    own,
    bare,
    sendsPerRequest,
  }: {
    readonly own: readonly Round[]
    readonly bare: readonly BareRound[]
    readonly sendsPerRequest: number
  },
): PushChannelRow {
  const rates = own.map(({ perSecond }) => perSecond)
  const bareRates = bare.map(({ perSecond }) => perSecond)
  const perSecond = median(rates)
  return {
    database,
    channel,
    devices: userIds.length,
    sendsPerRequest,
    sendsPerSecond: perSecond,
    barePerSecond: median(bareRates),
    ofBare: ratioOf(rates, bareRates).median,
    serverCpuUs: median(own.map(({ serverCpuUs }) => serverCpuUs)),
    simulatorCpuUs: median(own.map(({ simulatorCpuUs }) => simulatorCpuUs)),
    databaseCpuUs: median(own.map(({ databaseCpuUs }) => databaseCpuUs)),
    bareCpuUs: median(bare.map(({ cpuUs }) => cpuUs)),
    boundBy: boundBy(channelLimits[channel], { perSecond, sendsPerRequest }),
  }
}
