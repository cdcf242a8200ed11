import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FurthestReaders, isFurther, withReader } from './furthest-readers.js'

const nobody: FurthestReaders = { id: 0, seq: 0, othersSeq: 0 }
const reading = fc.record({ userId: fc.integer({ min: 1, max: 4 }), seq: fc.nat(6) })

/** How far the furthest of all readers but one has read. */
function furthestBut(marks: ReadonlyMap<number, number>, userId: number): number {
  return Math.max(0, ...[...marks].filter(([other]) => other !== userId).map(([, seq]) => seq))
}

/** The same, from what the conversation's row says. */
function furthestOthers({ id, seq, othersSeq }: FurthestReaders, userId: number) {
  return id === userId ? othersSeq : seq
}

describe('furthest readers', () => {
  it('say for everybody how far the furthest of all others has read', () => {
    fc.assert(
      fc.property(fc.array(reading, { maxLength: 12 }), (readings) => {
        const marks = new Map<number, number>()
        let readers = nobody
        for (const { userId, seq } of readings) {
          marks.set(userId, Math.max(marks.get(userId) ?? 0, seq))
          readers = withReader(readers, userId, seq)
          for (const reader of [1, 2, 3, 4, 5])
            expect(furthestOthers(readers, reader)).toBe(furthestBut(marks, reader))
        }
      }),
    )
  })

  it('change by a reading exactly when it is further, and once it is not, it never is', () => {
    fc.assert(
      fc.property(fc.array(reading, { maxLength: 12 }), reading, (readings, { userId, seq }) => {
        let readers = nobody
        let wasFurther = true
        for (const each of [...readings, { userId, seq }]) {
          const further = isFurther(readers, userId, seq)
          if (!wasFurther) expect(further).toBe(false)
          wasFurther = further
          const changed = withReader(readers, userId, seq)
          if (further) expect(changed).not.toEqual(readers)
          else expect(changed).toEqual(readers)
          readers = withReader(readers, each.userId, each.seq)
        }
      }),
    )
  })
})
