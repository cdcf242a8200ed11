import { setTimeout as sleep } from 'node:timers/promises'
import type { InProcessServer } from '../in-process-server.js'

const everyMs = 20

/** Sets the clock to the next try of a push whenever none is due, until the work is done. */
export async function withoutPauses<T>(
  { sql, clock }: Pick<InProcessServer, 'sql' | 'clock'>,
  work: () => Promise<T>,
): Promise<T> {
  const done = new AbortController()
  const skipping = (async () => {
    while (!done.signal.aborted) {
      const [job] = await sql.run(
        "select min(run_at) as at from jobs where kind like 'push.%' and outcome = '' and owner = ''",
      )
      const at = Number(job?.at ?? 0)
      if (at > clock.now()) clock.set(at)
      await sleep(everyMs)
    }
  })()
  try {
    return await work()
  } finally {
    done.abort()
    await skipping
  }
}
