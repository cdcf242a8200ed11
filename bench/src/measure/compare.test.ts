import { expect, test } from 'vitest'
import type { LoadResult } from '../load/load-run.js'
import { type ComparedStart, compareRuns, type MeasuredTurn, turnsOf } from './compare.js'

function loadAt(rate: number, p99Ms: number): LoadResult {
  return {
    seconds: 2,
    issued: rate * 2,
    succeeded: rate * 2,
    taken: rate * 3,
    succeededInAll: rate * 3,
    errors: 1,
    errorSamples: ['HTTP 500'],
    p50Ms: 1,
    p99Ms,
    maxMs: 9,
    cpuMs: 0,
  }
}

function turnsAt(rates: readonly number[], cpuMs: number): MeasuredTurn[] {
  return rates.map((rate, index) => ({ load: loadAt(rate, index), cpuMs }))
}

function start(own: readonly number[], other: readonly number[], cpuMs = 100): ComparedStart {
  return { settling: [], own: turnsAt(own, cpuMs), other: turnsAt(other, 100) }
}

test('builds are compared turn by turn, and then start by start', () => {
  const starts = [
    start([100, 300, 90], [100, 200, 100]),
    start([80, 80, 80], [100, 100, 100]),
    start([120], [100]),
  ]
  expect(compareRuns(starts)).toMatchObject({
    perSecond: 90,
    otherPerSecond: 100,
    ratio: { median: 1, min: 0.8, max: 1.2 },
    p99Ms: 2,
    otherP99Ms: 2,
  })
})

test('processor time is that of all requests of a start', () => {
  const { cpuRatio } = compareRuns([start([100, 300], [200, 200]), start([100], [100], 200)])
  expect(cpuRatio).toEqual({ median: 1.5, min: 1, max: 2 })
})

test('errors of both builds are told, those before the turns included', () => {
  expect(compareRuns([start([1], [1])])).toMatchObject({ errors: 2, errorSamples: ['HTTP 500'] })
  const refused = { ...loadAt(1, 1), errors: 5, errorSamples: ['HTTP 403'] }
  const settling = [loadAt(1, 1), refused]
  expect(compareRuns([{ ...start([1], [1]), settling }])).toMatchObject({
    errors: 8,
    errorSamples: ['HTTP 500', 'HTTP 403'],
  })
})

test('what settles is not measured', () => {
  const settling = [loadAt(1000, 50), loadAt(1, 50)]
  expect(compareRuns([{ ...start([100], [100]), settling }])).toEqual({
    ...compareRuns([start([100], [100])]),
    errors: 4,
  })
})

test('turns are as short as may be, in the time that is measured', () => {
  expect(turnsOf(2, 10_000)).toEqual({ count: 8, turnSeconds: 0.25 })
  expect(turnsOf(2, 400)).toEqual({ count: 8, turnSeconds: 0.25 })
})

test('a turn of a slow scenario is long enough for a hundred answers', () => {
  expect(turnsOf(8, 80)).toEqual({ count: 6, turnSeconds: 8 / 6 })
})

test('there are four turns at least, which then take more time', () => {
  expect(turnsOf(2, 80)).toEqual({ count: 4, turnSeconds: 1.25 })
})

test('builds that answer nothing have short turns', () => {
  expect(turnsOf(2, 0)).toEqual({ count: 8, turnSeconds: 0.25 })
})
