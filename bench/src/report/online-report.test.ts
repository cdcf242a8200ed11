import { expect, test } from 'vitest'
import { mapParts } from '../measure/thread-cpu.js'
import type { OnlineFigures } from '../online/online.js'
import type { PartyFigures, RowFigures } from '../online/rows.js'
import { onlineTables } from './online-report.js'

const none = [Number.NaN, Number.NaN]

function party(perSecond: number, cpuUs: number): PartyFigures {
  const ofEach = mapParts((part) => [part === 'main' ? cpuUs : 0, part === 'main' ? cpuUs : 0])
  return {
    perSecond: [perSecond, perSecond],
    cpuUs: { all: [cpuUs, cpuUs * 2], ...ofEach },
    p50Ms: [1, 2],
    p99Ms: [3, 4],
    deliveryP50Ms: none,
    deliveries: none,
  }
}

function figuresOf(row: Pick<RowFigures, 'parties' | 'rateOf'>): OnlineFigures {
  return {
    database: 'sqlite',
    devices: 300,
    errors: 0,
    errorSamples: [],
    rows: [{ what: 'sends', unit: 'message', ...row }],
    ratios: {
      sendsOfEcho: [0.6, 0.5],
      sendsOfEchoCpu: none,
      onlineOfOffline: [0.8, 0.8],
      onlineOfOfflineCpu: none,
      firstOpeningInSends: [5, 6],
      openingInSends: [3, 3],
      fanOutOfBare: [],
      burstOfBare: [],
    },
    memory: null,
  }
}

test('each party has its line, and the worst p99 counts', () => {
  const parties = { this: party(100, 200), bare: party(400, 20) }
  const text = onlineTables([figuresOf({ parties, rateOf: { bare: [0.25, 0.25] } })])
  expect(text).toMatch(/^sends +bare echo +400 +30 +20 /m)
  expect(text).toMatch(/^sends +this build +100 +300 +200 .* 1\.50 +4\.00 +- +-$/m)
  expect(text).not.toContain('This build by the other')
})

test('figures have their aims, and what was not measured has no line', () => {
  const text = onlineTables([figuresOf({ parties: {}, rateOf: {} })])
  expect(text).toMatch(/of the echo +0\.55 \(0\.50 to 0\.60\) +0\.5 +met/)
  expect(text).toMatch(/of those with none +0\.80 .* 0\.9 +MISSED/)
  expect(text).toMatch(/first opening, in sends +5\.50 .* 6 +met/)
  expect(text).not.toContain('messages to all')
})

test('with another build each row has its ratios', () => {
  const parties = { this: party(90, 150), other: party(100, 100) }
  const text = onlineTables([figuresOf({ parties, rateOf: { other: [0.9, 0.8] } })])
  expect(text).toMatch(/^sends +85\.0 % +80\.0 % +90\.0 % +150\.0 % +150\.0 % +150\.0 % /m)
})
