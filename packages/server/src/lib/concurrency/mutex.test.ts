import { describe, expect, it } from 'vitest'
import { Mutex } from './mutex.js'

/** Lets everything run that can. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('Mutex', () => {
  it('has one exclusive holder; the others wait until it unlocks', async () => {
    const mutex = new Mutex()
    await mutex.lock()
    let isIn = false
    const second = mutex.lock().then(() => {
      isIn = true
    })
    await settled()
    expect(isIn).toBe(false)
    mutex.unlock()
    await second
    expect(isIn).toBe(true)
  })

  it('runs one work at a time, also after one that fails', async () => {
    const mutex = new Mutex()
    let running = 0
    const work = (number: number) =>
      mutex.run(async () => {
        expect(++running).toBe(1)
        await settled()
        running--
        if (number === 1) throw new Error('failed')
        return number
      })
    expect(await Promise.allSettled([0, 1, 2].map(work))).toMatchObject([
      { value: 0 },
      { reason: new Error('failed') },
      { value: 2 },
    ])
  })

  it('serves callers in order', async () => {
    const mutex = new Mutex()
    const order: number[] = []
    const work = async (number: number) => {
      await mutex.lock()
      order.push(number)
      await settled()
      mutex.unlock()
    }
    await Promise.all([1, 2, 3, 4].map(work))
    expect(order).toEqual([1, 2, 3, 4])
  })

  it('passes the lock to the first waiting caller, not to one that arrives at the unlock', async () => {
    const mutex = new Mutex()
    const order: string[] = []
    await mutex.lock()
    const waiting = mutex.lock().then(() => order.push('waiting'))
    mutex.unlock()
    const late = mutex.lock().then(() => order.push('late'))
    await waiting
    await settled()
    expect(order).toEqual(['waiting'])
    mutex.unlock()
    await late
    expect(order).toEqual(['waiting', 'late'])
  })

  it('shared callers wait for one exclusive holder, and then run together', async () => {
    const mutex = new Mutex()
    const order: string[] = []
    await mutex.lock()
    const alone = async (name: string) => {
      await mutex.lock()
      order.push(name)
      mutex.unlock()
    }
    const sharing = async (name: string) => {
      await mutex.lockShared()
      order.push(name)
      await settled()
      mutex.unlockShared()
    }
    const all = [alone('a'), alone('b'), sharing('1'), sharing('2')]
    mutex.unlock()
    // Comes while those who wait to be alone are there.
    all.push(sharing('3'))
    await Promise.all(all)
    expect(order).toEqual(['1', '2', 'a', '3', 'b'])
  })

  it('is free again when no caller waits', async () => {
    const mutex = new Mutex()
    for (let round = 0; round < 3; round++) {
      await mutex.lock()
      mutex.unlock()
    }
  })
})
