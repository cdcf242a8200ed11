import { expect, test } from 'vitest'
import { Histogram } from './histogram.js'

test('quantiles are at most 1.6 % too high and never too low', () => {
  const histogram = new Histogram()
  const values = Array.from({ length: 50_000 }, (_, index) => (index + 1) ** 2 / 1000)
  for (const value of values) histogram.record(value)
  for (const share of [0.001, 0.1, 0.5, 0.9, 0.99, 0.9999]) {
    const exact = values[Math.ceil(share * values.length) - 1] ?? Number.NaN
    expect(histogram.quantileMs(share)).toBeGreaterThanOrEqual(exact - 0.001)
    expect(histogram.quantileMs(share)).toBeLessThanOrEqual(exact * 1.017)
  }
  expect(histogram.quantileMs(1)).toBe(histogram.maxMs)
  expect(histogram.maxMs).toBe(2_500_000)
})

test('an empty histogram has no quantiles', () => {
  expect(new Histogram().quantileMs(0.5)).toBeNaN()
})
