/** Measures the service at growing numbers of messages. */
import type { LoadOrder, LoadResult } from '../load/load-run.js'
import type { LoadPlan } from '../load/plan.js'
import { type Echo, load, startEcho } from '../load/processes.js'
import { type Build, Servers, type Storage, type StoredServer, usageOf } from '../measure/build.js'
import { type Effort, quiet, rateOf } from '../measure/measure.js'
import { inTurn, median, type Ratio, ratioOf } from '../measure/statistics.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import { GrowthPopulation } from './growth-population.js'

/** Size of the set `growth`. */
export interface GrowthOptions {
  /** Numbers of messages at which to measure, ascending. */
  readonly steps: readonly number[]
  readonly users: number
}

/** Loads of each step. */
export const growthLoads = ['send', 'history', 'unread', 'conversations'] as const
/** One of {@link growthLoads}. */
export type GrowthLoad = (typeof growthLoads)[number]

/** Rates and p50 are medians of the rounds, p99 and the maximum those of the worst round. */
export interface GrowthFigures {
  readonly perSecond: number
  /**
   * Share of the rate of a bare echo in the same rounds, which separates the machine's slow minutes
   * from growth.
   */
  readonly ofEcho: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Compared with the other build in the same rounds; null without one. */
  readonly against: Ratio | null
}

/** Messages added to reach a step, several per request. */
export interface GrowthFill {
  readonly messages: number
  readonly messagesPerSecond: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** One build at one step. */
export interface GrowthRow {
  readonly database: DatabaseName
  readonly build: Build['name']
  /** Number stored at the start of the step's measurement. */
  readonly messages: number
  /** Null: no message was missing. */
  readonly fill: GrowthFill | null
  readonly loads: Readonly<Record<GrowthLoad, GrowthFigures>>
  readonly databaseBytes: number
  /**
   * Size of the log; with SQLite the largest so far, since the file is overwritten from its
   * beginning.
   */
  readonly walBytes: number
  readonly rssBytes: number
  readonly errors: number
  readonly errorSamples: readonly string[]
}

const connections = 64
const warmUpShare = 0.25

/** A build with its database and the measurements of this step. */
interface Grower {
  readonly build: Build
  readonly server: StoredServer
  readonly population: GrowthPopulation
  readonly runs: Record<GrowthLoad, LoadResult[]>
}

function noneYet<T>(): Record<GrowthLoad, T[]> {
  return { send: [], history: [], unread: [], conversations: [] }
}

/** @param onProgress reports progress */
export async function measureGrowth(
  storage: Storage,
  builds: readonly Build[],
  { steps, users, seconds, rounds }: GrowthOptions & Effort,
  onProgress: (text: string) => void,
): Promise<GrowthRow[]> {
  await using servers = await Servers.start(storage, builds)
  const populations: GrowthPopulation[] = []
  for (const server of servers.all) {
    onProgress(`growth: ${users} users`)
    populations.push(await GrowthPopulation.create(server, users))
  }
  using echo = await startEcho('{"code":200,"data":true,"message":null}')
  const rows: GrowthRow[] = []
  for (const messages of steps) {
    const growers = builds.map(
      (build, index): Grower => ({
        build,
        server: servers.all[index] as StoredServer,
        population: populations[index] as GrowthPopulation,
        runs: noneYet(),
      }),
    )
    onProgress(`growth: ${messages} messages`)
    const step = { storage, growers, echo, messages, echoRates: noneYet<number>(), seconds, rounds }
    rows.push(...(await measureStep(step)))
  }
  return rows
}

interface Step extends Effort {
  readonly storage: Storage
  readonly growers: readonly Grower[]
  readonly echo: Echo
  readonly messages: number
  readonly echoRates: Record<GrowthLoad, number[]>
}

async function measureStep(step: Step): Promise<GrowthRow[]> {
  const { storage, growers, messages, rounds } = step
  const fills: Awaited<ReturnType<GrowthPopulation['grow']>>[] = []
  for (const { population } of growers) fills.push(await population.grow(messages))
  const begun = growers.map(({ population }) => population.messages)
  for (const { population } of growers) await population.checkLengths()
  for (let round = 0; round < rounds; round++) await measureRound(step, round)
  return Promise.all(
    growers.map(async ({ build, server, runs }, index): Promise<GrowthRow> => {
      const all = Object.values(runs).flat()
      return {
        database: storage.name,
        build: build.name,
        messages: begun[index] ?? Number.NaN,
        fill: fillOf(fills[index] ?? null),
        loads: Object.fromEntries(
          growthLoads.map((load) => [load, figuresOf(load, step, index)]),
        ) as GrowthRow['loads'],
        databaseBytes: await server.databaseBytes(),
        walBytes: await server.walBytes(),
        rssBytes: server.process.rssBytes(),
        errors: all.reduce((total, { errors }) => total + errors, 0),
        errorSamples: [...new Set(all.flatMap(({ errorSamples }) => errorSamples))],
      }
    }),
  )
}

/** Runs every load once, on the echo and on every build. */
async function measureRound({ storage, growers, echo, ...step }: Step, round: number) {
  const usages = growers.map(({ server }) => usageOf(server, storage))
  for (const name of growthLoads) {
    await quiet(usages)
    const [own] = growers as readonly [Grower]
    const echoOrder = growthOrder(echo.port, own.population.sendPlan(), step.seconds)
    step.echoRates[name].push(rateOf(await load(echoOrder)))
    for (const { population, server, runs } of inTurn(growers, round)) {
      await quiet([usageOf(server, storage)])
      const plan = name === 'send' ? population.sendPlan() : population.readPlan(name)
      const run = await load(growthOrder(population.port, plan, step.seconds))
      runs[name].push(run)
      if (name === 'send') population.messages += run.succeededInAll
    }
  }
}

function growthOrder(port: number, plan: LoadPlan, seconds: number): LoadOrder {
  const measureMs = seconds * 1000
  return { port, plan, connections, measureMs, warmUpMs: measureMs * warmUpShare, minBodyBytes: 0 }
}

function fillOf(fill: Awaited<ReturnType<GrowthPopulation['grow']>>): GrowthFill | null {
  if (!fill) return null
  const { messages, load } = fill
  const { seconds, p99Ms, maxMs } = load
  return { messages, messagesPerSecond: messages / seconds, p99Ms, maxMs }
}

function figuresOf(load: GrowthLoad, { growers, echoRates }: Step, index: number): GrowthFigures {
  const runsOf = (grower: Grower | undefined) => grower?.runs[load] ?? []
  const runs = runsOf(growers[index])
  const rates = runs.map(rateOf)
  return {
    perSecond: median(rates),
    ofEcho: ratioOf(rates, echoRates[load]).median,
    p50Ms: median(runs.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...runs.map(({ p99Ms }) => p99Ms)),
    maxMs: Math.max(...runs.map(({ maxMs }) => maxMs)),
    against: index === 0 && growers[1] ? ratioOf(rates, runsOf(growers[1]).map(rateOf)) : null,
  }
}

/** Minimum share of the rate at the first step; the p99 is that of sends. */
export const growthTargets: Record<
  DatabaseName,
  { readonly loads: readonly GrowthLoad[]; readonly share: number; readonly p99Ms?: number }
> = {
  sqlite: { loads: ['send'], share: 0.85, p99Ms: 50 },
  postgres: { loads: ['history', 'unread', 'conversations'], share: 0.8 },
}

/** @returns missed targets, including figures that could not be measured */
export function missedGrowthTargets(
  { database, loads }: Pick<GrowthRow, 'database' | 'loads'>,
  first: Pick<GrowthRow, 'loads'>,
): string[] {
  const { share, p99Ms = Number.POSITIVE_INFINITY, ...target } = growthTargets[database]
  const isShort = (load: GrowthLoad) =>
    !(loads[load].perSecond >= first.loads[load].perSecond * share)
  return [...target.loads.filter(isShort), ...(loads.send.p99Ms <= p99Ms ? [] : ['p99'])]
}
