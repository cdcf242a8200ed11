import { expect, it } from 'vitest'
import { FairLine } from './fair-line.js'

it('serves keys in turn, each in its order', () => {
  const line = new FairLine<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) line.push(item.charAt(0), item)
  expect([line.length, line.lengthOf('a'), line.lengthOf('nobody')]).toEqual([6, 3, 0])
  const served = [line.shift(), line.shift()]
  line.push('d', 'd1')
  while (line.length > 0) served.push(line.shift())
  expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'd1', 'a3'])
  expect(line.shift()).toBeUndefined()
})
