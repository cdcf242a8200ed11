import type { OpenSession } from './client-session.js'

/** Opens the client of this tab: leader or follower, with a durable store or in memory. */
export const openSession: OpenSession = () => {
  throw new Error('not there yet')
}
