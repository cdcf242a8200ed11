/** The client for browsers. */
import type { Client, ClientOptions } from './api.js'
import { browserPorts } from './browser/browser-ports.js'
import { createClientWith } from './create-client.js'

export * from './public.js'

/**
 * Makes a client of one user. It connects with `connect()`, and shows before that what is stored.
 * @throws ClientError invalid_argument, with the name of the setting
 */
export function createClient(options: ClientOptions): Client {
  return createClientWith(options, browserPorts())
}
