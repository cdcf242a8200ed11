/** The core of the client against a model server, under schedules of faults. */
import { isFullRun } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { type Step, shrink, stepsOf } from './steps.js'
import { World } from './world.js'

const firstSeed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const count = Number(process.env.HERMOD_SIMULATIONS ?? (isFullRun ? 100_000 : 1_500))

/** Runs a script; a failing one is printed, to be written into a test here. */
function faultsOf(seed: number, steps: readonly Step[]): string[] {
  try {
    return new World(seed).run(steps)
  } catch (error) {
    return [String((error as Error).stack)]
  }
}

it('every store equals the server after any schedule of faults', { timeout: 3_600_000 }, () => {
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const steps = stepsOf(seed)
    if (faultsOf(seed, steps).length === 0) continue
    const script = shrink(steps, (shorter) => faultsOf(seed, shorter).length > 0)
    const found = faultsOf(seed, script).join('\n')
    expect.fail(`seed ${seed}: ${found}\nscript: [${seed}, ${JSON.stringify(script)}]`)
  }
  console.log(`${count} schedules from seed ${firstSeed}: 0 diverged`)
})
