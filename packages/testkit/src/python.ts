import { spawnSync } from 'node:child_process'

/** Debian's packages are for Debian's Python, whichever comes first in PATH. */
const candidates = ['/usr/bin/python3', 'python3']

/** @returns the first Python that has the modules, or null */
export function findPython(modules: readonly string[]): string | null {
  const program = `import ${modules.join(', ')}`
  return (
    candidates.find((path) => spawnSync(path, ['-c', program], { stdio: 'ignore' }).status === 0) ??
    null
  )
}

/**
 * Returns the Python to test with; null: none has the modules, so its tests are left out.
 * @throws Error when there is none and no test may be left out (HERMOD_TEST_BACKENDS=all)
 */
export function testPython(modules: readonly string[]): string | null {
  const found = findPython(modules)
  if (found === null && process.env.HERMOD_TEST_BACKENDS === 'all')
    throw new Error(`no Python with ${modules.join(' and ')} was found`)
  return found
}
