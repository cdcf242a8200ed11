import type { Wakeups } from '../ports/transport.js'
import { listenToSleep } from '../runtime/sleep.js'

/** The network has come or gone, the page is shown again, or the machine was asleep. */
export const pageWakeups: Wakeups = {
  listen(listener) {
    const shown = () => {
      if (document.visibilityState === 'visible') listener()
    }
    const kinds = ['online', 'offline', 'pageshow'] as const
    for (const kind of kinds) addEventListener(kind, listener)
    document.addEventListener('visibilitychange', shown)
    const endSleep = listenToSleep(listener)
    return () => {
      for (const kind of kinds) removeEventListener(kind, listener)
      document.removeEventListener('visibilitychange', shown)
      endSleep()
    }
  },
}
