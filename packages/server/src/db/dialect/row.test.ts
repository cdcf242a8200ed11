import { expect, it } from 'vitest'
import { rowMaker } from './row.js'

it('makes rows of their values', () => {
  const values = [1, 'two', null, 4n, new Uint8Array([5])]
  expect(rowMaker(['n', 'some text', 'a"b', 'd\n', 'é'])(values)).toEqual({
    n: 1,
    'some text': 'two',
    'a"b': null,
    'd\n': 4n,
    é: new Uint8Array([5]),
  })
  expect(rowMaker(['n', 'a', 'b'], 1)([1, 2, 3])).toEqual({ a: 2, b: 3 })
  expect(rowMaker([])([])).toEqual({})
  expect(rowMaker(['a', 'b', 'a'])([1, 2, 3]), 'the last one of a name').toEqual({ a: 3, b: 2 })
})

it('is made once for each list of names', () => {
  expect(rowMaker(['a', 'b'])).toBe(rowMaker(['a', 'b']))
  expect(rowMaker(['a', 'b'], 1)).not.toBe(rowMaker(['a', 'b']))
  for (let n = 0; n < 1_500; n++) expect(rowMaker([`c${n}`])([n])).toEqual({ [`c${n}`]: n })
})
