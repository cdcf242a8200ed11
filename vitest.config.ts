import { defineConfig } from 'vitest/config'

/**
 * `unit`: beside the files, no I/O beyond a temporary folder. `integration`: the built server through its interfaces, on every database
 * that is found. Both run on what `npm run build` has made.
 */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      { test: { name: 'unit', include: ['packages/*/src/**/*.test.ts', 'bench/src/**/*.test.ts'] } },
      {
        test: {
          name: 'integration',
          include: ['packages/*/test/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
