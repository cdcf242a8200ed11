import type { OpenSession } from './client-session.js'
import { leaderStarter } from './runtime/leader-runtime.js'
import { TabSession } from './sessions/tab-session.js'

/** Opens the client of this tab: leader or follower, with a durable store or in memory. */
export const openSession: OpenSession = (options, ports) =>
  new TabSession(options, ports, leaderStarter(options, ports))
