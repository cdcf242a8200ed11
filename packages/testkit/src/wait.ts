import { setTimeout as sleep } from 'node:timers/promises'

export interface Patience {
  /** Description of the awaited state, for the error. */
  readonly what: string
  readonly timeoutMs: number
  /** Default 10. */
  readonly everyMs?: number
}

/**
 * Polls until the result is neither undefined nor false.
 * @throws Error after the time limit
 */
export async function waitFor<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  patience: Patience,
): Promise<T> {
  const deadline = performance.now() + patience.timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() > deadline)
      throw new Error(`${patience.what}: not within ${patience.timeoutMs} ms`)
    await sleep(patience.everyMs ?? 10)
  }
}
