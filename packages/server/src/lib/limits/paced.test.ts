import { describe, expect, it } from 'vitest'
import { Paced } from './paced.js'

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('Paced', () => {
  it('begins no more in a turn once enough bytes have come, and goes on in the next one in order', async () => {
    const paced = new Paced({ maxRunning: 100, maxBytesPerTurn: 10 })
    const begun: number[] = []
    const work = Array.from({ length: 5 }, (_, index) =>
      paced.run(
        async () => {
          begun.push(index)
          return index
        },
        () => 10,
      ),
    )
    // What ran at once had brought nothing yet when it began.
    expect(begun).toEqual([0, 1, 2, 3, 4])
    expect(await Promise.all(work)).toEqual([0, 1, 2, 3, 4])
    const late = paced.run(
      async () => begun.push(5),
      () => 0,
    )
    expect(begun).toHaveLength(5)
    await turn()
    await late
    expect(begun).toHaveLength(6)
  })

  it('has no more under way than it may, also when one fails', async () => {
    const paced = new Paced({ maxRunning: 1, maxBytesPerTurn: 10 })
    let running = 0
    let most = 0
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, (_, index) =>
        paced.run(
          async () => {
            most = Math.max(most, ++running)
            await turn()
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

  it('gives what is at hand at once, and counts what it brought', async () => {
    const paced = new Paced({ maxRunning: 1, maxBytesPerTurn: 10 })
    const bytesOf = () => 10
    expect(() =>
      paced.run(() => {
        throw new Error('failed at once')
      }, bytesOf),
    ).toThrow('failed at once')
    expect(paced.run(() => 'first', bytesOf)).toBe('first')
    const begun: string[] = []
    const late = ['second', 'third'].map((name) => paced.run(() => begun.push(name), bytesOf))
    const failing = paced.run(() => {
      throw new Error('failed late')
    }, bytesOf)
    expect(begun).toEqual([])
    await Promise.all(late)
    expect(begun).toEqual(['second', 'third'])
    await expect(failing).rejects.toThrow('failed late')
  })
})
