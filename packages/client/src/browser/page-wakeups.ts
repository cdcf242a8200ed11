import type { Wakeups } from '../ports/transport.js'
import { listenToSleep } from '../runtime/sleep.js'

/** The network has come or gone, the page is shown again, or the machine was asleep. */
export const pageWakeups: Wakeups = {
  listen(listener) {
    // A server that renders a page has neither, a worker has no document.
    const page = globalThis as Partial<typeof globalThis>
    const { document } = page
    const shown = () => {
      if (document?.visibilityState === 'visible') listener()
    }
    const kinds = ['online', 'offline', 'pageshow'] as const
    for (const kind of kinds) page.addEventListener?.(kind, listener)
    document?.addEventListener('visibilitychange', shown)
    const endSleep = listenToSleep(listener)
    return () => {
      for (const kind of kinds) page.removeEventListener?.(kind, listener)
      document?.removeEventListener('visibilitychange', shown)
      endSleep()
    }
  },
}
