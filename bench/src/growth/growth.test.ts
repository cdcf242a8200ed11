import { expect, test } from 'vitest'
import { type GrowthFigures, type GrowthRow, missedGrowthTargets } from './growth.js'

function loads(send: number, reads: number, p99Ms = 10): GrowthRow['loads'] {
  const figures = (perSecond: number): GrowthFigures => ({
    perSecond,
    ofEcho: Number.NaN,
    p50Ms: 1,
    p99Ms,
    maxMs: 900,
    against: null,
  })
  const read = figures(reads)
  return { send: figures(send), history: read, unread: read, conversations: read }
}

const first = { loads: loads(1000, 1000) }

test('on SQLite sends have targets for their rate and their p99', () => {
  expect(missedGrowthTargets({ database: 'sqlite', loads: loads(850, 1) }, first)).toEqual([])
  expect(missedGrowthTargets({ database: 'sqlite', loads: loads(849, 1000, 51) }, first)).toEqual([
    'send',
    'p99',
  ])
})

test('on PostgreSQL reads have targets', () => {
  expect(missedGrowthTargets({ database: 'postgres', loads: loads(1, 800, 99) }, first)).toEqual([])
  expect(missedGrowthTargets({ database: 'postgres', loads: loads(1000, 799) }, first)).toEqual([
    'history',
    'unread',
    'conversations',
  ])
})

test('a rate that could not be measured is missed', () => {
  const nothing = loads(Number.NaN, Number.NaN, Number.NaN)
  expect(missedGrowthTargets({ database: 'sqlite', loads: nothing }, first)).toEqual([
    'send',
    'p99',
  ])
})
