import { createHmac } from 'node:crypto'
import type { Clock } from '../../lib/clock.js'
import type { FailureLimiter, Failures } from '../../lib/limits/failure-limiter.js'
import type { PurposeKeys } from '../../lib/secrets/secret-keys.js'
import type { FailureStore, StoredFailures } from './failure-store.js'
import type { FailureSharing } from './login-guard.js'

interface SharedFailuresOptions {
  readonly store: FailureStore
  /** The keys of the hashes, the same on all nodes. */
  readonly keys: PurposeKeys
  /** This node. */
  readonly node: { readonly id: string }
  readonly clock: Clock
  readonly forgetMs: number
}

/** Written keys of one limiter and second. */
const mostWritten = 250
const writeEveryMs = 1_000

/**
 * Adds the failed logins of several nodes. A node writes those that reach half of a limit once a
 * second, and reads those of the others with each heartbeat. The keys are hashes, since they name
 * users and networks. A failure of the database is left to the next time.
 */
export class SharedFailures implements FailureSharing {
  readonly #limiters: FailureLimiter[] = []
  #timer: NodeJS.Timeout | undefined
  /** Writes and reads follow one another, so that a read has all that was written before. */
  #last: Promise<void> = Promise.resolve()

  constructor(private readonly options: SharedFailuresOptions) {}

  hashOf(kind: string, key: string): string {
    return createHmac('sha256', this.options.keys.current)
      .update(`${kind} ${key}`)
      .digest('base64url')
  }

  /** Adds a limiter, whose keys no other one has. */
  add(limiter: FailureLimiter): void {
    this.#limiters.push(limiter)
    limiter.share(() => this.#plan())
  }

  /** Deletes what is forgotten. */
  purge(): Promise<void> {
    return this.options.store.purge(this.options.forgetMs)
  }

  /** Reads the failures of the other nodes. */
  read(): Promise<void> {
    return this.#run(() => this.#read())
  }

  /** Writes what was not written yet. */
  write(): Promise<void> {
    return this.#run(() => this.#write())
  }

  #plan(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.write()
    }, writeEveryMs).unref()
  }

  #run(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work).catch(() => {})
    return this.#last
  }

  async #write(): Promise<void> {
    const { store, node, clock } = this.options
    const changes = this.#limiters.map((limiter) => limiter.takeChanges(mostWritten))
    const cleared = changes.flatMap((each) => each.cleared)
    if (cleared.length > 0) await store.clear(cleared)
    const rows = changes.flatMap(({ failed }) =>
      [...failed].map(
        ([key, { count, at }]): StoredFailures => ({
          key,
          nodeId: node.id,
          failures: Math.round(count),
          ageMs: Math.max(0, clock.now() - at),
        }),
      ),
    )
    if (rows.length > 0) await store.save(rows)
    if (changes.some(({ failed }) => failed.size === mostWritten)) this.#plan()
  }

  async #read(): Promise<void> {
    const { store, node, clock, forgetMs } = this.options
    const rows = await store.list(forgetMs)
    const own = new Set<string>()
    const others = new Map<string, Failures>()
    for (const { key, nodeId, failures, ageMs } of rows) {
      if (nodeId === node.id) own.add(key)
      else {
        const at = clock.now() - ageMs
        const known = others.get(key)
        others.set(key, {
          count: failures + (known?.count ?? 0),
          at: Math.max(at, known?.at ?? 0),
        })
      }
    }
    for (const limiter of this.#limiters) limiter.receive(others, own)
  }
}
