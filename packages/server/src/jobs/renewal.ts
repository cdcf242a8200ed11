interface RenewalOptions {
  readonly everyMs: number
  /** Prolongs the lease of the work. @returns false when another node has it */
  renew(): Promise<boolean>
  /** A renewal failed; the next one may succeed in time. */
  failed(error: unknown): void
  /** Ends the renewal, so that another node can have the lease of work that hangs. */
  readonly ending: AbortSignal
}

/**
 * Renews the lease of a work while it runs.
 * @param work its signal is aborted when another node has the lease
 */
export async function renewing<T>(
  work: (lost: AbortSignal) => Promise<T>,
  { everyMs, renew, failed, ending }: RenewalOptions,
): Promise<T> {
  const lost = new AbortController()
  const renewal = setInterval(() => {
    renew()
      .then((isHeld) => isHeld || lost.abort(new Error('the lease is lost')))
      .catch(failed)
  }, everyMs)
  ending.addEventListener('abort', () => clearInterval(renewal))
  try {
    return await work(lost.signal)
  } finally {
    clearInterval(renewal)
  }
}
