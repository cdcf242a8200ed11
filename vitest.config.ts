import { configDefaults, defineConfig } from 'vitest/config'

/** Files of the full run alone, which HERMOD_TEST_FULL=on adds. */
const exclude = [
  ...configDefaults.exclude,
  ...(process.env.HERMOD_TEST_FULL === 'on' ? [] : ['**/*.full.test.*']),
]

/**
 * `unit`: beside the files, no I/O except for a temporary folder. `integration`: the built server
 * through its interfaces. Both run on the output of `npm run build`. The files of a worker share
 * its process and its modules, and integration tests its PostgreSQL clusters: starting these for
 * each file takes longer than most files.
 */
export default defineConfig({
  test: {
    isolate: false,
    // The build runs as it is: Vite would transform each of its modules and slow down what they do.
    server: { deps: { external: [/\/(?:bench|(?:packages|examples)\/[^/]+)\/dist\//] } },
    // One more than the cores that the suite is meant for: tests of kills, leases and stalls wait
    // most of their time.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'bench/src/**/*.test.ts',
            'scripts/**/*.test.{ts,mjs}',
          ],
          exclude,
          // Enough for property tests on a busy machine.
          testTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['packages/*/test/**/*.test.ts'],
          exclude,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
