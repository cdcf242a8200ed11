import { type Backend, isFullRun } from '@hermod/testkit'
import fc from 'fast-check'

/** Fixed in the normal run, random in the full run; HERMOD_TEST_SEED overrides both. */
const firstSeed = Number(
  process.env.HERMOD_TEST_SEED ?? (isFullRun ? Math.floor(Math.random() * 2 ** 31) : 20_260_101),
)
const boxMs = isFullRun ? { sqlite: 12_000, postgres: 12_000 } : { sqlite: 1_000, postgres: 500 }
/** Bounds the time that one failing run is shrunk. */
const shrinkMs = 180_000

/** Test timeout for {@link checkProperty}: a failure is shrunk and reported within it. */
export const propertyTimeoutMs = 300_000

/**
 * Checks a property with new inputs until the time box of the backend ends, at least once. A run
 * that has begun ends normally, so that no call of it reaches the tests that follow. A failure is
 * shrunk; its report names the seed, and HERMOD_TEST_SEED repeats it as the first run.
 *
 * @param options.share of the time box; default 1
 * @returns the number of runs
 */
export async function checkProperty<T>(
  backend: Pick<Backend, 'name'>,
  property: fc.IAsyncPropertyWithHooks<T> | fc.IAsyncProperty<T>,
  { share = 1 }: { readonly share?: number } = {},
): Promise<number> {
  if (isFullRun) console.log(`first seed: ${firstSeed}`)
  const endsAt = performance.now() + boxMs[backend.name] * share
  let runs = 0
  do {
    await fc.assert(property, {
      seed: firstSeed + runs,
      numRuns: 1,
      interruptAfterTimeLimit: shrinkMs,
      markInterruptAsFailure: true,
    })
    runs++
  } while (performance.now() < endsAt)
  return runs
}
