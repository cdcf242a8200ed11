import type { Batch } from '../../src/model/batch.js'

const empty: Omit<Batch, 'meta'> = {
  isReset: false,
  goneLogs: [],
  emptiedLogs: [],
  hidden: [],
  removed: [],
  logs: [],
  messages: [],
  updated: [],
  unsent: [],
  sent: [],
  cached: [],
}

/** A batch of user 5 with a commit number. */
export function aBatch(commit: number, changes: Partial<Omit<Batch, 'meta'>> = {}): Batch {
  const meta = { userId: 5, epoch: 'e', pos: `p${commit}`, listCursor: '', commit }
  return { ...empty, ...changes, meta }
}
