import { expect, test } from 'vitest'
import type { ClientFigures } from '../client/client.js'
import { clientTables } from './client-report.js'

const same = (value: number) => ({ median: value, min: value - 1, max: value + 1 })
const figures: ClientFigures = {
  database: 'sqlite',
  conversations: 5_000,
  messages: 10_000,
  sizes: [
    {
      entry: '@hermod/client',
      gzippedBytes: 31_000,
      minifiedBytes: 90_000,
      modules: [{ name: 'packages/client/dist/core/core.js', bytes: 5_000 }],
    },
  ],
  browser: {
    version: '1.2',
    barePageMs: same(20),
    screenFromStoreMs: same(100),
    screenFromNothingMs: same(500),
    appliedInMemoryMs: same(700),
    appliedInIndexedDbMs: same(800),
    listMs: same(900),
    heapBytes: same(12e6),
  },
}

test('each figure has its median and spread, and those with an aim say whether they met it', () => {
  const text = clientTables([figures])
  expect(text).toMatch(/from the store +100 ms \(99 ms to 101 ms\) +150 ms +met/)
  expect(text).toMatch(/from nothing +500 ms .* 400 ms +MISSED/)
  expect(text).toMatch(/@hermod\/client, gzipped +31\.0 KB .* 30\.0 KB +MISSED/)
  expect(text).toContain('1 modules: core/core.js 5.0 KB')
})

test('without Chromium only the sizes are shown', () => {
  const text = clientTables([{ ...figures, browser: null }])
  expect(text).toContain('Chromium not found')
  expect(text).not.toContain('first message')
})
