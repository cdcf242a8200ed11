import type { Client, ClientOptions } from './api.js'
import type { ClientSession } from './client-session.js'
import { openSession } from './open-session.js'
import type { ClientPorts } from './client-ports.js'
import type { Clock } from './ports/clock.js'

/** Makes a client on ports: those of browsers, of Node, or of a test. */
export function createClientWith(options: ClientOptions, ports: ClientPorts): Client {
  return createClientOn(openSession(options, ports), options, ports.clock)
}

/** Makes the public interface on a session. */
export function createClientOn(
  _session: ClientSession,
  _options: ClientOptions,
  _clock: Clock,
): Client {
  throw new Error('not there yet')
}
