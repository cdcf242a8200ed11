/** This build beside another one under the same requests. */
import { LoadProcess } from '../load/processes.js'
import type { DatabaseName, Scenario } from '../scenarios/scenario.js'
import type { MeasuredBuild } from './build.js'
import { Lane } from './lane.js'
import { type Effort, loadServer, quiet, rateOf, type ServerRun } from './measure.js'
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
  /** Of both builds. */
  readonly errors: number
  readonly errorSamples: readonly string[]
}

/** So short that both builds of a round find the machine in the same state. */
const turnSeconds = 0.25
/** Of a server that has just started: until its code is compiled. */
const settleSeconds = 3

/** The turns of both builds since they were started, in the same rounds. */
export interface ComparedStart {
  readonly own: readonly ServerRun[]
  readonly other: readonly ServerRun[]
}

/**
 * Both builds take short turns. They are started anew for each of the rounds: two processes of one build differ by some percent for as
 * long as they run, by which code was compiled when.
 *
 * @param effort of each start: the measured time of each build
 */
export async function compareBuilds(
  set: readonly Scenario[],
  [own, other]: readonly [MeasuredBuild, MeasuredBuild],
  { seconds, rounds }: Effort,
): Promise<ComparedRow[]> {
  const pairs: LanePair[] = []
  for (const scenario of set)
    pairs.push({
      lanes: [await Lane.prepare(scenario, own), await Lane.prepare(scenario, other)],
      starts: [],
    })
  for (let start = 0; start < rounds; start++) {
    for (const build of [own, other]) await build.restart()
    for (const { lanes, starts } of inTurn(pairs, start))
      starts.push(await takeTurns(lanes, seconds))
  }
  return pairs.map(({ lanes, starts }) => ({
    database: own.database,
    scenario: lanes[0].scenario.name,
    ...compareRuns(starts),
  }))
}

interface LanePair {
  readonly lanes: readonly [Lane, Lane]
  readonly starts: ComparedStart[]
}

async function takeTurns(lanes: readonly [Lane, Lane], seconds: number): Promise<ComparedStart> {
  using process = new LoadProcess()
  const runs = lanes.map((lane) => ({ lane, runs: [] as ServerRun[] }))
  for (const { build } of lanes) await quiet([build])
  for (const lane of lanes) await lane.run(settleSeconds, (order) => process.run(order))
  for (let turn = 0; turn < seconds / turnSeconds; turn++)
    for (const { lane, runs: ofLane } of inTurn(runs, turn)) {
      await quiet([lane.build])
      ofLane.push(
        await loadServer(lane.build, (events) =>
          lane.run(turnSeconds, (order) => process.run(order, events)),
        ),
      )
    }
  const [own, other] = runs.map(({ runs: ofLane }) => ofLane) as [ServerRun[], ServerRun[]]
  return { own, other }
}

export function compareRuns(
  starts: readonly ComparedStart[],
): Omit<ComparedRow, 'database' | 'scenario'> {
  const own = starts.flatMap((start) => start.own)
  const other = starts.flatMap((start) => start.other)
  const all = [...own, ...other].map(({ load }) => load)
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

function turnRates(runs: readonly ServerRun[]): number[] {
  return runs.map(({ load }) => rateOf(load))
}

function worstP99Ms(runs: readonly ServerRun[]): number {
  return Math.max(...runs.map(({ load }) => load.p99Ms))
}

/** Over several runs, since a short one is few ticks of the kernel's clock. */
function cpuMsOf(runs: readonly ServerRun[]): number {
  const used = sum(runs.map(({ serverCpuMs, databaseCpuMs }) => serverCpuMs + databaseCpuMs))
  return used / sum(runs.map(({ load }) => load.succeeded))
}
