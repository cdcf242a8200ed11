import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  changedSums,
  changeReactions,
  keysToRead,
  reactionForm,
  reactionLimits,
  type ReactionSum,
  type UserReaction,
  type WantedReaction,
} from './reaction-model.js'

/** A stored reaction of a message. */
interface Row extends UserReaction {
  readonly change: number
}

/** A message with its reactions, changed in batches as the writer changes it. */
class Message {
  sums: readonly ReactionSum[] = []
  rows: readonly Row[] = []
  change = 0

  /** @returns for each wanted reaction whether it was refused */
  write(wanted: readonly WantedReaction[], mode: 'distinct' | 'one'): readonly boolean[] {
    const users = new Set(wanted.map(({ userId }) => userId))
    const held = this.rows.filter(({ userId }) => users.has(userId))
    const changes = changeReactions(this.sums, held, wanted, mode)
    const { removed, added } = changes
    if (removed.length + added.length === 0) return changes.refused
    this.change++
    const isRemoved = (row: Row) =>
      removed.some(({ userId, key }) => userId === row.userId && key === row.key)
    const kept = this.rows.filter((row) => !isRemoved(row))
    const newest = new Map(keysToRead(this.sums, changes).map((key) => [key, newestOf(kept, key)]))
    this.sums = changedSums(this.sums, changes, newest)
    this.rows = [...kept, ...added.map((each) => ({ ...each, change: this.change }))]
    return changes.refused
  }
}

function newestOf(rows: readonly Row[], key: string): number[] {
  return rows
    .filter((row) => row.key === key)
    .sort((a, b) => a.change - b.change || Number(a.userId) - Number(b.userId))
    .slice(-reactionLimits.latest)
    .map(({ userId }) => Number(userId))
}

/** The reactions of each user, one wanted reaction after the other. */
class Model {
  readonly users = new Map<number, Set<string>>()

  want({ userId, key, on }: WantedReaction, mode: 'distinct' | 'one'): boolean {
    const form = reactionForm(key)
    const own = this.users.get(Number(userId)) ?? new Set()
    this.users.set(Number(userId), own)
    if (!on || own.has(form)) {
      if (!on) own.delete(form)
      return false
    }
    const next = mode === 'one' ? new Set([form]) : new Set([...own, form])
    if (next.size > reactionLimits.keysPerUser) return true
    const others = [...this.users].filter(([id]) => id !== userId).flatMap(([, keys]) => [...keys])
    if (
      !others.includes(form) &&
      new Set([...others, ...next]).size > reactionLimits.keysPerMessage
    )
      return true
    this.users.set(Number(userId), next)
    return false
  }
}

// More keys than a message may have, some of them in two forms.
const key = fc.oneof(
  fc.constantFrom('❤️', '❤', '\u00e9', 'e\u0301'),
  fc.nat(70).map((index) => `key ${index}`),
)
const wanted = fc.record({
  userId: fc.integer({ min: 1, max: 12 }),
  key,
  on: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.boolean()),
})
const batches = fc.array(fc.array(wanted, { minLength: 1, maxLength: 40 }), { maxLength: 8 })

describe('reactions to a message', () => {
  it.each(['distinct', 'one'] as const)(
    'mode %s: batches leave what one change after the other leaves, and sums are those of the rows',
    (mode) => {
      fc.assert(
        fc.property(batches, (all) => {
          const message = new Message()
          const model = new Model()
          for (const batch of all) {
            const before = message.sums.map((sum) => sum.key)
            expect(message.write(batch, mode)).toEqual(batch.map((each) => model.want(each, mode)))
            const held = message.rows.map((row) => `${row.userId} ${reactionForm(row.key)}`)
            const due = [...model.users].flatMap(([id, keys]) => [...keys].map((k) => `${id} ${k}`))
            expect(held.sort()).toEqual(due.sort())
            for (const sum of message.sums) {
              const { length } = message.rows.filter((row) => row.key === sum.key)
              expect(sum).toEqual({
                key: sum.key,
                count: length,
                latest: newestOf(message.rows, sum.key),
              })
            }
            const keys = message.sums.map((sum) => sum.key)
            expect(new Set(keys.map(reactionForm)).size).toBe(keys.length)
            expect(keys.length).toBe(new Set(message.rows.map((row) => row.key)).size)
            const still = before.filter((each) => keys.includes(each))
            expect(keys.slice(0, still.length)).toEqual(still)
          }
        }),
      )
    },
  )

  it('keys are equal in NFC and without the selector of the presentation as an emoji', () => {
    expect(reactionForm('e\u0301')).toBe(reactionForm('\u00e9'))
    expect(reactionForm('e\uFE0F\u0301')).toBe(reactionForm('\u00e9'))
    expect(reactionForm('❤\uFE0F')).toBe(reactionForm('❤'))
    expect(reactionForm('\uFE0F')).toBe('')
  })

  it('a reaction that a user adds and removes in one batch leaves nothing', () => {
    const both = [true, false].map((on) => ({ userId: 1, key: 'a', on }))
    expect(changeReactions([], [], both, 'distinct')).toEqual({
      refused: [false, false],
      removed: [],
      added: [],
    })
  })
})
