/** Measures the effect of a push to very many devices on senders of messages. */
import { setTimeout as sleep } from 'node:timers/promises'
import { pushTaskState } from '@hermod/protocol'
import type { LoadOrder, LoadResult } from '../load/load-run.js'
import { load } from '../load/processes.js'
import { portOf, type Storage, type StoredServer, usageOf } from '../measure/build.js'
import { type Effort, quiet } from '../measure/measure.js'
import { median } from '../measure/statistics.js'
import { apiOfNewApp } from '../population/broadcasts.js'
import { createImportedUsers } from '../population/imported-users.js'
import { transactionCounter } from '../population/population.js'
import { type DatabaseName, transactionsPerPlan } from '../scenarios/scenario.js'
import { makePushApp, notify, type PushApp, sentOf, warmUp } from './push-app.js'
import type { RunningSimulator } from './push-processes.js'

/** A push to all users. */
export interface PushCrowdRow {
  readonly database: DatabaseName
  readonly devices: number
  /** The slowest of several requests. */
  readonly notifyMs: number
  /** From the request until every device has a delivery. */
  readonly expandedSeconds: number
  /** Sends that the gateway had accepted by then, per second. */
  readonly sentPerSecond: number
  readonly peakRssBytes: number
  /** Sends to one user at a fixed rate: medians of runs, and the worst run. */
  readonly before: SendFigures
  readonly during: SendFigures
  /** Measured after every device has a delivery, while the rest is sent to the gateway. */
  readonly afterwards: SendFigures
  readonly sentPerSecondAfterwards: number
  readonly errors: number
  readonly errorSamples: readonly string[]
}

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
const maxExpandingMs = 300_000
const daySeconds = 86_400

export async function measureCrowd(
  storage: Storage,
  server: StoredServer,
  simulator: RunningSimulator,
  { devices, seconds, rounds, tell }: Effort & { devices: number; tell(text: string): void },
): Promise<PushCrowdRow> {
  tell(`push: ${devices} devices`)
  const app = await makePushApp(server, simulator.certificates.ios_gw, devices)
  const usage = usageOf(server, storage)
  const nextSends = await makeSenders(server, seconds)
  await warmUp(app)
  await server.settle()
  await quiet([usage])
  // The first seconds of sends are slower than all later ones.
  const first = await load(nextSends())
  tell('push: sends before')
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
  tell('push: sends meanwhile')
  const { taskId, startedAt } = await timed()
  const watch = watchExpansion(server, { app, taskId, startedAt })
  const during: LoadResult[] = []
  while (!watch.isOver()) {
    const result = await load(nextSends())
    // The last run covers the end of the task and the time after it.
    if (!watch.isOver() || during.length === 0) during.push(result)
  }
  const { expandedSeconds, sent, peakRssBytes } = await watch.result
  tell('push: sends afterwards')
  const sentBefore = await sentOf(app, taskId)
  const sendingSince = performance.now()
  const afterwards = await someRuns()
  const sentAfterwards = (await sentOf(app, taskId)) - sentBefore
  const all = [first, ...before, ...during, ...afterwards]
  return {
    database: storage.name,
    devices,
    notifyMs,
    expandedSeconds,
    sentPerSecond: sent / expandedSeconds,
    peakRssBytes,
    before: sendFigures(before),
    during: sendFigures(during),
    afterwards: sendFigures(afterwards),
    sentPerSecondAfterwards: sentAfterwards / ((performance.now() - sendingSince) / 1000),
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

interface Watched {
  readonly app: PushApp
  readonly taskId: number
  readonly startedAt: number
}

interface CrowdExpansion {
  readonly expandedSeconds: number
  readonly sent: number
  readonly peakRssBytes: number
}

/** Polls a task until the whole audience has deliveries. */
function watchExpansion(
  { process, sql }: StoredServer,
  { app, taskId, startedAt }: Watched,
): { isOver(): boolean; readonly result: Promise<CrowdExpansion> } {
  let isOver = false
  let peakRssBytes = 0
  const watch = async (): Promise<CrowdExpansion> => {
    for (;;) {
      peakRssBytes = Math.max(peakRssBytes, process.rssBytes())
      const rows = await sql(`select state from push_tasks where task_id = ${taskId}`)
      const elapsedMs = performance.now() - startedAt
      if (Number(rows[0]?.state) === pushTaskState.expanded)
        return {
          expandedSeconds: elapsedMs / 1000,
          sent: await sentOf(app, taskId),
          peakRssBytes,
        }
      if (elapsedMs > maxExpandingMs) throw new Error(`not expanded after ${elapsedMs} ms`)
      await sleep(pollMs)
    }
  }
  const result = watch().finally(() => {
    isOver = true
  })
  result.catch(() => {})
  return { isOver: () => isOver, result }
}

function sendFigures(runs: readonly LoadResult[]): SendFigures {
  return {
    p50Ms: median(runs.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(runs.map(({ p99Ms }) => p99Ms)),
    worstP99Ms: Math.max(...runs.map(({ p99Ms }) => p99Ms)),
    maxMs: Math.max(...runs.map(({ maxMs }) => maxMs)),
  }
}
