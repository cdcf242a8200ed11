import { isFullRun, testBackends } from '@hermod/testkit'
import { type Fault, type FaultKind, faultKinds, planFaults } from '@hermod/testkit/chaos'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../server/test/support/random.js'
import { ChaosRun } from './chaos-run.js'
import { reportOf } from './report.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const nodes = 3
/** Faults that a run of 20 s has time for. */
const shortKinds: readonly FaultKind[] = [
  'kill',
  'terminate',
  'short_stop',
  'bus_cut',
  'database_cut',
  'clock',
  'database_restart',
]
const timeoutMs = 900_000

/** Runs a schedule, with a rest after each ten faults. */
async function runSchedule(run: ChaosRun, faults: readonly Fault[], restMs: number) {
  for (let begin = 0; begin < faults.length; begin += 10) {
    await run.inflict(faults.slice(begin, begin + 10))
    await run.heal(restMs)
  }
  const checked = await run.finish()
  console.log(reportOf(run, checked, seed))
  expect(run.faults).toEqual([])
  expect(checked.violations).toEqual([])
}

describe.runIf(testBackends().some(({ name }) => name === 'postgres'))('chaos', () => {
  it('leaves every message once and in order on three nodes that are killed, stopped and cut', {
    timeout: timeoutMs,
  }, async () => {
    const random = new Random(seed)
    const crowd = { connected: 3, absent: 1, everyMs: 150 }
    await using run = await ChaosRun.start({ random, nodes, hasStandby: false, ...crowd })
    const kinds = shortKinds
    const faults = planFaults({
      random,
      kinds,
      count: kinds.length,
      nodes,
      everyMs: 1_200,
      longestMs: 2_000,
    })
    await runSchedule(run, faults, 0)
  })

  if (isFullRun)
    it('leaves every message once and in order in ten minutes with each kind of fault', {
      timeout: timeoutMs,
    }, async () => {
      const random = new Random(seed)
      const crowd = { connected: 5, absent: 2, everyMs: 600 }
      await using run = await ChaosRun.start({ random, nodes, hasStandby: true, ...crowd })
      const faults = planFaults({
        random,
        kinds: faultKinds,
        count: 60,
        nodes,
        everyMs: 7_000,
        longestMs: 8_000,
      })
      await runSchedule(run, faults, 20_000)
    })
})
