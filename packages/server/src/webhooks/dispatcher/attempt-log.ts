import type { Database } from '../../db/database.js'
import type { Attempt } from '../../domain/webhooks/attempts/attempt.js'
import type { AttemptStore } from '../../domain/webhooks/attempts/attempt-store.js'
import { chunksOf } from '../../lib/chunks.js'
import type { IdGenerator } from '../../lib/ids/ids.js'

const flushMs = 1_000
/** Attempts of one flush. */
const maxBuffered = 500
const insertedTogether = 100
/**
 * Old attempts of an endpoint are deleted after this number of new ones, and after the first of a
 * process.
 */
const prunedAfter = 100

/**
 * Stores attempts, some at a time: all that failed, and of those that succeeded the last of each
 * endpoint in a second.
 */
export class AttemptLog {
  #failed: Omit<Attempt, 'attemptId'>[] = []
  /** By endpoint. */
  #delivered = new Map<string, Omit<Attempt, 'attemptId'>>()
  /** New attempts by endpoint since its old ones were deleted. */
  readonly #unpruned = new Map<string, number>()
  #timer: NodeJS.Timeout | null = null

  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: AttemptStore
      readonly ids: IdGenerator
    },
  ) {}

  add(attempt: Omit<Attempt, 'attemptId'>): void {
    const { appId, endpointId, outcome } = attempt
    if (outcome === 'delivered') this.#delivered.set(`${appId}/${endpointId}`, attempt)
    else if (this.#failed.length < maxBuffered) this.#failed.push(attempt)
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      // A lost attempt is a lost explanation and nothing more.
      this.flush().catch(() => {})
    }, flushMs).unref()
  }

  /** Stores what was added. */
  async flush(): Promise<void> {
    const all = [...this.#failed, ...this.#delivered.values()].sort((a, b) => a.at - b.at)
    this.#failed = []
    this.#delivered = new Map()
    if (all.length === 0) return
    const attempts: Attempt[] = []
    for (const attempt of all)
      attempts.push({ ...attempt, attemptId: await this.options.ids.next() })
    for (const part of chunksOf(attempts, insertedTogether)) await this.options.store.insert(part)
    await this.#prune(attempts)
  }

  /** Deletes all but the newest attempts of the endpoints. */
  async #prune(added: readonly Attempt[]): Promise<void> {
    const { database, store } = this.options
    for (const attempt of added) {
      const { appId, endpointId } = attempt
      const id = `${appId}/${endpointId}`
      const count = (this.#unpruned.get(id) ?? prunedAfter) + 1
      this.#unpruned.set(id, count)
      if (count <= prunedAfter) continue
      this.#unpruned.set(id, 0)
      await database.transaction((tx) => store.prune(tx, { appId, endpointId }))
    }
  }
}
