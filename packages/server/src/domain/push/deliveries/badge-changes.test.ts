import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { BadgeChange } from '../../../push/notification.js'
import { shownAfter, totalOf } from './badge-changes.js'

const add = (count: number): BadgeChange => ({ mode: 'add', count })
const set = (count: number): BadgeChange => ({ mode: 'set', count })

describe('changes of a badge', () => {
  it.each([
    [[add(1), add(2)], { added: 3, set: null }, [6, 8]],
    [[set(4), add(2), set(1)], { added: null, set: 1 }, [4, 6, 1]],
    [[add(0)], { added: 0, set: null }, [5]],
    [[add(3), set(0), add(2)], { added: 3, set: 2 }, [8, 0, 2]],
  ])('%j are %j', (changes, total, shown) => {
    expect(totalOf(changes)).toEqual(total)
    expect(shownAfter(changes, 5 + (total.added ?? 0))).toEqual(shown)
  })

  it('shows no more than there is room for', () => {
    expect(shownAfter([add(9), set(1)], 2 ** 31 + 9)).toEqual([2 ** 31 - 1, 1])
  })

  it('come to the same as one after the other', () => {
    const change = fc.record({
      mode: fc.constantFrom('set' as const, 'add' as const),
      count: fc.nat({ max: 100 }),
    })
    fc.assert(
      fc.property(fc.nat({ max: 100 }), fc.array(change, { minLength: 1 }), (before, changes) => {
        let badge = before
        const shown = changes.map(({ mode, count }) => {
          badge = mode === 'set' ? count : badge + count
          return badge
        })
        const { added, set: last } = totalOf(changes)
        const afterAdding = before + (added ?? 0)
        expect(last ?? afterAdding).toBe(shown.at(-1))
        expect(shownAfter(changes, afterAdding)).toEqual(shown)
      }),
    )
  })
})
