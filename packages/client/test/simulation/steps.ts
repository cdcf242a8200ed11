/** The steps of a schedule: plain lists, so that a failing one can be shortened and written into a test. */
import { Random } from '../../../server/test/support/random.js'

/** A name, its numbers, and last the milliseconds until the next step. */
export type Step<Name extends string = StepName> = readonly [name: Name, ...numbers: number[]]

/** What a step chooses among, by its weight. The meaning is in actions.ts. */
const weights = {
  /** device, conversation */
  send: 22,
  /** user, conversation */
  post: 22,
  /** device, conversation */
  showReplies: 4,
  /** user, conversation, which of the newest */
  edit: 5,
  recall: 4,
  /** user, conversation, which of the newest */
  mark: 2,
  react: 4,
  pinMessage: 2,
  /** user, conversation, what is done with the stream */
  writeStream: 8,
  /** device, all logs or one */
  look: 4,
  /** device, which of its messages, reaction or pin */
  wish: 8,
  /** device, conversation */
  read: 5,
  /** user, conversation */
  acknowledge: 4,
  hide: 2,
  /** sender */
  broadcast: 2,
  /** user, group */
  membership: 4,
  rename: 1,
  muteMode: 1,
  dissolve: 1,
  /** user, other user or conversation */
  pin: 1,
  contact: 2,
  profile: 1,
  /** device, conversation, limit */
  history: 4,
  /** device, which of its messages */
  rewrite: 6,
  withdraw: 4,
  /** device, transaction */
  retry: 1,
  discard: 1,
  /** device */
  cut: 4,
  /** device, frames */
  cutAfter: 3,
  silence: 2,
  offline: 2,
  online: 2,
  fallBehind: 3,
  /** device, is the commit in flight done */
  crash: 3,
  freeze: 2,
  thaw: 2,
  slowStore: 2,
  failStore: 1,
  sleep: 1,
  wakeup: 1,
  kick: 1,
  expireToken: 1,
  /** error, how often, or is there no answer */
  refuse: 2,
  /** milliseconds away, is it killed */
  restart: 2,
  purge: 2,
  purgeChanges: 1,
  backUp: 1,
  restore: 1,
  jumpServerClock: 1,
  /** milliseconds */
  wait: 3,
  waitLong: 1,
} as const

export type StepName = keyof typeof weights

const plainLength: Range = [20, 60]
/** Longer, so that the few names of a swarm meet in many orders. */
const swarmLength: Range = [20, 90]

type Range = readonly [least: number, most: number]

/** Makes the steps of a seed, of names that are as frequent as their weights. */
export function stepsOf(seed: number): Step[] {
  return stepsWith(weights, seed)
}

/**
 * Makes the steps of a seed, of a random part of the names. What frequent names cover up in other
 * schedules piles up here.
 */
export function swarmOf(seed: number): Step[] {
  const random = new Random(seed ^ 0x3b1d)
  const share = random.pick([0.2, 0.4, 0.7])
  const isEven = random.chance(0.5)
  const names = Object.keys(weights).filter(() => random.chance(share)) as StepName[]
  const part = names.map((name) => [name, isEven ? 1 : weights[name]])
  return stepsWith(
    Object.fromEntries(part.length > 0 ? part : Object.entries(weights)),
    seed,
    swarmLength,
  )
}

export function stepsWith<Name extends string>(
  weightsOf: Readonly<Record<Name, number>>,
  seed: number,
  length = plainLength,
): Step<Name>[] {
  const names = Object.entries<number>(weightsOf).flatMap(([name, weight]) =>
    Array<Name>(weight).fill(name as Name),
  )
  const random = new Random(seed)
  const count = random.integer(...length)
  return Array.from({ length: count }, (): Step<Name> => {
    const name = random.pick(names)
    const waitMs = random.chance(0.7) ? random.integer(0, 20) : random.integer(0, 1_500)
    return [name, random.integer(0, 11), random.integer(0, 11), random.integer(0, 11), waitMs]
  })
}

/** Leaves steps out as long as the schedule still fails. */
export function shrink<S>(steps: readonly S[], fails: (steps: readonly S[]) => boolean): S[] {
  let kept = [...steps]
  for (
    let size = Math.ceil(kept.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  )
    for (let start = 0; start < kept.length; ) {
      const shorter = kept.toSpliced(start, size)
      if (fails(shorter)) kept = shorter
      else start += size
    }
  return kept
}
