import type { ClientOptions } from '../api.js'
import type { ClientPorts } from '../ports/client-ports.js'
import { leaderStarter } from '../runtime/leader-runtime.js'
import type { ClientSession } from './session.js'
import { TabSession } from './tab-session.js'

/** Opens the client of this tab: leader or follower, with a durable store or in memory. */
export const openSession = (options: ClientOptions, ports: ClientPorts): ClientSession =>
  new TabSession(options, ports, leaderStarter(options, ports))
