import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { TurnPacer } from './turn-pacer.js'

test('as many as are allowed begin in each turn, in their order', async () => {
  const pacer = new TurnPacer(2)
  const begun: number[] = []
  const all = Promise.all(
    [1, 2, 3, 4, 5].map(async (number) => {
      await pacer.begin()
      begun.push(number)
    }),
  )
  const seen: number[][] = []
  while (begun.length < 5) {
    await nextTurn()
    seen.push([...begun])
  }
  await all
  expect(begun).toEqual([1, 2, 3, 4, 5])
  for (const [index, list] of seen.entries()) {
    const before = seen[index - 1]?.length ?? 0
    expect(list.length - before, JSON.stringify(seen)).toBeLessThanOrEqual(4)
  }
  expect(seen.length).toBeGreaterThan(1)
})

test('those who come one by one never wait for more than a turn', async () => {
  const pacer = new TurnPacer(1)
  for (let count = 0; count < 5; count++) {
    await pacer.begin()
    await nextTurn()
  }
})
