import { expect, test } from 'vitest'
import { compareBuilds, missedTargets, type ServerRun } from './measure.js'

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

function runsAt(rates: readonly number[]): ServerRun[] {
  const rest = { errors: 0, errorSamples: [], p50Ms: 1, maxMs: 9, cpuMs: 0 }
  return rates.map((rate, index) => ({
    load: { seconds: 2, issued: rate * 2, succeeded: rate * 2, p99Ms: index, ...rest },
    serverCpuMs: 90,
    databaseCpuMs: 10,
  }))
}

test('the other build is compared by the rates of the same rounds', () => {
  expect(compareBuilds(runsAt([100, 300, 90]), runsAt([100, 200, 100]))).toEqual({
    achievedPerSecond: 100,
    p99Ms: 2,
    ratio: { median: 1, min: 0.9, max: 1.5 },
    cpuRatio: { median: 1, min: 2 / 3, max: expect.closeTo(1 / 0.9) },
  })
})

test('without another build there is no comparison', () => {
  expect(compareBuilds(runsAt([100]), undefined)).toBeNull()
})
