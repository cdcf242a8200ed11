import { expect, test } from 'vitest'
import { missedTargets } from './measure.js'

const figures = { share: 0.3, ofOther: 0.95, p99Ms: 12, maxMs: 30 }
const ofOther = { name: 'small', share: 0.9 }

test('what is reached is not missed', () => {
  expect(missedTargets({}, figures)).toEqual([])
  expect(missedTargets({ share: 0.3, aim: 0.5, ofOther, p99Ms: 12, maxMs: 30 }, figures)).toEqual(
    [],
  )
})

test('each figure that falls short is named', () => {
  expect(missedTargets({ share: 0.31 }, figures)).toEqual(['share'])
  expect(missedTargets({ ofOther }, { ...figures, ofOther: 0.89 })).toEqual(['of small'])
  expect(missedTargets({ p99Ms: 11 }, figures)).toEqual(['p99'])
  expect(missedTargets({ maxMs: 29 }, figures)).toEqual(['max'])
})

test('a figure that could not be measured is missed', () => {
  const nothing = { share: Number.NaN, ofOther: null, p99Ms: Number.NaN, maxMs: Number.NaN }
  expect(missedTargets({ share: 0.1, ofOther, p99Ms: 50, maxMs: 50 }, nothing)).toEqual([
    'share',
    'of small',
    'p99',
    'max',
  ])
})
