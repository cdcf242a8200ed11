import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseName } from '../scenarios/scenario.js'
import type { Build, Storage } from './build.js'
import { inTurn, median, type Ratio, ratioOf } from './statistics.js'

/** Start-up time and idle memory on one database; medians. */
export interface StartupFigures {
  readonly database: DatabaseName
  /** From the start of the process to the first 200 of /readyz, on an empty folder. */
  readonly readyMs: number
  readonly slowestReadyMs: number
  /** Resident memory some seconds after the start, before the first request. */
  readonly idleRssBytes: number
  /** Missed targets; empty for none. */
  readonly missed: readonly string[]
  /** Null without another build. */
  readonly against: StartupComparison | null
}

/** The other build, started in turn with this one. */
export interface StartupComparison {
  readonly readyMs: number
  readonly readyRatio: Ratio
  readonly idleRssBytes: number
  readonly idleRatio: Ratio
}

/** Longest time to the first 200 of /readyz that meets the target. */
export const readyTargetMs = 1000
/** Largest idle memory that meets the target. */
export const idleTargetBytes = 120 * 1e6
const starts = 5
const idleMs = 3000

interface Starts {
  readonly build: Build
  readonly readyMs: number[]
  readonly idleRssBytes: number[]
}

/** @param builds this build, then the one to compare with, if any; started in turns */
export async function measureStartup(
  storage: Storage,
  builds: readonly Build[],
): Promise<StartupFigures> {
  const all = builds.map((build): Starts => ({ build, readyMs: [], idleRssBytes: [] }))
  for (let round = 0; round < starts; round++)
    for (const each of inTurn(all, round)) await startOnce(storage, each)
  const [{ readyMs, idleRssBytes }, other] = all as [Starts, Starts | undefined]
  const figures = { readyMs: median(readyMs), idleRssBytes: median(idleRssBytes) }
  return {
    database: storage.name,
    ...figures,
    slowestReadyMs: Math.max(...readyMs),
    missed: [
      ...(figures.readyMs <= readyTargetMs ? [] : ['ready']),
      ...(figures.idleRssBytes <= idleTargetBytes ? [] : ['idle memory']),
    ],
    against: other
      ? {
          readyMs: median(other.readyMs),
          readyRatio: ratioOf(readyMs, other.readyMs),
          idleRssBytes: median(other.idleRssBytes),
          idleRatio: ratioOf(idleRssBytes, other.idleRssBytes),
        }
      : null,
  }
}

async function startOnce(
  storage: Storage,
  { build, readyMs, idleRssBytes }: Starts,
): Promise<void> {
  await using server = await storage.start(build)
  readyMs.push(server.process.startupMs)
  await sleep(idleMs)
  idleRssBytes.push(server.process.rssBytes())
}
