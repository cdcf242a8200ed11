/** Compares this build with another one under the same requests. */
import type { LoadResult } from '../load/load-run.js'
import { LoadProcess } from '../load/processes.js'
import type { DatabaseName, Scenario } from '../scenarios/scenario.js'
import type { MeasuredBuild } from './build.js'
import { quiet, rateOf, usedCpuMs } from './measure.js'
import { ScenarioRunner } from './scenario-runner.js'
import { inTurn, median, type Ratio, ratioOf, spreadOf, sum } from './statistics.js'

/** One scenario on both builds. Rates are per second and medians over all turns. */
export interface ComparedRow {
  readonly database: DatabaseName
  readonly scenario: string
  readonly perSecond: number
  readonly otherPerSecond: number
  /**
   * Ratio of the rates: the median of each start's turns, and of these the median, lowest and
   * highest.
   */
  readonly ratio: Ratio
  /**
   * Ratio of the CPU time of server and database for a request, by start; other work on the machine
   * changes it less than rates.
   */
  readonly cpuRatio: Ratio
  /** Worst turn. */
  readonly p99Ms: number
  readonly otherP99Ms: number
  /** Errors of both builds in all requests. */
  readonly errors: number
  readonly errorSamples: readonly string[]
}

/** Effort of a comparison of two builds. */
export interface ComparisonEffort {
  /** Measured time of each build after each start. */
  readonly seconds: number
  /** Number of times that both builds are restarted. */
  readonly starts: number
}

/**
 * Minimum length of a turn. It is short, so that both builds of a round find the machine in the
 * same state.
 */
const turnSecondsMin = 0.25
/** Minimum answers in a turn, so that single answers do not decide a slow scenario. */
const answersPerTurn = 100
/** Minimum number of turns for a median. */
const turnsMin = 4
/** Warm-up of a new server, until its code is compiled. */
const settleSeconds = 3

/** One turn of a build. */
export interface MeasuredTurn {
  readonly load: LoadResult
  /**
   * CPU time of server and database from before the first request until both builds are idle again,
   * which includes deferred work.
   */
  readonly cpuMs: number
}

/** The turns of both builds since their start, in the same rounds. */
export interface ComparedStart {
  /** Loads before the turns, of which only errors count. */
  readonly settling: readonly LoadResult[]
  readonly own: readonly MeasuredTurn[]
  readonly other: readonly MeasuredTurn[]
}

/**
 * Compares two builds in short turns. Both restart for each of the rounds: two processes of one
 * build differ by some percent for their whole life, depending on the order of compilation.
 */
export async function compareBuilds(
  set: readonly Scenario[],
  [own, other]: readonly [MeasuredBuild, MeasuredBuild],
  effort: ComparisonEffort,
): Promise<ComparedRow[]> {
  const pairs: RunnerPair[] = []
  for (const scenario of set)
    pairs.push({
      runners: [
        await ScenarioRunner.prepare(scenario, own),
        await ScenarioRunner.prepare(scenario, other),
      ],
      starts: [],
    })
  for (let start = 0; start < effort.starts; start++) {
    for (const build of inTurn([own, other], start)) await build.restart()
    for (const { runners, starts } of inTurn(pairs, start))
      starts.push(await takeTurns(runners, effort.seconds, start))
  }
  return pairs.map(({ runners, starts }) => ({
    database: own.database,
    scenario: runners[0].scenario.name,
    ...compareRuns(starts),
  }))
}

interface RunnerPair {
  readonly runners: readonly [ScenarioRunner, ScenarioRunner]
  readonly starts: ComparedStart[]
}

/**
 * @param start its number, which decides the build that goes first: with a fixed order the first of
 * two copies of a build seemed slower
 */
async function takeTurns(
  runners: readonly [ScenarioRunner, ScenarioRunner],
  seconds: number,
  start: number,
): Promise<ComparedStart> {
  using process = new LoadProcess()
  const builds = runners.map(({ build }) => build)
  const settling: LoadResult[] = []
  for (const runner of inTurn(runners, start)) {
    await quiet(builds)
    settling.push(await runner.run(settleSeconds, (order) => process.run(order)))
  }
  const { count, turnSeconds } = turnsOf(seconds, Math.min(...settling.map(rateOf)))
  await quiet(builds)
  const [own, other] = runners.map((runner) => ({ runner, turns: [] as MeasuredTurn[] })) as [
    BuildTurns,
    BuildTurns,
  ]
  for (let turn = 0; turn < count; turn++)
    for (const { runner, turns } of inTurn([own, other], start + turn)) {
      const before = usedCpuMs(runner.build)
      const load = await runner.run(turnSeconds, (order) => process.run(order))
      // Left-over work of the other build would run inside the next turn.
      await quiet(builds)
      turns.push({ load, cpuMs: usedCpuMs(runner.build) - before })
    }
  return { settling, own: own.turns, other: other.turns }
}

interface BuildTurns {
  readonly runner: ScenarioRunner
  readonly turns: MeasuredTurn[]
}

/** @param perSecond answers of the slower build */
export function turnsOf(
  seconds: number,
  perSecond: number,
): { readonly count: number; readonly turnSeconds: number } {
  // Without any answer there are only errors to count.
  const needed = perSecond > 0 ? answersPerTurn / perSecond : 0
  const shortest = Math.max(turnSecondsMin, needed)
  const count = Math.max(turnsMin, Math.floor(seconds / shortest))
  return { count, turnSeconds: Math.max(shortest, seconds / count) }
}

/** Summarises the starts of two builds. */
export function compareRuns(
  starts: readonly ComparedStart[],
): Omit<ComparedRow, 'database' | 'scenario'> {
  const own = starts.flatMap((start) => start.own)
  const other = starts.flatMap((start) => start.other)
  const all = [
    ...starts.flatMap(({ settling }) => settling),
    ...[...own, ...other].map(({ load }) => load),
  ]
  return {
    perSecond: median(turnRates(own)),
    otherPerSecond: median(turnRates(other)),
    ratio: spreadOf(
      starts.map((start) => ratioOf(turnRates(start.own), turnRates(start.other)).median),
    ),
    cpuRatio: spreadOf(starts.map((start) => cpuMsOf(start.own) / cpuMsOf(start.other))),
    p99Ms: worstP99Ms(own),
    otherP99Ms: worstP99Ms(other),
    errors: sum(all.map(({ errors }) => errors)),
    errorSamples: [...new Set(all.flatMap(({ errorSamples }) => errorSamples))],
  }
}

function turnRates(turns: readonly MeasuredTurn[]): number[] {
  return turns.map(({ load }) => rateOf(load))
}

function worstP99Ms(turns: readonly MeasuredTurn[]): number {
  return Math.max(...turns.map(({ load }) => load.p99Ms))
}

/** Covers several turns, since a short turn has few ticks of the kernel's clock. */
function cpuMsOf(turns: readonly MeasuredTurn[]): number {
  return sum(turns.map(({ cpuMs }) => cpuMs)) / sum(turns.map(({ load }) => load.succeededInAll))
}
