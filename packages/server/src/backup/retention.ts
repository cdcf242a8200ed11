import { dayMs } from '../lib/clock.js'

/** A backup as its retention sees it. */
export interface RetainedBackup {
  readonly name: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Backups with and without a database are kept apart; null: the manifest is damaged. */
  readonly engine: string | null
  readonly isVerified: boolean
}

/** How many backups are kept. */
export interface Retention {
  /** Days of which the newest backup is kept. */
  readonly daily: number
  /** Weeks of which the newest backup is kept. */
  readonly weekly: number
}

/** The Monday of 1970-01-05. */
const firstMonday = 4

/**
 * Returns the backups to remove. For each engine it keeps those of the last 24 hours, the newest of
 * each of the last days and weeks (UTC) that have one, the newest verified one, and the newest of
 * all. A damaged one is kept as long as the days, and takes the place of no other.
 */
export function expiredBackups<B extends RetainedBackup>(
  backups: readonly B[],
  { daily, weekly }: Retention,
  now: number,
): B[] {
  const newestFirst = [...backups].sort((a, b) => b.createdAt - a.createdAt)
  const kept = new Set<B>()
  for (const engine of new Set(newestFirst.map((each) => each.engine))) {
    const ofEngine = newestFirst.filter((each) => each.engine === engine)
    if (engine === null) {
      const since = now - Math.max(daily, 1) * dayMs
      for (const each of ofEngine) if (each.createdAt >= since) kept.add(each)
      continue
    }
    for (const each of ofEngine) if (each.createdAt > now - dayMs) kept.add(each)
    for (const each of newestOfEach(ofEngine, dayOf, daily)) kept.add(each)
    for (const each of newestOfEach(ofEngine, weekOf, weekly)) kept.add(each)
    const verified = ofEngine.find(({ isVerified }) => isVerified)
    for (const each of [ofEngine[0], verified]) if (each) kept.add(each)
  }
  return newestFirst.filter((each) => !kept.has(each))
}

function newestOfEach<B extends RetainedBackup>(
  newestFirst: readonly B[],
  periodOf: (time: number) => number,
  periods: number,
): B[] {
  const found = new Map<number, B>()
  for (const each of newestFirst) {
    const period = periodOf(each.createdAt)
    if (!found.has(period)) found.set(period, each)
  }
  return [...found.values()].slice(0, periods)
}

function dayOf(time: number): number {
  return Math.floor(time / dayMs)
}

/** Weeks begin on Mondays. */
function weekOf(time: number): number {
  return Math.floor((dayOf(time) - firstMonday) / 7)
}
