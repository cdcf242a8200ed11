import type { Session } from '../../sessions/session.js'
import { syncRequest } from './frames.js'

/** Writes events to a session from now on, and asks it to sync when it has missed any. */
export function resume(session: Session): void {
  session.phase = 'live'
  if (!session.hasMissed) return
  session.hasMissed = false
  session.link.write(syncRequest)
}

/** Asks a session to sync, now or when it continues with events. */
export function requestSync(session: Session): void {
  session.hasMissed = true
  if (session.phase === 'live') resume(session)
}
