/** Webhooks: the rate of events, their latency, and their cost for the senders of messages. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadResult } from '../load/load-run.js'
import {
  type Build,
  type Builds,
  type Storage,
  type StoredServer,
  usageOf,
} from '../measure/build.js'
import { type Effort, quiet, usedCpuMs } from '../measure/measure.js'
import { median } from '../measure/statistics.js'
import { loadBare } from '../push/push-processes.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import type { ReceivedFigures } from './receiver.js'
import { type RunningReceiver, startReceiver } from './receiver-process.js'
import { WebhookApp } from './webhook-app.js'

/** Size of the set `webhooks`. */
export interface WebhookOptions {
  /** Events that a receiver missed while it was away. */
  readonly events: number
}

/** Events that are sent as fast as possible. */
export interface WebhookRate {
  readonly batchSize: number
  readonly events: number
  readonly seconds: number
  readonly perSecond: number
  /** Events a second of a client that repeats the same requests. */
  readonly barePerSecond: number
  readonly disordered: number
}

/** Figures of the set `webhooks` on one database. */
export interface WebhookFigures {
  readonly database: DatabaseName
  readonly rates: readonly WebhookRate[]
  /** From the time of a committed event to its arrival, at {@link eventsPerSecond}. */
  readonly latency: ReceivedFigures
  readonly disordered: number
  readonly sends: {
    readonly withoutP50Ms: number
    readonly withP50Ms: number
    readonly withoutP99Ms: number
    readonly withP99Ms: number
  }
  /** The slowest p99 of nine endpoints, without and with a tenth that never answers. */
  readonly nine: { readonly aloneP99Ms: number; readonly besideP99Ms: number }
  /** Share of a core that idle endpoints need: 200 applications with 20 each. */
  readonly idle: { readonly withoutCores: number; readonly withCores: number }
  readonly errors: number
  readonly errorSamples: readonly string[]
}

/** Rate at which the latency is measured. */
export const eventsPerSecond = 1_000
const nineEventsPerSecond = 50
const concurrency = 16
const singleShare = 0.2
const idleApps = 200
const idleEndpoints = 20
/** Endpoints are noticed each second. */
const noticedMs = 2_500
const env = { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' }

type OnProgress = (text: string) => void

/** @param onProgress reports progress */
export async function measureWebhooks(
  storage: Storage,
  [build]: Builds,
  { events, seconds, rounds }: WebhookOptions & Effort,
  onProgress: OnProgress,
): Promise<WebhookFigures[]> {
  using receiver = await startReceiver()
  await using server = await storage.start(build, env)
  const place: Place = { server, storage, receiver, seconds, onProgress }
  const rates = [
    await measureRate(place, 1, Math.round(events * singleShare)),
    await measureRate(place, 100, events),
  ]
  const atRate = await measureAtRate(place, rounds)
  const nine = await measureNine(place)
  const idle = await measureIdle(place, build)
  const loads = [...atRate.loads, ...nine.loads]
  const figures = {
    database: storage.name,
    rates,
    latency: atRate.latency,
    disordered:
      atRate.latency.disordered + rates.reduce((all, { disordered }) => all + disordered, 0),
    sends: atRate.sends,
    nine,
    idle,
    errors: loads.reduce((total, { errors }) => total + errors, 0),
    errorSamples: [...new Set(loads.flatMap(({ errorSamples }) => errorSamples))],
  }
  return [figures]
}

interface Place {
  readonly server: StoredServer
  readonly storage: Storage
  readonly receiver: RunningReceiver
  readonly seconds: number
  readonly onProgress: OnProgress
}

/** Measures the catching up of a receiver that was away, and then a bare client. */
async function measureRate(
  { server, storage, receiver, seconds, onProgress }: Place,
  batchSize: number,
  events: number,
): Promise<WebhookRate> {
  const path = `/rate-${batchSize}`
  const app = await WebhookApp.make(server)
  const endpoint = await app.addEndpoint(receiver.url(path), {
    batch_size: batchSize,
    concurrency,
  })
  await app.setState(endpoint, 'disabled')
  await sleep(noticedMs)
  onProgress(`webhooks: ${events} messages for batches of ${batchSize}`)
  await app.fill(events)
  await server.settle()
  await quiet([usageOf(server, storage)])
  onProgress(`webhooks: sending batches of ${batchSize}`)
  await app.setState(endpoint, 'enabled')
  const { sample, ms, disordered } = await receiver.received({ path, events })
  const bare = await loadBare({
    url: receiver.url(''),
    ca: '',
    isHttp2: false,
    requests: sample,
    atOnce: concurrency,
    connections: concurrency,
    warmUpMs: 1_000,
    measureMs: seconds * 1000,
  })
  await app.removeEndpoint(endpoint)
  const perRequest =
    sample.reduce((all, { body }) => all + (batchSize > 1 ? JSON.parse(body).length : 1), 0) /
    sample.length
  return {
    batchSize,
    events,
    seconds: ms / 1000,
    perSecond: events / (ms / 1000),
    barePerSecond: (bare.requests * perRequest) / bare.seconds,
    disordered,
  }
}

/** Sends at a fixed rate to an application without an endpoint, and to one with an endpoint, in turns. */
async function measureAtRate({ server, receiver, seconds, onProgress }: Place, rounds: number) {
  const path = '/latency'
  const [without, having] = [await WebhookApp.make(server), await WebhookApp.make(server)]
  const endpoint = await having.addEndpoint(receiver.url(path))
  await sleep(noticedMs)
  const first = [await without.send(eventsPerSecond, 2), await having.send(eventsPerSecond, 2)]
  await receiver.received({ path })
  const bare: LoadResult[] = []
  const hooked: LoadResult[] = []
  for (let round = 0; round < rounds; round++) {
    onProgress(`webhooks: sends at ${eventsPerSecond}/s, round ${round + 1}`)
    bare.push(await without.send(eventsPerSecond, seconds))
    hooked.push(await having.send(eventsPerSecond, seconds))
  }
  await sleep(noticedMs)
  const latency = await receiver.received({ path })
  await having.removeEndpoint(endpoint)
  const p50 = (loads: readonly LoadResult[]) => median(loads.map(({ p50Ms }) => p50Ms))
  const p99 = (loads: readonly LoadResult[]) => median(loads.map(({ p99Ms }) => p99Ms))
  return {
    latency,
    loads: [...first, ...bare, ...hooked],
    sends: {
      withoutP50Ms: p50(bare),
      withP50Ms: p50(hooked),
      withoutP99Ms: p99(bare),
      withP99Ms: p99(hooked),
    },
  }
}

/** Sends to nine endpoints, then to the same with a tenth that never answers. */
async function measureNine({ server, receiver, seconds, onProgress }: Place) {
  const app = await WebhookApp.make(server)
  const paths = Array.from({ length: 9 }, (_, index) => `/nine-${index}`)
  const endpoints: number[] = []
  for (const path of paths) endpoints.push(await app.addEndpoint(receiver.url(path)))
  await sleep(noticedMs)
  const loads: LoadResult[] = []
  const slowest = async () => {
    await app.send(nineEventsPerSecond, 1)
    for (const path of paths) await receiver.received({ path })
    loads.push(await app.send(nineEventsPerSecond, seconds))
    await sleep(noticedMs)
    let p99Ms = 0
    for (const path of paths) p99Ms = Math.max(p99Ms, (await receiver.received({ path })).p99Ms)
    return p99Ms
  }
  onProgress('webhooks: nine endpoints')
  const aloneP99Ms = await slowest()
  endpoints.push(await app.addEndpoint(receiver.url('/silent')))
  await sleep(noticedMs)
  onProgress('webhooks: nine endpoints beside one that never answers')
  const besideP99Ms = await slowest()
  for (const endpoint of endpoints) await app.removeEndpoint(endpoint)
  return { aloneP99Ms, besideP99Ms, loads }
}

/** Measures the CPU time of a new server without calls, before and after it gets endpoints. */
async function measureIdle({ storage, receiver, seconds, onProgress }: Place, build: Build) {
  await using server = await storage.start(build, env)
  const usage = usageOf(server, storage)
  const cores = async () => {
    await quiet([usage])
    await sleep(noticedMs)
    const [cpu, at] = [usedCpuMs(usage), performance.now()]
    await sleep(seconds * 1000)
    return (usedCpuMs(usage) - cpu) / (performance.now() - at)
  }
  onProgress('webhooks: idle service')
  const withoutCores = await cores()
  onProgress(`webhooks: ${idleApps} applications with ${idleEndpoints} endpoints`)
  const { api, operatorToken } = server.process
  const operator = api.as(operatorToken)
  for (let made = 0; made < idleApps; made++) {
    const { data } = await operator.succeed('POST', '/operator/v1/app/create')
    const body = { app_id: data.app_id, url: receiver.url('/idle') }
    const make = () => operator.succeed('POST', '/operator/v1/webhook/create', { body })
    await Promise.all(Array.from({ length: idleEndpoints }, make))
  }
  return { withoutCores, withCores: await cores() }
}
