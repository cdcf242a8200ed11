/** This build beside another one under the same requests. */
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
  /** Of the rates: the median of the turns of each start, and of these the median, the lowest and the highest. */
  readonly ratio: Ratio
  /** Of the processor time of server and database for a request, start by start; other work on the machine changes it less than rates. */
  readonly cpuRatio: Ratio
  /** The worst turn's. */
  readonly p99Ms: number
  readonly otherP99Ms: number
  /** Of both builds, over everything they were sent. */
  readonly errors: number
  readonly errorSamples: readonly string[]
}

export interface ComparisonEffort {
  /** Measured time of each build after each start. */
  readonly seconds: number
  /** How often both builds are started anew. */
  readonly starts: number
}

/** So short that both builds of a round find the machine in the same state. */
const turnSecondsMin = 0.25
/** A shorter turn of a slow scenario would be decided by single answers. */
const answersPerTurn = 100
/** Fewer have no median to speak of. */
const turnsMin = 4
/** Of a server that has just started: until its code is compiled. */
const settleSeconds = 3

export interface MeasuredTurn {
  readonly load: LoadResult
  /** Of server and database, from before the first request until both builds are quiet again: work that waits for the answers counts. */
  readonly cpuMs: number
}

/** The turns of both builds since they were started, in the same rounds. */
export interface ComparedStart {
  /** The loads before the turns, of which nothing but errors counts. */
  readonly settling: readonly LoadResult[]
  readonly own: readonly MeasuredTurn[]
  readonly other: readonly MeasuredTurn[]
}

/**
 * Both builds take short turns. They are started anew for each of the rounds: two processes of one build differ by some percent for as
 * long as they run, by which code was compiled when.
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

/** @param start its number, by which either build goes first: of two copies of a build the one that always did seemed slower */
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
      // Work that the other one has left over would run inside the next turn.
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
  // Without any answer there is nothing to measure but errors.
  const needed = perSecond > 0 ? answersPerTurn / perSecond : 0
  const shortest = Math.max(turnSecondsMin, needed)
  const count = Math.max(turnsMin, Math.floor(seconds / shortest))
  return { count, turnSeconds: Math.max(shortest, seconds / count) }
}

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

/** Over several turns, since a short one is few ticks of the kernel's clock. */
function cpuMsOf(turns: readonly MeasuredTurn[]): number {
  return sum(turns.map(({ cpuMs }) => cpuMs)) / sum(turns.map(({ load }) => load.succeededInAll))
}
