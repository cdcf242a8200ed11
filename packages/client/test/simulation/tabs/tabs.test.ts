/** Tabs of one browser against the model server: the leader ends, freezes and is replaced at any moment. */
import { isFullRun } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { stepsWith } from '../steps.js'
import { type TabStep, TabsWorld, tabWeights } from './tabs-world.js'

const firstSeed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const count = Number(process.env.HERMOD_SIMULATIONS ?? (isFullRun ? 5_000 : 80))

async function faultsOf(seed: number, steps: readonly TabStep[]): Promise<string[]> {
  try {
    return await new TabsWorld(seed).run(steps)
  } catch (error) {
    return [String((error as Error).stack)]
  }
}

/** Leaves steps out as long as the schedule still fails. */
async function shrink(seed: number, steps: readonly TabStep[]): Promise<readonly TabStep[]> {
  let kept = steps
  for (let index = 0; index < kept.length; ) {
    const shorter = kept.toSpliced(index, 1)
    if ((await faultsOf(seed, shorter)).length > 0) kept = shorter
    else index++
  }
  return kept
}

it('all tabs show the same store, and nothing is lost, whichever tab ends or freezes', {
  timeout: 3_600_000,
}, async () => {
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const steps = stepsWith(tabWeights, seed)
    if ((await faultsOf(seed, steps)).length === 0) continue
    const script = await shrink(seed, steps)
    const found = (await faultsOf(seed, script)).join('\n')
    expect.fail(`seed ${seed}: ${found}\nreplay(${seed}, ${JSON.stringify(script)})`)
  }
  console.log(`${count} schedules of tabs from seed ${firstSeed}: 0 diverged`)
})

it('a leader that freezes between its handshake and the answer of a slow store ends no session of the next leader', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const steps: readonly TabStep[] = [
      ['open', 0, 0, 0, 500],
      ['slowStore', 11, 0, 0, 10],
      ['cut', 0, 0, 0, (seed * 13) % 1_500],
      ['freeze', 0, 0, 0, 20],
      ['slowStore', 0, 0, 0, 0],
      ['waitLong', 2, 0, 0, (seed % 8) * 500],
      ['thaw', 0, 0, 0, 2_000],
    ]
    expect([seed, ...(await faultsOf(seed, steps))]).toEqual([seed])
  }
})
