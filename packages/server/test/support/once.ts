import { anyBackend, type Backend } from '@hermod/testkit'
import { it, type TestFunction, type TestOptions } from 'vitest'

interface DefineTest {
  (name: string, body: TestFunction): void
  (name: string, options: TestOptions, body: TestFunction): void
}

/**
 * Returns `it` for claims that no SQL decides, in a suite that runs on both databases: on the first
 * one, and on all of them in the full run. Elsewhere there is no test.
 */
export function itOnce({ name }: Pick<Backend, 'name'>): DefineTest {
  return anyBackend().some((backend) => backend.name === name) ? it : () => {}
}
