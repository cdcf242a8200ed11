import { expect, test } from 'vitest'
import type { LoadOrder, LoadResult } from '../load/load-run.js'
import { type LoadPlan, requestSource } from '../load/plan.js'
import type { Scenario } from '../scenarios/scenario.js'
import type { MeasuredBuild } from './build.js'
import { ScenarioRunner } from './scenario-runner.js'

const rest = { seconds: 1, issued: 0, succeeded: 0, succeededInAll: 0, errors: 0, errorSamples: [] }
const noTimes = { p50Ms: 0, p99Ms: 0, maxMs: 0, cpuMs: 0 }

function runnerOf(plan: LoadPlan): ScenarioRunner {
  return new ScenarioRunner(
    { port: 1 } as MeasuredBuild,
    { connections: 1 } as Scenario,
    plan,
    '{}',
  )
}

/** A load that takes so many requests of its plan. */
function taking(count: number, requests: (string | null)[]) {
  return async ({ plan, taken }: LoadOrder): Promise<LoadResult> => {
    const next = requestSource(plan, taken)
    for (let index = 0; index < count; index++) requests.push(next())
    return { ...rest, ...noTimes, taken: count }
  }
}

test('a run goes on where the last one ended, after the request of the sample', async () => {
  const runner = runnerOf({ kind: 'cycle', requests: ['a', 'b', 'c', 'd', 'e'] })
  const requests: (string | null)[] = []
  await runner.run(1, taking(2, requests))
  await runner.run(1, taking(3, requests))
  await runner.run(1, taking(1, requests))
  expect(requests.join('')).toBe('bcdeab')
})

test('the echo gets what the build gets next', async () => {
  const runner = runnerOf({ kind: 'cycle', requests: ['a', 'b', 'c'] })
  const ofEcho: (string | null)[] = []
  await taking(2, ofEcho)(runner.order(1))
  const ofBuild: (string | null)[] = []
  await runner.run(1, taking(2, ofBuild))
  expect(ofBuild).toEqual(ofEcho)
})
