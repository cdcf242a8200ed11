import { expect, test } from 'vitest'
import { contactOffsets } from './growth-population.js'

test('every user has 50 conversations, none of them begun from both sides', () => {
  for (const users of [100, 101, 500, 10_000]) {
    const offsets = contactOffsets(users)
    const bothWays = offsets.flatMap((offset) => [offset, users - offset])
    expect(new Set(bothWays).size, `${users} users`).toBe(50)
    expect(Math.max(...offsets)).toBeLessThan(users / 2)
    expect(Math.min(...offsets)).toBeGreaterThan(0)
  }
})
