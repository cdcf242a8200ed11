import { describe, expect, it } from 'vitest'
import { TurnQueue } from './turn-queue.js'

const turnOf = (appId: string, userId: number) => ({ appId, userId, charge() {} })

describe('the turns of conversions', () => {
  it('go by app, then by user', async () => {
    const queue = new TurnQueue()
    const order: string[] = []
    const run = (appId: string, userId: number) =>
      queue.run(turnOf(appId, userId), async () => void order.push(`${appId}${userId}`))
    await Promise.all([
      ...Array.from({ length: 4 }, () => run('a', 1)),
      ...[run('a', 2), run('a', 2), run('b', 3), run('b', 4)],
    ])
    // The first one found the queue empty.
    expect(order).toEqual(['a1', 'a1', 'b3', 'a2', 'b4', 'a1', 'a2', 'a1'])
  })

  it('of one user are bounded, and others still get theirs', async () => {
    const queue = new TurnQueue()
    const works = Array.from({ length: 40 }, () => queue.run(turnOf('a', 1), async () => {}))
    const other = queue.run(turnOf('a', 2), async () => 'done')
    const refused = (await Promise.allSettled(works)).filter(({ status }) => status === 'rejected')
    expect(refused.length).toBe(40 - 33)
    for (const { reason } of refused as PromiseRejectedResult[])
      expect(reason).toMatchObject({ name: 'MediaError', reason: 'busy' })
    expect(await other).toBe('done')
  })

  it('continue after work that fails', async () => {
    const queue = new TurnQueue()
    const failing = queue.run(turnOf('a', 1), async () => {
      throw new Error('broken')
    })
    const next = queue.run(turnOf('a', 1), async () => 'done')
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('done')
  })
})
