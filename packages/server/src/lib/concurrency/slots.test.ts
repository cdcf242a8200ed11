import { describe, expect, it } from 'vitest'
import { Slots } from './slots.js'

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

describe('Slots', () => {
  it('admits in order, so many at once, and refuses what finds too much waiting', async () => {
    const slots = new Slots({ parallel: 2, maxWaiting: 2, full: () => new Error('full') })
    const entered: number[] = []
    const enter = async (id: number) => {
      await slots.enter()
      entered.push(id)
    }
    const entering = [1, 2, 3, 4].map(enter)
    await expect(enter(5)).rejects.toThrow('full')
    await settled()
    expect(entered).toEqual([1, 2])
    slots.leave()
    await settled()
    expect(entered).toEqual([1, 2, 3])
    slots.leave()
    slots.leave()
    slots.leave()
    await Promise.all(entering)
    expect(entered).toEqual([1, 2, 3, 4])
    slots.leave()
    await enter(6)
    expect(entered.at(-1)).toBe(6)
  })
})
