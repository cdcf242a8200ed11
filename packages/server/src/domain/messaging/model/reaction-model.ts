/** Rules of reactions to one message, without a database. */
import type { ChangeableFields, Int64, ReactionMode } from '@hermod/protocol'
import { compare } from '../../../lib/compare.js'

/** The users with one reaction to a message, as the message shows it. */
export type ReactionSum = NonNullable<ChangeableFields['reactions']>[number]

/** A reaction of one user. */
export interface UserReaction {
  readonly userId: Int64
  /** The text as the first user of the message wrote it. */
  readonly key: string
}

/** A wanted state of one reaction of one user. */
export interface WantedReaction {
  readonly userId: Int64
  /** The text as the user wrote it. */
  readonly key: string
  readonly on: boolean
}

/** The effect of wanted reactions. */
export interface ReactionChanges {
  /** For each of the wanted reactions whether it was refused, because there are too many. */
  readonly refused: readonly boolean[]
  readonly removed: readonly UserReaction[]
  readonly added: readonly UserReaction[]
}

/** The limits of reactions to one message. */
export const reactionLimits = { keysPerMessage: 50, keysPerUser: 20, latest: 5 } as const

/** The form in which keys are compared: NFC, without the selector of the presentation as an emoji. */
export function reactionForm(key: string): string {
  return key.replaceAll('\uFE0F', '').normalize('NFC')
}

/**
 * Applies wanted reactions in their order. Keys that differ only in their form are one; a message
 * shows it as it was first written.
 * @param sums the reactions of the message
 * @param held the reactions of the users that want to change theirs
 */
export function changeReactions(
  sums: readonly ReactionSum[],
  held: readonly UserReaction[],
  wanted: readonly WantedReaction[],
  mode: ReactionMode,
): ReactionChanges {
  const keys = new Map(sums.map(({ key }) => [reactionForm(key), key]))
  const counts = new Map(sums.map(({ key, count }) => [key, Number(count)]))
  const before = keysByUser(held)
  const after = keysByUser(held)
  const count = (key: string, by: number) => counts.set(key, (counts.get(key) ?? 0) + by)
  const present = () => [...counts.values()].filter((each) => each > 0).length

  const refused = wanted.map(({ userId, key: written, on }) => {
    const form = reactionForm(written)
    const key = keys.get(form) ?? written
    const own = after.get(userId) ?? new Set<string>()
    after.set(userId, own)
    if (own.has(key) === on) return false
    if (!on) {
      own.delete(key)
      count(key, -1)
      return false
    }
    const replaced = mode === 'one' ? [...own] : []
    if (own.size - replaced.length >= reactionLimits.keysPerUser) return true
    const ending = replaced.filter((each) => counts.get(each) === 1).length
    const isNew = (counts.get(key) ?? 0) === 0
    if (isNew && present() - ending >= reactionLimits.keysPerMessage) return true
    for (const each of replaced) {
      own.delete(each)
      count(each, -1)
    }
    own.add(key)
    count(key, 1)
    keys.set(form, key)
    return false
  })
  const isIn = (users: ReadonlyMap<Int64, ReadonlySet<string>>, { userId, key }: UserReaction) =>
    users.get(userId)?.has(key) ?? false
  return {
    refused,
    removed: listOf(before).filter((each) => !isIn(after, each)),
    added: listOf(after).filter((each) => !isIn(before, each)),
  }
}

/**
 * Returns the keys whose newest users are not known from the sums alone after removals.
 */
export function keysToRead(
  sums: readonly ReactionSum[],
  { removed }: Pick<ReactionChanges, 'removed'>,
): string[] {
  return sums
    .filter(
      ({ key, count, latest }) =>
        count > latest.length &&
        removed.some((each) => each.key === key && latest.includes(each.userId)),
    )
    .map(({ key }) => key)
}

/**
 * Returns the sums after changes: in the order of the first use, with the newest users last; those of
 * one number by ID.
 * @param newest the newest users of the keys of {@link keysToRead} after the removals, the latest last
 */
export function changedSums(
  sums: readonly ReactionSum[],
  { removed, added }: Pick<ReactionChanges, 'removed' | 'added'>,
  newest: ReadonlyMap<string, readonly Int64[]>,
): ReactionSum[] {
  const known = new Set(sums.map(({ key }) => key))
  const fresh = [...new Set(added.map(({ key }) => key))].filter((key) => !known.has(key))
  const all = [...sums, ...fresh.map((key): ReactionSum => ({ key, count: 0, latest: [] }))]
  return all
    .map(({ key, count, latest }) => {
      const gone = usersOf(removed, key)
      const come = usersOf(added, key).sort(compare)
      const kept = newest.get(key) ?? latest.filter((userId) => !gone.includes(userId))
      return {
        key,
        count: count - gone.length + come.length,
        latest: [...kept, ...come].slice(-reactionLimits.latest),
      }
    })
    .filter(({ count }) => count > 0)
}

function usersOf(reactions: readonly UserReaction[], key: string): Int64[] {
  return reactions.filter((each) => each.key === key).map(({ userId }) => userId)
}

function keysByUser(reactions: readonly UserReaction[]): Map<Int64, Set<string>> {
  const users = new Map<Int64, Set<string>>()
  for (const { userId, key } of reactions) {
    const keys = users.get(userId) ?? new Set()
    users.set(userId, keys.add(key))
  }
  return users
}

function listOf(users: ReadonlyMap<Int64, ReadonlySet<string>>): UserReaction[] {
  return [...users].flatMap(([userId, keys]) => [...keys].map((key) => ({ userId, key })))
}
