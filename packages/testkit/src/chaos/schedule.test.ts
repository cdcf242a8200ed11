import { describe, expect, it } from 'vitest'
import { Random } from '../../../server/test/support/random.js'
import { faultKinds, planFaults } from './schedule.js'

const plan = (seed: number) =>
  planFaults({
    random: new Random(seed),
    kinds: faultKinds,
    count: 60,
    nodes: 3,
    everyMs: 8_000,
    longestMs: 8_000,
  })

describe('planFaults', () => {
  it('has each kind at least five times in 60 faults, whatever the seed', () => {
    for (let seed = 1; seed < 50; seed++)
      for (const kind of faultKinds)
        expect(plan(seed).filter((fault) => fault.kind === kind).length).toBeGreaterThanOrEqual(5)
  })

  it('is the same for a seed, and another one for another seed', () => {
    expect(plan(7)).toEqual(plan(7))
    expect(plan(7)).not.toEqual(plan(8))
  })

  it('concerns all nodes', () => {
    expect(new Set(plan(7).map(({ node }) => node))).toEqual(new Set([0, 1, 2]))
  })
})
