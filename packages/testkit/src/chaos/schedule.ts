/** Kinds of faults that the schedule of a run has. */
export const faultKinds = [
  /** SIGKILL of a node, which its supervisor starts again. */
  'kill',
  /** SIGTERM of a node, which its supervisor starts again. */
  'terminate',
  /** SIGSTOP of a node for 5 s. */
  'short_stop',
  /** SIGSTOP of a node for 20 s. */
  'long_stop',
  /** A node without its connection to the bus, for some seconds. */
  'bus_cut',
  /** A node without the database, for some seconds. */
  'database_cut',
  /** The clock of a node is 8 s ahead or behind, for some seconds. */
  'clock',
  /** SIGKILL of all processes of PostgreSQL, which starts again. */
  'database_kill',
  /** An orderly stop of PostgreSQL, which starts again. */
  'database_restart',
  /** SIGKILL of PostgreSQL and promotion of a synchronous standby: no commit is lost. */
  'promotion',
  /** SIGKILL of PostgreSQL and promotion of a standby that has lagged: commits are lost. */
  'lossy_promotion',
] as const
export type FaultKind = (typeof faultKinds)[number]

/** The faults of PostgreSQL: one at a time, and they concern all nodes. */
export const databaseFaults: ReadonlySet<FaultKind> = new Set([
  'database_kill',
  'database_restart',
  'promotion',
  'lossy_promotion',
])

export interface Fault {
  readonly kind: FaultKind
  /** Index of the node; of a fault of the database any. */
  readonly node: number
  /** Duration of a fault whose kind leaves it open. */
  readonly lastsMs: number
  /** From the begin of the fault before to the begin of this one, at least. */
  readonly pauseMs: number
}

/** A repeatable source of chance. */
export interface Chance {
  /** Both bounds included. */
  integer(min: number, max: number): number
}

export interface ScheduleOptions {
  readonly random: Chance
  readonly kinds: readonly FaultKind[]
  readonly count: number
  readonly nodes: number
  /** Average time between two faults. */
  readonly everyMs: number
  /** The longest of those whose length is open. */
  readonly longestMs: number
}

const longStopMs = 20_000
const shortStopMs = 5_000

/** Plans faults: each kind as often as the others, or once more, in an order of chance. */
export function planFaults(options: ScheduleOptions): Fault[] {
  const { random, kinds, count, nodes, everyMs, longestMs } = options
  const chosen = Array.from(
    { length: count },
    (_, index) => kinds[index % kinds.length] as FaultKind,
  )
  for (let last = chosen.length - 1; last > 0; last--) {
    const other = random.integer(0, last)
    ;[chosen[last], chosen[other]] = [chosen[other] as FaultKind, chosen[last] as FaultKind]
  }
  return chosen.map((kind) => ({
    kind,
    node: random.integer(0, nodes - 1),
    lastsMs: lengthOf(kind, random, longestMs),
    pauseMs: random.integer(Math.round(everyMs * 0.6), Math.round(everyMs * 1.4)),
  }))
}

function lengthOf(kind: FaultKind, random: Chance, longestMs: number): number {
  if (kind === 'long_stop') return longStopMs
  if (kind === 'short_stop') return shortStopMs
  return random.integer(Math.round(longestMs / 8), longestMs)
}
