import type { Session } from '../../sessions/session.js'
import type { Timers } from '../outbox-follower.js'
import { syncRequest } from './frames.js'

/** 200 sessions a second on each node, since all of them read their lists anew. */
export const sessionsPerStep = 20
const stepMs = 100

/** Writes events to a session from now on, and asks it to sync when it has missed any. */
export function resume(session: Session): void {
  session.phase = 'live'
  if (!session.hasMissed) return
  session.hasMissed = false
  session.link.write(syncRequest)
}

/**
 * Asks many sessions to sync, some at a time. Until its turn comes a session gets events as before,
 * but no position, so that its sync begins before what it has missed.
 */
export class SyncRequests {
  readonly #waiting = new Set<Session>()

  constructor(private readonly timers: Timers) {}

  add(sessions: Iterable<Session>): void {
    const isRunning = this.#waiting.size > 0
    for (const session of sessions) {
      session.hasMissed = true
      this.#waiting.add(session)
    }
    if (!isRunning) this.#step()
  }

  #step(): void {
    let left = sessionsPerStep
    for (const session of this.#waiting) {
      if (left-- === 0) break
      this.#waiting.delete(session)
      // Others are asked when they continue with events.
      if (session.phase === 'live') resume(session)
    }
    if (this.#waiting.size > 0) this.timers.after(stepMs, () => this.#step())
  }
}
