import { setTimeout as delay } from 'node:timers/promises'

/** Waits for a time, or until the signal is aborted; neither is an error. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {})
}
