import { expect, test } from 'vitest'
import { pushTables } from '../report/push-report.js'
import { boundBy } from './channel-limits.js'
import type { PushChannelRow } from './push-channels.js'
import type { PushCrowdRow } from './push-crowd.js'
import { missedChannelTarget, missedCrowdTargets } from './push-targets.js'

const ios: PushChannelRow = {
  database: 'sqlite',
  channel: 'ios_gw',
  devices: 1000,
  sendsPerRequest: 1,
  sendsPerSecond: 3000,
  barePerSecond: 6000,
  ofBare: 0.5,
  serverCpuUs: 200,
  simulatorCpuUs: 150,
  databaseCpuUs: 0,
  bareCpuUs: 80,
  boundBy: null,
}
const figures = { p50Ms: 1, p99Ms: 5, worstP99Ms: 6, maxMs: 9 }
const crowd: PushCrowdRow = {
  database: 'sqlite',
  devices: 1000,
  notifyMs: 5,
  sentPerSecond: 2000,
  peakRssBytes: 3e8,
  before: figures,
  during: { ...figures, p99Ms: 10 },
  errors: 0,
  errorSamples: [],
}

test('a rate counts requests or messages', () => {
  const reached = { perSecond: 950, sendsPerRequest: 10 }
  expect(boundBy({ rateUnit: 'request', perSecond: 100 }, reached)).toContain('100 requests/s')
  expect(boundBy({ rateUnit: 'request', perSecond: 1000 }, reached)).toBeNull()
  expect(boundBy({ rateUnit: 'message', perSecond: 1000 }, reached)).toContain('1000 messages/s')
  expect(
    boundBy({ rateUnit: 'message', perSecond: 1 }, { ...reached, perSecond: Number.NaN }),
  ).toBeNull()
})

test('ios_gw reaches a rate or a share of the bare client', () => {
  expect(missedChannelTarget(ios)).toEqual(['sends'])
  expect(missedChannelTarget({ ...ios, sendsPerSecond: 5000 })).toEqual([])
  expect(missedChannelTarget({ ...ios, ofBare: 0.6 })).toEqual([])
  expect(missedChannelTarget({ ...ios, sendsPerSecond: Number.NaN, ofBare: Number.NaN })).toEqual([
    'sends',
  ])
  expect(missedChannelTarget({ ...ios, channel: 'vendor_h' })).toBeNull()
})

test('a push to everybody may double the p99 of messages', () => {
  expect(missedCrowdTargets(crowd)).toEqual([])
  const slow = { ...crowd, notifyMs: 21 }
  expect(missedCrowdTargets({ ...slow, during: { ...figures, p99Ms: 10.1 } })).toEqual([
    'answer',
    'p99',
  ])
})

test('the tables say what was missed', () => {
  const text = pushTables([{ channels: [ios], crowds: [crowd], errors: 0 }])
  expect(text).toMatch(/ios_gw .* 50\.0 % .* MISSED: sends$/m)
  expect(text).toMatch(/^sqlite +1000 .* met$/m)
  expect(pushTables([])).toBe('')
})
