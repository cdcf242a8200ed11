import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { EventLoopBudget } from './event-loop-budget.js'

describe('EventLoopBudget by count', () => {
  it('begins as many pieces in each turn as the budget has, in order', async () => {
    const budget = new EventLoopBudget({ perTurn: 2 })
    const begun: number[] = []
    const all = [1, 2, 3, 4, 5].map(async (number) => {
      await budget.begin()
      begun.push(number)
    })
    const seen: number[] = []
    while (begun.length < 5) {
      await nextTurn()
      seen.push(begun.length)
    }
    await Promise.all(all)
    expect(begun).toEqual([1, 2, 3, 4, 5])
    for (const [turn, count] of seen.entries())
      expect(count - (seen[turn - 1] ?? 0), JSON.stringify(seen)).toBeLessThanOrEqual(4)
    expect(seen.length).toBeGreaterThan(1)
  })

  it('lets callers that come one by one begin within a turn', async () => {
    const budget = new EventLoopBudget({ perTurn: 1 })
    for (let count = 0; count < 5; count++) {
      await budget.begin()
      await nextTurn()
    }
  })

  it('runs one chunk in a turn, of all lists in turn', async () => {
    const budget = new EventLoopBudget({ perTurn: 1 })
    const chunks: string[] = []
    const work = async (name: string) => {
      for await (const [item] of budget.chunks([1, 2, 3], 1)) chunks.push(`${name}${item}`)
    }
    const done = Promise.all([work('a'), work('b')])
    const seen: number[] = []
    for (let turn = 0; turn < 6; turn++) {
      await nextTurn()
      seen.push(chunks.length)
    }
    await done
    expect(chunks).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
    for (const [turn, count] of seen.entries())
      expect(count - (seen[turn - 1] ?? 2)).toBeLessThanOrEqual(1)
  })

  it('splits a list into chunks, and an empty list into none', async () => {
    const chunksOf = async (list: number[]) => {
      const chunks: number[][] = []
      for await (const chunk of new EventLoopBudget({ perTurn: 1 }).chunks(list, 2))
        chunks.push(chunk)
      return chunks
    }
    expect(await chunksOf([1, 2, 3])).toEqual([[1, 2], [3]])
    expect(await chunksOf([])).toEqual([])
  })
})

describe('EventLoopBudget by bytes', () => {
  it('begins no more in a turn once the bytes are spent, and continues in the next turn', async () => {
    const budget = new EventLoopBudget({ maxRunning: 100, perTurn: 10 })
    const begun: number[] = []
    const work = Array.from({ length: 5 }, (_, index) =>
      budget.run(
        async () => {
          begun.push(index)
          return index
        },
        () => 10,
      ),
    )
    // No work had spent anything yet when the next one began.
    expect(begun).toEqual([0, 1, 2, 3, 4])
    expect(await Promise.all(work)).toEqual([0, 1, 2, 3, 4])
    const late = budget.run(
      async () => begun.push(5),
      () => 0,
    )
    expect(begun).toHaveLength(5)
    await nextTurn()
    await late
    expect(begun).toHaveLength(6)
  })

  it('runs at most maxRunning works at once, also when one fails', async () => {
    const budget = new EventLoopBudget({ maxRunning: 1, perTurn: 10 })
    let running = 0
    let most = 0
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, (_, index) =>
        budget.run(
          async () => {
            most = Math.max(most, ++running)
            await nextTurn()
            running--
            if (index === 1) throw new Error('failed')
            return index
          },
          () => 1,
        ),
      ),
    )
    expect(most).toBe(1)
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
  })

  it('returns a value that is at hand without waiting, and counts its cost', async () => {
    const budget = new EventLoopBudget({ maxRunning: 1, perTurn: 10 })
    const costOf = () => 10
    expect(() =>
      budget.run(() => {
        throw new Error('failed at once')
      }, costOf),
    ).toThrow('failed at once')
    expect(budget.run(() => 'first', costOf)).toBe('first')
    const begun: string[] = []
    const late = ['second', 'third'].map((name) => budget.run(() => begun.push(name), costOf))
    const failing = budget.run(() => {
      throw new Error('failed late')
    }, costOf)
    expect(begun).toEqual([])
    await Promise.all(late)
    expect(begun).toEqual(['second', 'third'])
    await expect(failing).rejects.toThrow('failed late')
  })
})
