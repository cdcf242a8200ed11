/** Sends, openings and idle connections, by the processor time of each thread. */
import type { Builds, Storage } from '../measure/build.js'
import type { Effort } from '../measure/measure.js'
import { inTurn, sum } from '../measure/statistics.js'
import { ThreadNames } from '../measure/thread-cpu.js'
import { requireDescriptors } from '../realtime/realtime.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import { FanOuts } from './fan-outs.js'
import { type IdleMemory, measureIdleMemory } from './idle-memory.js'
import { Openings } from './openings.js'
import type { Party, Row, RowFigures } from './rows.js'
import { Sends } from './sends.js'
import { type BareParty, type Side, Sides, startBareParty } from './sides.js'

/** The parts of the set, in the order of their execution. */
export const onlineParts = ['sends', 'openings', 'fan-out', 'memory'] as const
type OnlinePart = (typeof onlineParts)[number]

/** Size of the set `online`. */
export interface OnlineOptions {
  readonly parts: readonly OnlinePart[]
  /** Users, each with one device. */
  readonly devices: number
  /** Number of times that two builds are restarted. */
  readonly starts: number
}

/** Figures of the set `online` on one database. */
export interface OnlineFigures {
  readonly database: DatabaseName
  readonly devices: number
  readonly errors: number
  readonly errorSamples: readonly string[]
  readonly rows: readonly RowFigures[]
  readonly ratios: OnlineRatios
  /** null when it was left out */
  readonly memory: IdleMemory | null
}

/** Ratios of this build's rows to each other and to the bare servers, one for each round. */
export interface OnlineRatios {
  /** Sends with no user connected by those of the echo; without an echo NaN, as the others. */
  readonly sendsOfEcho: readonly number[]
  readonly onlineOfOffline: readonly number[]
  /** The same by processor time, which other work of the machine changes less. */
  readonly sendsOfEchoCpu: readonly number[]
  readonly onlineOfOfflineCpu: readonly number[]
  /** Processor time of an opening by that of a send with no user connected. */
  readonly firstOpeningInSends: readonly number[]
  readonly openingInSends: readonly number[]
  readonly fanOutOfBare: readonly number[]
  readonly burstOfBare: readonly number[]
}

/**
 * Each round begins with a restart of the builds, since processes of one build differ for their
 * whole life.
 * @param onProgress reports progress
 */
export async function measureOnline(
  storage: Storage,
  builds: Builds,
  options: OnlineOptions & Effort,
  onProgress: (text: string) => void,
): Promise<OnlineFigures[]> {
  const { devices, parts, seconds } = options
  requireDescriptors(devices)
  const rounds = builds.length > 1 ? options.starts : options.rounds
  const has = (part: OnlinePart) => parts.includes(part)
  onProgress(`online: ${devices} users`)
  using names = new ThreadNames()
  await using sides = await Sides.start(storage, builds, { names, users: devices })
  const { all } = sides
  using bare = all.length > 1 ? null : await bareBeside(all[0] as Side)
  using sends = await Sends.prepare(all)
  const openings = await Openings.prepare(all, bare, has('openings') ? rounds : 0)
  const fanOuts = new FanOuts(all, bare)
  const turns: readonly (readonly [OnlinePart, (round: number) => Promise<void>])[] = [
    ['sends', (round) => sends.measure(round, seconds)],
    ['openings', (round) => openings.measure(round)],
    ['fan-out', (round) => fanOuts.measure(round, seconds)],
  ]
  const chosen = turns.filter(([part]) => has(part))
  for (let round = 0; round < rounds && chosen.length > 0; round++) {
    onProgress(`online: round ${round + 1}`)
    for (const side of inTurn(all, round)) await side.server.restart()
    await sends.warmUp()
    for (const [part, measure] of chosen) {
      onProgress(`online: round ${round + 1}, ${part}`)
      await measure(round)
    }
  }
  if (has('memory')) onProgress('online: memory')
  const memory = has('memory') ? await measureIdleMemory(all, rounds) : null
  const rows = [sends, openings, fanOuts].flatMap((each) => each.rows).filter(isMeasured)
  const runs = rows.flatMap((row) => row.runs)
  return [
    {
      database: storage.name,
      devices,
      errors: sum(runs.map(({ errors }) => errors)),
      errorSamples: [...new Set(runs.flatMap(({ errorSamples = [] }) => errorSamples))],
      rows: rows.map((row) => row.figures()),
      ratios: ratiosOf(sends, openings, fanOuts),
      memory,
    },
  ]
}

/** The bare server writes an event as the service wrote it. */
async function bareBeside(side: Side): Promise<BareParty> {
  const { swarms, app } = side
  await side.open()
  await swarms.run('service', 'fanOut', { groupId: app.groupId, burst: 1, window: 1, seconds: 1 })
  const body = await swarms.run('service', 'sample')
  await side.close()
  return startBareParty(side, body)
}

function isMeasured({ runs }: Row): boolean {
  return runs.length > 0
}

function ratiosOf(sends: Sends, openings: Openings, fanOuts: FanOuts): OnlineRatios {
  const { none, all } = sends.saturated
  const bare = { party: 'bare' } as const
  const sendUs = cpuUsOf(none)
  return {
    sendsOfEcho: none.ratios('this', bare),
    onlineOfOffline: all.ratios('this', { row: none, party: 'this' }),
    sendsOfEchoCpu: quotients(cpuUsOf(none, 'bare'), sendUs),
    onlineOfOfflineCpu: quotients(sendUs, cpuUsOf(all)),
    firstOpeningInSends: quotients(cpuUsOf(openings.first), sendUs),
    openingInSends: quotients(cpuUsOf(openings.back), sendUs),
    fanOutOfBare: fanOuts.single.ratios('this', bare),
    burstOfBare: fanOuts.burst.ratios('this', bare),
  }
}

function cpuUsOf(row: Row, party: Party = 'this'): readonly number[] {
  return row.figures().parties[party]?.cpuUs.all ?? []
}

function quotients(values: readonly number[], by: readonly number[]): number[] {
  return values.map((value, round) => value / (by[round] ?? Number.NaN))
}
