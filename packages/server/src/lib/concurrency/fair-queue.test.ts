import { expect, it } from 'vitest'
import { FairQueue } from './fair-queue.js'

it('FairQueue serves keys in turn, and the items of a key in order', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.push(item.charAt(0), item)
  expect([queue.length, queue.lengthOf('a'), queue.lengthOf('none')]).toEqual([6, 3, 0])
  const served = [queue.shift(), queue.shift()]
  queue.push('d', 'd1')
  while (queue.length > 0) served.push(queue.shift())
  expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'd1', 'a3'])
  expect(queue.shift()).toBeUndefined()
})
