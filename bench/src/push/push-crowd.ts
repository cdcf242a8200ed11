/** Measures the effect of a push to very many devices on senders of messages. */
import type { LoadOrder, LoadResult } from '../load/load-run.js'
import { load } from '../load/processes.js'
import { portOf, type Storage, type StoredServer, usageOf } from '../measure/build.js'
import { type Effort, quiet } from '../measure/measure.js'
import { median } from '../measure/statistics.js'
import { apiOfNewApp } from '../population/broadcasts.js'
import { createImportedUsers } from '../population/imported-users.js'
import { transactionCounter } from '../population/population.js'
import { type DatabaseName, transactionsPerPlan } from '../scenarios/scenario.js'
import { makePushApp, notify, sentOf, warmUp } from './push-app.js'
import type { RunningSimulator } from './push-processes.js'

/** A push to all users. */
export interface PushCrowdRow {
  readonly database: DatabaseName
  readonly devices: number
  /** The slowest of several requests. */
  readonly notifyMs: number
  /** Sends that the gateway accepted during the runs, per second. */
  readonly sentPerSecond: number
  readonly peakRssBytes: number
  /** Sends to one user at a fixed rate: medians of runs, and the worst run. */
  readonly before: SendFigures
  readonly during: SendFigures
  readonly errors: number
  readonly errorSamples: readonly string[]
}

/** Latencies of messages that are sent at {@link sendsPerSecond}. */
export interface SendFigures {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly worstP99Ms: number
  readonly maxMs: number
}

/** Moderate: a twentieth of the service's maximum on two cores. */
export const sendsPerSecond = 500
const connections = 16
const senderCount = 1_000
const notifications = 20
const pollMs = 100
const daySeconds = 86_400

/** Measures a push to all users, and the messages that are sent during it. */
export async function measureCrowd(
  storage: Storage,
  server: StoredServer,
  simulator: RunningSimulator,
  {
    devices,
    seconds,
    rounds,
    onProgress,
  }: Effort & { devices: number; onProgress(text: string): void },
): Promise<PushCrowdRow> {
  onProgress(`push: ${devices} devices`)
  const app = await makePushApp(server, simulator.certificates.ios_gw, devices)
  const usage = usageOf(server, storage)
  const nextSends = await makeSenders(server, seconds)
  await warmUp(app)
  await server.settle()
  await quiet([usage])
  // The first seconds of sends are slower than all later ones.
  const first = await load(nextSends())
  onProgress('push: sends before')
  const someRuns = async () => {
    const runs: LoadResult[] = []
    for (let round = 0; round < rounds; round++) runs.push(await load(nextSends()))
    return runs
  }
  const before = await someRuns()
  // Tasks scheduled for tomorrow are stored as immediate ones, and have no other effect.
  let notifyMs = 0
  const timed = async (changes?: object) => {
    const startedAt = performance.now()
    const taskId = await notify(app, changes)
    notifyMs = Math.max(notifyMs, performance.now() - startedAt)
    return { taskId, startedAt }
  }
  const message = {
    title: 'News',
    body: 'x',
    show_begin_time: Math.floor(Date.now() / 1000) + daySeconds,
  }
  for (let index = 0; index < notifications; index++) await timed({ message })
  onProgress('push: sends meanwhile')
  const { taskId, startedAt } = await timed()
  const memory = watchMemory(server)
  const during = await someRuns()
  const sent = await sentOf(app, taskId)
  const sendingSeconds = (performance.now() - startedAt) / 1000
  const all = [first, ...before, ...during]
  return {
    database: storage.name,
    devices,
    notifyMs,
    sentPerSecond: sent / sendingSeconds,
    peakRssBytes: memory.stop(),
    before: sendFigures(before),
    during: sendFigures(during),
    errors: all.reduce((total, { errors }) => total + errors, 0),
    errorSamples: [...new Set(all.flatMap(({ errorSamples }) => errorSamples))],
  }
}

/** @returns a function that returns the order of one run of sends */
async function makeSenders(server: StoredServer, seconds: number): Promise<() => LoadOrder> {
  const { process } = server
  const operator = process.api.as(process.operatorToken)
  const { appId, adminToken = '' } = (await apiOfNewApp(process.api, operator)).options
  const ids = await createImportedUsers(operator, appId, 'sender', senderCount)
  const transactions = transactionCounter()
  return () => ({
    port: portOf(server),
    connections,
    perSecond: sendsPerSecond,
    plan: {
      kind: 'send',
      appId,
      users: ids.map((id) => ({ id, token: adminToken, isOnBehalf: true })),
      offsets: Array.from({ length: 30 }, (_, index) => [index + 1]),
      firstTransaction: transactions(transactionsPerPlan),
    },
    warmUpMs: 250,
    measureMs: seconds * 1000,
    minBodyBytes: 0,
  })
}

/** Samples the resident memory. @returns a function that ends it and returns the peak in bytes */
function watchMemory({ process }: StoredServer): { stop(): number } {
  let peakRssBytes = process.rssBytes()
  const timer = setInterval(() => {
    peakRssBytes = Math.max(peakRssBytes, process.rssBytes())
  }, pollMs)
  return {
    stop() {
      clearInterval(timer)
      return peakRssBytes
    },
  }
}

function sendFigures(runs: readonly LoadResult[]): SendFigures {
  return {
    p50Ms: median(runs.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(runs.map(({ p99Ms }) => p99Ms)),
    worstP99Ms: Math.max(...runs.map(({ p99Ms }) => p99Ms)),
    maxMs: Math.max(...runs.map(({ maxMs }) => maxMs)),
  }
}
