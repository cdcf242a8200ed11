import { expect, test } from 'vitest'
import { layOutTable, ratioCells } from './format.js'

test('figures stand to the right and words to the left', () => {
  const rows = [
    ['send', '9', '99.5 %'],
    ['history', '1200', 'NaN'],
  ]
  expect(layOutTable(['row', 'per second', 'of echo'], rows).split('\n')).toEqual([
    'row      per second  of echo',
    'send              9   99.5 %',
    'history        1200      NaN',
  ])
})

test('a ratio is written with its spread', () => {
  expect(ratioCells({ median: 1.0049, min: 0.9, max: 1.2 })).toEqual([
    '100.5 %',
    '90.0 %',
    '120.0 %',
  ])
})
