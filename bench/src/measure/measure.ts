import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadEvents, LoadResult } from '../load/load-run.js'
import { type Echo, load, startEcho } from '../load/processes.js'
import type { DatabaseName, Scenario, Target } from '../scenarios/scenario.js'
import type { MeasuredBuild, Usage } from './build.js'
import { ScenarioRunner } from './scenario-runner.js'
import { inTurn, median, ratioOf, sum } from './statistics.js'

export interface Effort {
  /** Measured time of one run. */
  readonly seconds: number
  /** How often echo and servers take turns. */
  readonly rounds: number
}

/** One server under the requests of a scenario. */
export interface ServerRun {
  readonly load: LoadResult
  readonly serverCpuMs: number
  readonly databaseCpuMs: number
}

/** One line of the table, about this build. Rates are per second and medians over the rounds; latencies are of the server. */
export interface ResultRow {
  readonly database: DatabaseName
  readonly scenario: string
  readonly what: string
  readonly connections: number
  readonly echoPerSecond: number
  readonly offeredPerSecond: number
  readonly achievedPerSecond: number
  /** Achieved by the echo's rate: the median of the rounds' own shares. */
  readonly share: number
  /** The same, by the rate of the scenario that the target names; null: it names none. */
  readonly ofOther: number | null
  /** Of all rounds, those of the echo included. */
  readonly errors: number
  readonly errorSamples: readonly string[]
  readonly p50Ms: number
  /** The worst round's, as is the maximum. */
  readonly p99Ms: number
  readonly maxMs: number
  readonly serverCpuUs: number
  readonly databaseCpuUs: number
  /** CPU of the load process by wall time, while it loaded the server: near 1 it is the bottleneck itself. */
  readonly loadCpuShare: number
  readonly rssBytes: number
  readonly target: Target | null
  /** What was missed; empty: nothing. */
  readonly missed: readonly string[]
}

/** A scenario with its echo and the rounds that they have had. */
interface Course {
  readonly echo: Echo
  readonly echoRuns: LoadResult[]
  readonly runner: ScenarioRunner
  readonly runs: ServerRun[]
}

// Rounds are shorter by so much, and there are more of them, where rows are compared with each other: these lie closer together in time.
const comparingRounds = 2

/**
 * Echo and server take turns, so that a slow minute of the machine hits both. Of a set, all echoes have their turn and then all scenarios,
 * every second round in the reverse order.
 */
export async function measure(
  set: readonly Scenario[],
  build: MeasuredBuild,
  { seconds, rounds }: Effort,
): Promise<ResultRow[]> {
  const split = set.length > 1 ? comparingRounds : 1
  const courses: Course[] = []
  try {
    for (const scenario of set) courses.push(await prepareCourse(scenario, build))
    for (let round = 0; round < rounds * split; round++)
      await runRound(courses, round, seconds / split)
    return courses.map((course) => summarise(course, courses))
  } finally {
    for (const { echo } of courses) echo[Symbol.dispose]()
  }
}

async function prepareCourse(scenario: Scenario, build: MeasuredBuild): Promise<Course> {
  const runner = await ScenarioRunner.prepare(scenario, build)
  return { runner, runs: [], echo: await startEcho(runner.sample), echoRuns: [] }
}

async function runRound(courses: readonly Course[], round: number, seconds: number): Promise<void> {
  for (const { echo, echoRuns, runner } of inTurn(courses, round)) {
    await quiet([runner.build])
    echoRuns.push(await load({ ...runner.order(seconds), port: echo.port }))
  }
  for (const { runner, runs } of inTurn(courses, round)) {
    await quiet([runner.build])
    runs.push(
      await loadServer(runner.build, (events) =>
        runner.run(seconds, (order) => load(order, events)),
      ),
    )
  }
}

/** Watches what a server uses within the measured time of a load. */
export async function loadServer(
  usage: Usage,
  run: (events: LoadEvents) => Promise<LoadResult>,
): Promise<ServerRun> {
  const cpu = new CpuWatch(usage)
  return { load: await run(cpu), ...cpu.used }
}

const quietCheckMs = 100
const quietCpuShare = 0.1
const quietChecksMax = 100

/** Waits, but not for ever, until servers and their database have finished what an earlier run left them to do: it would slow the next one. */
export async function quiet(usages: readonly Usage[]): Promise<void> {
  for (let checks = 0; checks < quietChecksMax; checks++) {
    const before = usages.map(usedCpuMs)
    await sleep(quietCheckMs)
    if (
      usages.every(
        (usage, index) => usedCpuMs(usage) - (before[index] ?? 0) <= quietCheckMs * quietCpuShare,
      )
    )
      return
  }
}

/** By a server and by the database, which servers of one PostgreSQL share. */
export function usedCpuMs(usage: Usage): number {
  return usage.serverCpuMs() + usage.databaseCpuMs()
}

/** The CPU time between the beginning and the end of the measured time. */
class CpuWatch {
  used = { serverCpuMs: 0, databaseCpuMs: 0 }
  #before = this.used

  constructor(private readonly usage: Usage) {}

  measuring(): void {
    this.#before = this.#read()
  }

  measured(): void {
    const now = this.#read()
    this.used = {
      serverCpuMs: now.serverCpuMs - this.#before.serverCpuMs,
      databaseCpuMs: now.databaseCpuMs - this.#before.databaseCpuMs,
    }
  }

  #read() {
    return { serverCpuMs: this.usage.serverCpuMs(), databaseCpuMs: this.usage.databaseCpuMs() }
  }
}

function summarise(course: Course, set: readonly Course[]): ResultRow {
  const { echoRuns, runner, runs } = course
  const { build, scenario } = runner
  const loads = runs.map(({ load }) => load)
  const all = [...echoRuns, ...loads]
  const target = scenario.targets[build.database] ?? null
  const rates = loads.map(rateOf)
  const figures = {
    share: ratioOf(rates, echoRuns.map(rateOf)).median,
    ofOther: target?.ofOther ? ratioOf(rates, ratesOf(target.ofOther.name, set)).median : null,
    p99Ms: Math.max(...loads.map(({ p99Ms }) => p99Ms)),
    maxMs: Math.max(...loads.map(({ maxMs }) => maxMs)),
  }
  const cpuUs = (cpuMs: (run: ServerRun) => number) =>
    median(runs.map((run) => (cpuMs(run) * 1000) / run.load.succeeded))
  return {
    database: build.database,
    scenario: scenario.name,
    what: scenario.what,
    connections: scenario.connections,
    echoPerSecond: median(echoRuns.map(rateOf)),
    offeredPerSecond: median(loads.map(({ issued, seconds }) => issued / seconds)),
    achievedPerSecond: median(rates),
    ...figures,
    errors: sum(all.map(({ errors }) => errors)),
    errorSamples: [...new Set(all.flatMap(({ errorSamples }) => errorSamples))],
    p50Ms: median(loads.map(({ p50Ms }) => p50Ms)),
    serverCpuUs: cpuUs(({ serverCpuMs }) => serverCpuMs),
    databaseCpuUs: cpuUs(({ databaseCpuMs }) => databaseCpuMs),
    loadCpuShare: median(loads.map(({ cpuMs, seconds }) => cpuMs / 1000 / seconds)),
    rssBytes: build.rssBytes(),
    target,
    missed: target ? missedTargets(target, figures) : [],
  }
}

/** The rates of a scenario of the set; empty: the set does not have it. */
function ratesOf(name: string, set: readonly Course[]): number[] {
  const course = set.find(({ runner }) => runner.scenario.name === name)
  return course ? course.runs.map(({ load }) => rateOf(load)) : []
}

/** A figure that could not be measured is a miss as well. */
export function missedTargets(
  target: Target,
  { share, ofOther, p99Ms, maxMs }: Pick<ResultRow, 'share' | 'ofOther' | 'p99Ms' | 'maxMs'>,
): string[] {
  const { p99Ms: p99Limit = Number.POSITIVE_INFINITY, maxMs: maxLimit = Number.POSITIVE_INFINITY } =
    target
  return [
    ...(target.share === undefined || share >= target.share ? [] : ['share']),
    ...(target.ofOther === undefined || (ofOther ?? Number.NaN) >= target.ofOther.share
      ? []
      : [`of ${target.ofOther.name}`]),
    ...(p99Ms <= p99Limit ? [] : ['p99']),
    ...(maxMs <= maxLimit ? [] : ['max']),
  ]
}

export function rateOf({ succeeded, seconds }: LoadResult): number {
  return succeeded / seconds
}
