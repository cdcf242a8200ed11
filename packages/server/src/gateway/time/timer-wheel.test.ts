import { describe, expect, it } from 'vitest'
import { TimerWheel, type WheelEntry } from './timer-wheel.js'

interface Entry extends WheelEntry {
  due: number
}

const entries = (count: number): Entry[] =>
  Array.from({ length: count }, () => ({ wheelSlot: 0, due: 0 }))

describe('TimerWheel', () => {
  it.each([1, 4, 37, 100, 111])(
    'has each entry once in an interval of %i ticks, and spreads them',
    (ticks) => {
      const wheel = new TimerWheel<Entry>(ticks)
      const all = entries(ticks * 3)
      for (const entry of all) wheel.add(entry)
      const perTick: number[] = []
      for (let tick = 0; tick < ticks; tick++) {
        let count = 0
        wheel.turn(1, (entry) => {
          entry.due++
          count++
        })
        perTick.push(count)
      }
      expect(new Set(all.map(({ due }) => due))).toEqual(new Set([1]))
      expect(new Set(perTick)).toEqual(new Set([3]))
    },
  )

  it('catches up after ticks that were missed, at most one interval', () => {
    const wheel = new TimerWheel<Entry>(10)
    const all = entries(10)
    for (const entry of all) wheel.add(entry)
    wheel.turn(1_000, (entry) => entry.due++)
    expect(all.map(({ due }) => due)).toEqual(all.map(() => 1))
  })

  it('has no entry that was removed, also while it is due', () => {
    const wheel = new TimerWheel<Entry>(1)
    const all = entries(3)
    for (const entry of all) wheel.add(entry)
    wheel.turn(1, (entry) => {
      entry.due++
      for (const each of all) wheel.remove(each)
    })
    wheel.turn(1, (entry) => entry.due++)
    expect(all.map(({ due }) => due)).toEqual([1, 0, 0])
  })
})
