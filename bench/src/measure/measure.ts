import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadEvents, LoadFigures, LoadResult } from '../load/load-run.js'
import { type Echo, load, startEcho } from '../load/processes.js'
import type { DatabaseName, Scenario, Target } from '../scenarios/scenario.js'
import type { MeasuredBuild, Usage } from './build.js'
import { ScenarioRunner } from './scenario-runner.js'
import { inTurn, median, ratioOf, sum } from './statistics.js'

/** Effort of a measurement. */
export interface Effort {
  /** Measured time of one run. */
  readonly seconds: number
  /** Number of rounds. */
  readonly rounds: number
}

/** One server under the requests of a scenario. */
export interface ServerRun<Load extends LoadFigures = LoadResult> {
  readonly load: Load
  readonly serverCpuMs: number
  readonly databaseCpuMs: number
}

/**
 * One line of the table, about this build. Rates are per second and medians over the rounds;
 * latencies are the server's.
 */
export interface ResultRow {
  readonly database: DatabaseName
  readonly scenario: string
  readonly what: string
  readonly connections: number
  readonly echoPerSecond: number
  readonly offeredPerSecond: number
  readonly achievedPerSecond: number
  /** Share of the echo's rate: the median of the shares of each round. */
  readonly share: number
  /** Share of the rate of the scenario in the target; null without one. */
  readonly ofOther: number | null
  /** Errors of all rounds, including those of the echo. */
  readonly errors: number
  readonly errorSamples: readonly string[]
  readonly p50Ms: number
  /** Worst round, as is the maximum. */
  readonly p99Ms: number
  readonly maxMs: number
  readonly serverCpuUs: number
  readonly databaseCpuUs: number
  /**
   * CPU time of the load process by wall time, while it loaded the server: near 1 the load process
   * is the bottleneck.
   */
  readonly loadCpuShare: number
  readonly rssBytes: number
  readonly target: Target | null
  /** Missed targets; empty for none. */
  readonly missed: readonly string[]
}

/** A scenario with its echo and their finished rounds. */
interface Course {
  readonly echo: Echo
  readonly echoRuns: LoadResult[]
  readonly runner: ScenarioRunner
  readonly runs: ServerRun[]
}

// Factor for more and shorter rounds where rows are compared with each other, so that they lie
// closer together in time.
const comparingRounds = 2

/**
 * Measures echo and server in turns, so that a slow minute of the machine affects both. In a set,
 * all echoes run before all scenarios, in reverse order every second round.
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

/** Records the server's usage within the measured time of a load. */
export async function loadServer<Load extends LoadFigures>(
  usage: CpuUsage,
  run: (events: LoadEvents) => Promise<Load>,
): Promise<ServerRun<Load>> {
  const cpu = new CpuWatch(usage)
  return { load: await run(cpu), ...cpu.used }
}

const quietCheckMs = 100
const quietCpuShare = 0.1
const quietChecksMax = 100

/**
 * Waits for a limited time until servers and database have finished the work of an earlier run,
 * which would slow the next one.
 */
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

/** CPU time of a server and its database, which servers of one PostgreSQL share. */
export function usedCpuMs(usage: Usage): number {
  return usage.serverCpuMs() + usage.databaseCpuMs()
}

/** CPU time of a server and its database so far. */
type CpuUsage = Pick<Usage, 'serverCpuMs' | 'databaseCpuMs'>

/** CPU time between the start and the end of the measured time. */
class CpuWatch {
  used = { serverCpuMs: 0, databaseCpuMs: 0 }
  #before = this.used

  constructor(private readonly usage: CpuUsage) {}

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

/** Rates of a scenario of the set; empty when the set lacks it. */
function ratesOf(name: string, set: readonly Course[]): number[] {
  const course = set.find(({ runner }) => runner.scenario.name === name)
  return course ? course.runs.map(({ load }) => rateOf(load)) : []
}

/** Returns missed targets, including figures that could not be measured. */
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

/** Returns successful requests per second. */
export function rateOf({ succeeded, seconds }: LoadFigures): number {
  return succeeded / seconds
}
