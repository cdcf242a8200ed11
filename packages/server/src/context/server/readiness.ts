import type { Database } from '../../db/database.js'

const pingTimeoutMs = 2_000
/** The age up to which commits count. A service without a recent commit makes one. */
const freshMs = 2_000

/**
 * Tells whether the service can do its work, by recent commits or, without any, by a commit of a
 * probe.
 */
export class Readiness {
  #probing: Promise<void> | null = null

  constructor(
    private readonly options: {
      readonly database: Pick<Database, 'ping' | 'health'>
      /** @returns the reason why the clock of the machine cannot be used, or null */
      clockRefusal(): string | null
      /** Writes and commits. */
      probe(): Promise<void>
    },
  ) {}

  /**
   * @param probes a commit is made in any case
   * @returns the reason why the service cannot do its work; null when it is ready
   */
  async notReadyReason({ probes = false } = {}): Promise<string | null> {
    const { database } = this.options
    const isWriting = probes ? null : this.#isWriting()
    const [canRead, canWrite] = await Promise.all([
      inTime(database.ping()),
      isWriting ?? inTime(this.#probe()),
    ])
    if (!canRead) return 'the database does not answer'
    // Failures during the check count too.
    if (!canWrite || this.#isWriting() === false) return 'the database does not write'
    return this.options.clockRefusal()
  }

  /** @returns null when there was no recent commit */
  #isWriting(): boolean | null {
    const latest = this.options.database.health.writesWithin(freshMs)
    return latest === null ? null : latest === 'succeed'
  }

  /** Runs one probe at a time for all callers. */
  #probe(): Promise<void> {
    this.#probing ??= this.options.probe().finally(() => {
      this.#probing = null
    })
    return this.#probing
  }
}

async function inTime(work: Promise<unknown>): Promise<boolean> {
  const done = work.then(
    () => true,
    () => false,
  )
  const late = new Promise<false>((resolve) => setTimeout(resolve, pingTimeoutMs, false).unref())
  return Promise.race([done, late])
}
