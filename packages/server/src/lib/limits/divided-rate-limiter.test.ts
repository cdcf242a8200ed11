import { beforeEach, describe, expect, it } from 'vitest'
import { DividedRateLimiter } from './divided-rate-limiter.js'

const limit = { perSecond: 100, burst: 100 }

describe('DividedRateLimiter', () => {
  let now: number
  let nodes: DividedRateLimiter[]

  beforeEach(() => {
    now = 1_000
    nodes = Array.from({ length: 3 }, () => new DividedRateLimiter(limit, { now: () => now }))
  })

  /** Attempts at each node, spread over some seconds, and then a heartbeat. @returns those let through, a second */
  function passed(seconds: number, attempts: readonly number[]): number[] {
    const granted = nodes.map(() => 0)
    for (let step = 0; step < seconds * 10; step++) {
      now += 100
      for (const [index, perSecond] of attempts.entries())
        for (let call = 0; call < perSecond / 10; call++)
          if (nodes[index]?.take('app') === 0) granted[index] = (granted[index] ?? 0) + 1
    }
    const told = nodes.map((node) => node.own())
    for (const [index, node] of nodes.entries())
      node.received(told.filter((_, other) => other !== index))
    return granted.map((count) => count / seconds)
  }

  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b)

  it('divides the limit by use, so that all processes let no more through than one', () => {
    passed(5, [300, 100, 0])
    passed(5, [300, 100, 0])
    const granted = passed(5, [300, 100, 0])
    expect(sum(granted)).toBeLessThanOrEqual(100)
    expect(sum(granted)).toBeGreaterThan(90)
    expect((granted[0] ?? 0) / (granted[1] ?? 1)).toBeCloseTo(3, 0)
  })

  it('lets a process with all of the use have nearly all of the limit', () => {
    passed(5, [200, 0, 0])
    passed(5, [200, 0, 0])
    expect(passed(5, [200, 0, 0])[0]).toBeGreaterThan(94)
  })

  it('gives each process the whole limit while they use less than half of it together', () => {
    passed(5, [20, 20, 0])
    now += 1_000
    expect(nodes.map((node) => burstOf(node))).toEqual([100, 100, 100])
  })

  it('gives the whole limit back when the use has ended', () => {
    passed(5, [300, 300, 300])
    expect(burstOf(nodes[0])).toBeLessThan(40)
    passed(5, [0, 0, 0])
    now += 10_000
    expect(burstOf(nodes[0])).toBe(100)
  })

  it('tells only keys with some use, the most used ones', () => {
    for (let app = 0; app < 1_000; app++)
      for (let call = 0; call < 10; call++) nodes[0]?.take(`${app}`)
    nodes[0]?.take('quiet')
    const told = nodes[0]?.own() ?? {}
    expect(Object.keys(told)).toHaveLength(200)
    expect(told.quiet).toBeUndefined()
    expect(nodes[0]?.own()).toEqual({})
  })

  function burstOf(node: DividedRateLimiter | undefined): number {
    let granted = 0
    while (granted < 1_000 && node?.take('app') === 0) granted++
    return granted
  }
})
