import type { Database } from '../../db/database.js'

/** The reason why the service cannot do its work. */
export type NotReadyReason = 'the database does not answer' | 'the database does not write'

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
      /** Writes and commits. */
      probe(): Promise<void>
    },
  ) {}

  /** @returns null when the service is ready */
  async notReadyReason(): Promise<NotReadyReason | null> {
    const { database } = this.options
    const [canRead, canWrite] = await Promise.all([
      inTime(database.ping()),
      this.#isWriting() ?? inTime(this.#probe()),
    ])
    if (!canRead) return 'the database does not answer'
    // Failures during the check count too.
    return canWrite && this.#isWriting() !== false ? null : 'the database does not write'
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
