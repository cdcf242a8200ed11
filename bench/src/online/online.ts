/** Sends, openings and idle connections, by the processor time of each thread. */
import type { Builds, Storage } from '../measure/build.js'
import type { Effort } from '../measure/measure.js'
import { inTurn, sum } from '../measure/statistics.js'
import { ThreadNames } from '../measure/thread-cpu.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import type { RowFigures } from './rows.js'
import { Sends } from './sends.js'
import { Sides } from './sides.js'

/** Size of the set `online`. */
export interface OnlineOptions {
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
  /** Rate of sends with everybody connected by that with nobody, for each round. */
  readonly onlineOfOffline: readonly number[]
}

/**
 * Each round begins with a restart of the builds, since processes of one build differ for their
 * whole life.
 * @param onProgress reports progress
 */
export async function measureOnline(
  storage: Storage,
  builds: Builds,
  { devices, seconds, rounds, starts }: OnlineOptions & Effort,
  onProgress: (text: string) => void,
): Promise<OnlineFigures[]> {
  using names = new ThreadNames()
  onProgress(`online: ${devices} users`)
  await using sides = await Sides.start(storage, builds, { names, users: devices })
  const { all } = sides
  using sends = await Sends.prepare(all)
  for (let round = 0; round < (all.length > 1 ? starts : rounds); round++) {
    onProgress(`online: round ${round + 1}, start`)
    for (const side of inTurn(all, round)) await side.server.restart()
    await sends.warmUp()
    onProgress(`online: round ${round + 1}, sends`)
    await sends.measure(round, seconds)
  }
  const rows = sends.rows
  const runs = rows.flatMap((row) => row.runs)
  return [
    {
      database: storage.name,
      devices,
      errors: sum(runs.map(({ errors }) => errors)),
      errorSamples: [...new Set(runs.flatMap(({ errorSamples = [] }) => errorSamples))],
      rows: rows.map((row) => row.figures()),
      onlineOfOffline: sends.onlineOfOffline,
    },
  ]
}
