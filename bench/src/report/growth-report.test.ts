import { expect, test } from 'vitest'
import type { GrowthFigures, GrowthRow } from '../growth/growth.js'
import { growthTables } from './growth-report.js'

function row(messages: number, perSecond: number, against: GrowthFigures['against']): GrowthRow {
  const figures = { perSecond, ofEcho: perSecond / 20_000, p50Ms: 1, p99Ms: 2, maxMs: 3, against }
  return {
    database: 'sqlite',
    build: 'this',
    messages,
    fill: null,
    loads: { send: figures, history: figures, unread: figures, conversations: figures },
    databaseBytes: 1e6,
    walBytes: 2e6,
    rssBytes: 3e6,
    errors: 0,
    errorSamples: [],
  }
}

test('each step is shown against the first one', () => {
  const text = growthTables([row(1000, 500, null), row(2000, 450, null)])
  expect(text).toMatch(/^sqlite +this +2000( +90\.0 % \(90\.0 %\)){4} +met$/m)
  expect(text).not.toContain('this/other')
})

test('with another build each load has its ratio', () => {
  const text = growthTables([row(1000, 500, { median: 1.1, min: 1, max: 1.2 })])
  expect(text).toMatch(/^sqlite +1000 +history +110\.0 % +100\.0 % +120\.0 %$/m)
})

test('without steps there is no table', () => {
  expect(growthTables([])).toBe('')
})
