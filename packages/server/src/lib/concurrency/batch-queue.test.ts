import { describe, expect, it } from 'vitest'
import { type BatchObserver, BatchQueue } from './batch-queue.js'

class ItemError extends Error {}

/** Batches end when they are told to. */
class Work {
  readonly observed: Pick<Parameters<BatchObserver['finished']>[0], 'size' | 'failed'>[] = []
  readonly batches: { readonly items: readonly number[]; end(error?: Error): void }[] = []
  readonly queue = new BatchQueue<number, number>({
    sizeOf: () => 1,
    maxBatchSize: 50,
    maxQueuedSize: 100,
    maxBatches: 1,
    run: (items) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) =>
          error ? reject(error) : resolve(items.map((item) => item * 10))
        this.batches.push({ items, end })
      }),
    full: () => new RangeError('full'),
    isErrorOfOne: (error) => error instanceof ItemError,
    observer: {
      finished: ({ size, failed }) => this.observed.push({ size, failed }),
      refused: () => {},
    },
  })

  add(count: number): Promise<number>[] {
    return Array.from({ length: count }, (_, index) => this.queue.add(index))
  }
}

async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('BatchQueue', () => {
  it('runs the items of one turn together, and gives each caller its result', async () => {
    const work = new Work()
    const results = work.add(3)
    await turn()
    expect(work.batches.map(({ items }) => items)).toEqual([[0, 1, 2]])
    work.batches[0]?.end()
    expect(await Promise.all(results)).toEqual([0, 10, 20])
  })

  it('collects the items that arrive during a batch for the next one', async () => {
    const work = new Work()
    const first = work.queue.add(7)
    await turn()
    const rest = work.add(2)
    await turn()
    expect(work.batches).toHaveLength(1)
    work.batches[0]?.end()
    await first
    await turn()
    expect(work.batches.map(({ items }) => items)).toEqual([[7], [0, 1]])
    work.batches[1]?.end()
    expect(await Promise.all(rest)).toEqual([0, 10])
  })

  it('refuses only items that would make the queue too long', async () => {
    const work = new Work()
    const first = work.queue.add(0)
    await turn()
    const waiting = work.add(100)
    await expect(work.queue.add(1)).rejects.toThrow(RangeError)
    expect(work.queue.queuedSize).toBe(100)
    for (let ended = 0; ended < work.batches.length; ended++) {
      work.batches[ended]?.end()
      await turn()
    }
    expect(await Promise.all([first, ...waiting])).toHaveLength(101)
    expect(Math.max(...work.batches.map(({ items }) => items.length))).toBeLessThanOrEqual(50)
  })

  it('retries items one by one after an error of one of them', async () => {
    const work = new Work()
    const results = Promise.allSettled(work.add(2))
    await turn()
    work.batches[0]?.end(new ItemError())
    await turn()
    work.batches[1]?.end(new ItemError())
    await turn()
    work.batches[2]?.end()
    expect(work.batches.map(({ items }) => items)).toEqual([[0, 1], [0], [1]])
    expect(await results).toMatchObject([{ status: 'rejected' }, { value: 10 }])
    expect(work.observed).toEqual([
      { size: 2, failed: true },
      { size: 1, failed: true },
      { size: 1, failed: false },
    ])
  })

  it('fails all items after any other failure', async () => {
    const work = new Work()
    const results = Promise.allSettled(work.add(2))
    await turn()
    work.batches[0]?.end(new Error('down'))
    expect(await results).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
    expect(work.batches).toHaveLength(1)
  })

  it('fails an item whose outcome is an error, and only that one', async () => {
    const queue = new BatchQueue<string, string>({
      sizeOf: () => 1,
      maxBatchSize: 10,
      maxQueuedSize: 10,
      maxBatches: 1,
      run: async (items) => items.map((item) => (item === 'bad' ? new ItemError() : item)),
      full: () => new RangeError(),
      isErrorOfOne: () => false,
      observer: { finished: () => {}, refused: () => {} },
    })
    const results = await Promise.allSettled(['good', 'bad'].map((item) => queue.add(item)))
    expect(results).toMatchObject([{ value: 'good' }, { reason: expect.any(ItemError) }])
  })

  it('refuses an item that needs more than half of the free rest, and never a small one', async () => {
    const batches: string[][] = []
    const queue = new BatchQueue<string, string>({
      sizeOf: () => 1,
      maxBatchSize: 10,
      maxQueuedSize: 100,
      bytes: { of: (item) => item.length, maxBatch: 10, maxHeld: 20 },
      maxBatches: 1,
      run: async (items) => {
        batches.push([...items])
        return items
      },
      full: () => new RangeError(),
      isErrorOfOne: () => false,
      observer: { finished: () => {}, refused: () => {} },
    })
    const results = Promise.allSettled(
      ['aaaaaaaaaaaa', 'bbbbb', 'cccc', 'd'].map((item) => queue.add(item)),
    )
    expect(queue.heldBytes).toBe(17)
    expect((await results).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(batches).toEqual([['aaaaaaaaaaaa'], ['cccc', 'd']])
    await queue.idle()
    expect(queue.heldBytes).toBe(0)
    expect(await queue.add('e'.repeat(40))).toHaveLength(40)
  })

  it('idle resolves when all items are done', async () => {
    const work = new Work()
    await work.queue.idle()
    let isIdle = false
    const result = work.queue.add(1)
    const idle = work.queue.idle().then(() => {
      isIdle = true
    })
    await turn()
    expect(isIdle).toBe(false)
    work.batches[0]?.end()
    await Promise.all([result, idle])
  })
})
