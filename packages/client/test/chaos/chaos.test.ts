import { isFullRun, testBackends } from '@hermod/testkit'
import { type FaultKind, faultKinds, planFaults, type ScheduleOptions } from '@hermod/testkit/chaos'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../server/test/support/random.js'
import { ChaosRun, type ChaosRunOptions } from './chaos-run.js'
import { LaterBuild } from './later-build.js'
import { reportOf } from './report.js'
import { restartOneByOne } from './rolling-restart.js'

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

interface Schedule extends Pick<ScheduleOptions, 'kinds' | 'count' | 'everyMs' | 'longestMs'> {
  readonly crowd: Pick<ChaosRunOptions, 'connected' | 'absent' | 'everyMs' | 'hasStandby'>
  /** The time without a fault after each ten. */
  readonly restMs: number
}

/** Runs a schedule, with a rest after each ten faults. */
async function runSchedule({ crowd, restMs, ...plan }: Schedule) {
  const faults = planFaults({ random: new Random(seed), nodes, ...plan })
  await using run = await ChaosRun.start({ random: new Random(seed), nodes, ...crowd })
  for (let begin = 0; begin < faults.length; begin += 10) {
    await run.inflict(faults.slice(begin, begin + 10))
    await run.heal(restMs)
  }
  const checked = await run.finish()
  console.log(reportOf(run, checked, seed))
  if (run.faults.length + checked.violations.length > 0) run.keep()
  expect(run.faults).toEqual([])
  expect(checked.violations).toEqual([])
}

describe.runIf(testBackends().some(({ name }) => name === 'postgres'))('chaos', () => {
  it(
    'leaves every message once and in order on three nodes that are killed, stopped and cut',
    {
      timeout: timeoutMs,
    },
    () =>
      runSchedule({
        ...{ kinds: shortKinds, count: shortKinds.length, everyMs: 1_200, longestMs: 2_000 },
        crowd: { connected: 3, absent: 1, everyMs: 150, hasStandby: false },
        restMs: 0,
      }),
  )

  if (isFullRun)
    it(
      'leaves every message once and in order in ten minutes with each kind of fault',
      {
        timeout: timeoutMs,
      },
      () =>
        runSchedule({
          ...{ kinds: faultKinds, count: 60, everyMs: 7_000, longestMs: 8_000 },
          crowd: { connected: 5, absent: 2, everyMs: 600, hasStandby: true },
          restMs: 20_000,
        }),
    )

  if (isFullRun)
    it.each([
      { what: 'this build', isLater: false, devices: 2_000 },
      { what: 'a later build with another migration', isLater: true, devices: 200 },
    ])(
      'a restart of one node after the other with $what: loses no answer, and brings few devices back at once',
      {
        timeout: timeoutMs,
      },
      async ({ isLater, devices }) => {
        using later = isLater ? new LaterBuild() : null
        const found = await restartOneByOne({
          random: new Random(seed),
          devices,
          ...(later && { command: later.command }),
        })
        const { returnsBySecond } = found
        const most = returnsBySecond.at(-1) ?? 0
        const usual = returnsBySecond[Math.floor(returnsBySecond.length * 0.95)] ?? 0
        console.log(
          `${found.returns} devices came back; in 95 of 100 seconds at most ${usual}, in one ${most}`,
          found.endings,
        )
        expect(found.exits).toEqual(Array(3).fill({ code: 0, signal: null }))
        expect(found.faults).toEqual([])
        expect(found.checked.violations).toEqual([])
        // Each device was on one of the nodes at first, and was told when to come back.
        expect(found.returns).toBeGreaterThanOrEqual(devices)
        expect(Object.keys(found.endings)).toEqual(['4000 shutdown'])
        // One in a hundred, or ten where there are few devices; some more after a stall of the machine.
        const bound = Math.max(12, devices / 100)
        expect(usual).toBeLessThanOrEqual(bound)
        expect(most).toBeLessThanOrEqual(2 * bound)
      },
    )
})
