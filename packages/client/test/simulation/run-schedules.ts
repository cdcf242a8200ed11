/** Runs schedules of the core one after the other, and reports the first one that fails. */
import { isFullRun } from '@hermod/testkit'
import { expect } from 'vitest'
import { act } from './actions.js'
import { type Step, shrink, stepsOf, swarmOf } from './steps.js'
import { World } from './world.js'

const firstSeed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
/** Of all files together, each in a worker of its own. */
const count = Number(process.env.HERMOD_SIMULATIONS ?? (isFullRun ? 100_000 : 300))
const files = 4
/**
 * In a full run one in so many schedules is a swarm; the number shares no factor with others that
 * the seed selects by.
 */
const swarmEvery = isFullRun ? 5 : Number.POSITIVE_INFINITY

/** Runs a script: the seed and the steps that a failure has printed. @returns what is wrong */
export function replay(seed: number, steps: readonly Step[]): string[] {
  try {
    return new World(seed).run(steps, act)
  } catch (error) {
    return [String((error as Error).stack)]
  }
}

/** @param file the number of the file, from 0: it has a share of the seeds */
export function runSchedules(file: number): void {
  let done = 0
  for (let seed = firstSeed + file; seed < firstSeed + count; seed += files) {
    const steps = seed % swarmEvery === 0 ? swarmOf(seed) : stepsOf(seed)
    done++
    if (replay(seed, steps).length === 0) continue
    const script = shrink(steps, (shorter) => replay(seed, shorter).length > 0)
    const found = replay(seed, script).join('\n')
    expect.fail(`seed ${seed}: ${found}\nreplay(${seed}, ${JSON.stringify(script)})`)
  }
  console.log(`${done} schedules from seed ${firstSeed + file}: 0 diverged`)
}
