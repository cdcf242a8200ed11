import { expect, test } from 'vitest'
import type { CpuTimes } from '../measure/thread-cpu.js'
import { Row, type Run } from './rows.js'

const noTime: CpuTimes = { main: 0, writer: 0, checkpointer: 0, others: 0, database: 0 }

function run(perSecond: number, count: number, cpu: Partial<CpuTimes> = {}): Run {
  return { perSecond, count, cpu: { ...noTime, ...cpu }, errors: 0, p99Ms: perSecond }
}

test('processor time is divided by the work of all turns of a round, by thread', () => {
  const row = new Row('sends', 'message')
  row.add(0, { this: run(100, 1_000, { main: 100, writer: 50 }) })
  row.add(0, { this: run(200, 3_000, { main: 100, others: 150 }) })
  const { cpuUs, perSecond, p99Ms } = row.figures().parties.this ?? {}
  expect(cpuUs).toMatchObject({ all: [100], main: [50], writer: [12.5], others: [37.5] })
  expect([perSecond, p99Ms]).toEqual([[150], [200]])
})

test('rates are compared turn by turn, and rounds by the median of their turns', () => {
  const row = new Row('sends', 'message')
  for (const [round, own, other] of [
    [0, 90, 100],
    [0, 240, 200],
    [0, 33, 30],
    [1, 50, 100],
  ] as const)
    row.add(round, { this: run(own, 1), other: run(other, 1) })
  expect(row.figures().rateOf.other).toEqual([1.1, 0.5])
})

test('rows are compared with each other in the same turns', () => {
  const offline = new Row('no user connected', 'message')
  const online = new Row('all users connected', 'message')
  offline.add(0, { this: run(100, 1) })
  online.add(0, { this: run(80, 1) })
  expect(online.ratios('this', { row: offline, party: 'this' })).toEqual([0.8])
})
