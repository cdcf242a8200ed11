import { describe, expect, it } from 'vitest'
import { KeyedSlots, Slots } from './slots.js'

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

describe('Slots', () => {
  it('admits in order, a bounded number at once, and refuses when too many wait', async () => {
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

  it('asks for the number of slots whenever work begins or ends', async () => {
    let parallel = 1
    const slots = new Slots({
      parallel: () => parallel,
      maxWaiting: 3,
      full: () => new Error('full'),
    })
    await slots.enter()
    const waiting = [slots.enter(), slots.enter(), slots.enter()]
    expect(slots.isFull).toBe(true)
    parallel = 3
    slots.leave()
    expect(slots.running).toBe(3)
    parallel = 2
    slots.leave()
    slots.leave()
    await Promise.all(waiting)
    expect(slots.running).toBe(1)
  })

  it('passes the slot on when work fails', async () => {
    const slots = new Slots({ parallel: 1, maxWaiting: 1, full: () => new Error('full') })
    const failing = slots.run(() => Promise.reject(new Error('failed')))
    const next = slots.run(async () => slots.running)
    expect(slots.isFull).toBe(true)
    await expect(failing).rejects.toThrow('failed')
    expect(await next).toBe(1)
    expect([slots.running, slots.isFull]).toEqual([0, false])
  })
})

describe('KeyedSlots', () => {
  it('a full key delays and refuses no work of another key', async () => {
    const slots = new KeyedSlots(() => ({
      parallel: 1,
      maxWaiting: 1,
      full: () => new Error('full'),
    }))
    let end = () => {}
    const first = slots.run('a', async () => {
      await new Promise<void>((resolve) => {
        end = resolve
      })
      return 'first'
    })
    const waiting = slots.run('a', async () => 'second')
    await expect(slots.run('a', async () => 'third')).rejects.toThrow('full')
    expect(await slots.run('b', async () => 'other')).toBe('other')
    end()
    expect(await Promise.all([first, waiting])).toEqual(['first', 'second'])
    expect(await slots.run('a', async () => 'later')).toBe('later')
  })
})
