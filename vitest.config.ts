import { defineConfig } from 'vitest/config'

/**
 * `unit`: beside the files, no I/O beyond a temporary folder. `integration`: the built server through its interfaces, on every database
 * that is found. Both run on what `npm run build` has made.
 */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      // Long enough for property tests on a busy machine.
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'bench/src/**/*.test.ts',
            'scripts/**/*.test.{ts,mjs}',
          ],
          testTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'integration',
          include: ['packages/*/test/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
          // The files of a worker share its process, its modules and so its PostgreSQL: to start these for each takes longer than many a file.
          isolate: false,
        },
      },
    ],
  },
})
