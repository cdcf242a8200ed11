import { setTimeout as delay } from 'node:timers/promises'
import { errorCatalogue } from '@hermod/protocol'
import { CommandFailure } from './call.js'

const limitedCodes: ReadonlySet<number> = new Set([
  errorCatalogue.too_many_requests.code,
  errorCatalogue.address_limited.code,
])
const maxWaits = 60
const waitMs = 1000

/** Waits when the server asks for it. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let waits = 0; ; waits++) {
    try {
      return await call()
    } catch (error) {
      const isLimited =
        error instanceof CommandFailure && error.code !== undefined && limitedCodes.has(error.code)
      if (!isLimited || waits === maxWaits) throw error
      await delay(waitMs)
    }
  }
}
