/** The core of the client against a model server, under schedules of faults. */
import { isFullRun } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { type Step, shrink, stepsOf } from './steps.js'
import { World } from './world.js'

const firstSeed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const count = Number(process.env.HERMOD_SIMULATIONS ?? (isFullRun ? 100_000 : 1_500))

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

/** Scripts of faults that are mended, as the simulation has printed them. */
const scripts: Readonly<Record<string, readonly [seed: number, steps: readonly Step[]]>> = {
  'a group that a list does not name is requested after a crash too': [
    20260139,
    [
      ...[['post', 5, 10, 1, 10] as const, ['silence', 1, 7, 7, 15] as const],
      ...[['membership', 6, 10, 7, 280] as const, ['send', 9, 0, 6, 7] as const],
      ...[['post', 4, 8, 2, 51] as const, ['crash', 1, 4, 4, 3] as const],
    ],
  ],
  'a head from before an own message takes back nothing that the message has read': [
    20260422,
    [
      ...[['send', 2, 3, 0, 0] as const, ['post', 0, 9, 3, 3] as const],
      ...[['refuse', 9, 7, 8, 2] as const, ['restart', 6, 0, 5, 660] as const],
      ...[['send', 5, 10, 10, 532] as const, ['send', 10, 3, 5, 15] as const],
    ],
  ],
  'things that were read before the first position are read again': [
    20260422,
    [
      ['freeze', 9, 9, 7, 1],
      ['refuse', 7, 2, 7, 1058],
      ['dissolve', 11, 0, 0, 650],
    ],
  ],
  'things that were read before the answer with the first position are read again': [
    20260330,
    [
      ...[['post', 7, 10, 4, 13] as const, ['refuse', 7, 4, 9, 3] as const],
      ...[['backUp', 10, 6, 7, 3] as const, ['edit', 6, 8, 7, 403] as const],
      ...[['membership', 3, 5, 1, 17] as const, ['send', 8, 0, 9, 12] as const],
      ...[['send', 9, 9, 0, 8] as const, ['read', 5, 10, 11, 5] as const],
      ['send', 7, 7, 7, 20],
    ],
  ],
  'broadcasts that were hidden are read by an answer to their sender': [
    20260544,
    [
      ['broadcast', 7, 9, 7, 4],
      ['hide', 0, 6, 1, 25],
      ['send', 10, 1, 6, 10],
    ],
  ],
  'the mute mode is kept when a head from before comes after its event': [
    20260755,
    [
      ['post', 0, 9, 6, 14],
      ['send', 1, 1, 5, 8],
      ['muteMode', 6, 10, 4, 14],
    ],
  ],
  'things are read after a refusal has ended a back-off': [
    20263466,
    [
      ['refuse', 10, 3, 8, 18],
      ['membership', 0, 3, 2, 13],
      ['waitLong', 11, 9, 11, 14],
      ['pin', 3, 10, 0, 15],
    ],
  ],
}

describe('scripts', () => {
  it.each(Object.entries(scripts))('%s', (_name, [seed, steps]) => {
    expect(faultsOf(seed, steps)).toEqual([])
  })
})
