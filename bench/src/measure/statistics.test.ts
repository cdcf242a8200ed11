import { expect, test } from 'vitest'
import { inTurn, median, ratioOf } from './statistics.js'

test('the median of an even number of values lies between the middle two', () => {
  expect([median([3, 1, 2]), median([4, 1, 3, 2])]).toEqual([2, 2.5])
  expect(median([])).toBeNaN()
})

test('builds are compared round by round', () => {
  expect(ratioOf([90, 200, 330], [100, 100, 300])).toEqual({ median: 1.1, min: 0.9, max: 2 })
})

test('a round that the other build did not have makes no ratio', () => {
  expect(ratioOf([90, 200], [100]).median).toBeNaN()
  expect(ratioOf([90, 200], [100]).min).toBeNaN()
})

test('every second round begins with what the last one ended with', () => {
  expect([0, 1, 2].map((round) => inTurn(['a', 'b', 'c'], round).join(''))).toEqual([
    'abc',
    'cba',
    'abc',
  ])
})
