import { anyBackend, type Backend } from '@hermod/testkit'
import { it } from 'vitest'

/**
 * `it` for a claim that no SQL decides, in a suite that runs on both databases: it runs on the
 * first one, and on all of them in the full run.
 */
export const itOnce = ({ name }: Pick<Backend, 'name'>) =>
  it.runIf(anyBackend().some((backend) => backend.name === name))
