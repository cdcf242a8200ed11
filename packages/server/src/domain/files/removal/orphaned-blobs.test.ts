import { expect, it, vi } from 'vitest'
import type { Database } from '../../../db/database.js'
import type { FileStore } from '../file-store.js'
import { OrphanedBlobs } from './orphaned-blobs.js'

it('orphaned blobs stay while a backup holds blobs, and go with the next run', async () => {
  const orphan = { key: 'check/0123456789abcdef', size: 32, modifiedAt: 0 }
  const remove = vi.fn(async () => {})
  let isHeld = true
  const orphans = new OrphanedBlobs({
    database: {} as Database,
    files: {} as FileStore,
    blobs: { list: async () => ({ blobs: [orphan], next: null }), remove, tidy: async () => {} },
    holds: { isHeld: async () => isHeld },
    clock: { now: () => Date.UTC(2026, 10, 29) },
  })
  const { signal } = new AbortController()
  await orphans.run(signal)
  expect(remove).not.toHaveBeenCalled()
  isHeld = false
  await orphans.run(signal)
  expect(remove).toHaveBeenCalledWith([orphan.key])
})
