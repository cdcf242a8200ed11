import { expect, test } from 'vitest'
import { type ComparedStart, compareRuns } from './compare.js'
import type { ServerRun } from './measure.js'

function runsAt(rates: readonly number[], serverCpuMs: number): ServerRun[] {
  const rest = { errors: 1, errorSamples: ['HTTP 500'], p50Ms: 1, maxMs: 9, cpuMs: 0 }
  return rates.map((rate, index) => ({
    load: {
      seconds: 2,
      issued: rate * 2,
      succeeded: rate * 2,
      taken: rate * 3,
      succeededInAll: rate * 3,
      p99Ms: index,
      ...rest,
    },
    serverCpuMs,
    databaseCpuMs: 10,
  }))
}

function start(own: readonly number[], other: readonly number[], cpuMs = 90): ComparedStart {
  return { own: runsAt(own, cpuMs), other: runsAt(other, 90) }
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
  const { cpuRatio } = compareRuns([start([100, 300], [200, 200]), start([100], [100], 190)])
  expect(cpuRatio).toEqual({ median: 1.5, min: 1, max: 2 })
})

test('errors of both builds are told', () => {
  expect(compareRuns([start([1], [1])])).toMatchObject({ errors: 2, errorSamples: ['HTTP 500'] })
})
