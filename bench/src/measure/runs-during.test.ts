import { describe, expect, it } from 'vitest'
import { runsDuring } from './runs-during.js'

describe('runs during work', () => {
  it('count when they end within it, and the first one in any case', async () => {
    for (const last of [1, 3]) {
      let end = (_: string) => {}
      const work = new Promise<string>((resolve) => {
        end = resolve
      })
      let count = 0
      const run = async () => {
        if (++count === last) end('done')
        return count
      }
      const expected = last === 1 ? [1] : [1, 2]
      expect(await runsDuring(work, run)).toEqual({ result: 'done', runs: expected })
    }
  })

  it('end with the error of the work', async () => {
    const work = Promise.reject(new Error('no space'))
    await expect(runsDuring(work, async () => 1)).rejects.toThrow('no space')
  })
})
