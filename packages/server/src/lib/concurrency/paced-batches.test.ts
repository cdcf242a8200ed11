import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PacedBatches } from './paced-batches.js'

const neverGone = new AbortController().signal

/** Batches that are recorded, with the time of each. */
function recorded({ paceMs = 200, maxBatchSize = 3, maxWaiting = 100 } = {}) {
  const batches: { readonly at: number; readonly items: readonly number[] }[] = []
  const queue = new PacedBatches<number>({
    maxBatchSize,
    fullPaceMs: 200,
    maxWaiting,
    run: async (items) => {
      batches.push({ at: performance.now(), items })
      const outcomes = items.map((item) => (item < 0 ? new Error(`${item}`) : null))
      return { outcomes, paceMs }
    },
    full: () => new Error('full'),
    dropped: () => new Error('dropped'),
  })
  const startedAt = performance.now()
  const times = () => batches.map(({ at, items }) => [at - startedAt, items])
  return { queue, times }
}

describe('paced batches', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('the first item is done at once, later ones together when the pace is over', async () => {
    const { queue, times } = recorded()
    const done = [1, 2, 3, 4, 5].map((item) => queue.add('a', item, neverGone))
    await vi.advanceTimersByTimeAsync(1_000)
    await Promise.all(done)
    expect(times()).toEqual([
      [0, [1]],
      [200, [2, 3, 4]],
      [400, [5]],
    ])
    await queue.add('a', 6, neverGone)
    expect(times().at(-1)).toEqual([1_000, [6]])
  })

  it('a full batch waits for the short pace, also when it fills up meanwhile', async () => {
    const { queue, times } = recorded({ paceMs: 5_000 })
    const add = (items: readonly number[]) =>
      Promise.all(items.map((item) => queue.add('a', item, neverGone)))
    const first = add([1, 2, 3])
    await vi.advanceTimersByTimeAsync(1_000)
    const second = add([4, 5, 6, 7, 8])
    await vi.advanceTimersByTimeAsync(10_000)
    await Promise.all([first, second])
    expect(times()).toEqual([
      [0, [1]],
      [1_000, [2, 3, 4]],
      [1_200, [5, 6, 7]],
      [6_200, [8]],
    ])
  })

  it('the pace begins when a batch has ended, so that a slow one brings the next no closer', async () => {
    const ends: number[] = []
    const queue = new PacedBatches<number>({
      ...{ maxBatchSize: 1, fullPaceMs: 200, maxWaiting: 10 },
      run: async ([item = 0]) => {
        await new Promise((resolve) => setTimeout(resolve, item))
        ends.push(performance.now())
        return { outcomes: [null], paceMs: 200 }
      },
      full: () => new Error('full'),
      dropped: () => new Error('dropped'),
    })
    const begun = performance.now()
    const done = [150, 10].map((item) => queue.add('a', item, neverGone))
    await vi.advanceTimersByTimeAsync(1_000)
    await Promise.all(done)
    expect(ends.map((end) => end - begun)).toEqual([150, 360])
  })

  it('keys do not wait for one another', async () => {
    const { queue, times } = recorded()
    await Promise.all([queue.add('a', 1, neverGone), queue.add('b', 2, neverGone)])
    expect(times()).toEqual([
      [0, [1]],
      [0, [2]],
    ])
  })

  it('an item with an error rejects alone', async () => {
    const { queue } = recorded()
    await queue.add('a', 1, neverGone)
    const answers = Promise.allSettled([2, -3, 4].map((item) => queue.add('a', item, neverGone)))
    await vi.advanceTimersByTimeAsync(200)
    expect((await answers).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
  })

  it('an item whose caller goes before its batch begins is dropped, one that has begun is not', async () => {
    const { queue, times } = recorded()
    const [first, second] = [new AbortController(), new AbortController()]
    const begun = queue.add('a', 1, first.signal)
    first.abort()
    const waiting = expect(queue.add('a', 2, second.signal)).rejects.toThrow('dropped')
    second.abort()
    await waiting
    await begun
    await expect(queue.add('a', 3, second.signal)).rejects.toThrow('dropped')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(times()).toEqual([[0, [1]]])
    expect(queue.waiting).toBe(0)
  })

  it('refuses items when too many wait', async () => {
    const { queue } = recorded({ maxWaiting: 2 })
    const added = [1, 2, 3].map((item) => queue.add('a', item, neverGone))
    await expect(queue.add('b', 4, neverGone)).rejects.toThrow('full')
    await vi.advanceTimersByTimeAsync(200)
    await Promise.all(added)
  })

  it('goes on after a batch that fails as a whole', async () => {
    let isBroken = true
    const queue = new PacedBatches<number>({
      maxBatchSize: 10,
      fullPaceMs: 200,
      maxWaiting: 10,
      run: async (items) => {
        if (isBroken) throw new Error('broken')
        return { outcomes: items.map(() => null), paceMs: 0 }
      },
      full: () => new Error('full'),
      dropped: () => new Error('dropped'),
    })
    await expect(queue.add('a', 1, neverGone)).rejects.toThrow('broken')
    isBroken = false
    const second = queue.add('a', 2, neverGone)
    await vi.advanceTimersByTimeAsync(1_000)
    await second
  })
})
