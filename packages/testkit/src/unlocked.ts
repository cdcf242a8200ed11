import { setTimeout } from 'node:timers/promises'

const patienceMs = 10_000

/**
 * Runs a statement on a SQLite connection whose busy time-out is 0, again while another connection
 * has the write lock. The event loop continues between two tries: the owner of the lock may be a
 * service in this process.
 */
export async function whenUnlocked<Result>(run: () => Result): Promise<Result> {
  const endsAt = performance.now() + patienceMs
  for (;;) {
    try {
      return run()
    } catch (error) {
      const isLocked = error instanceof Error && error.message.includes('database is locked')
      if (!isLocked || performance.now() > endsAt) throw error
    }
    await setTimeout(1)
  }
}
