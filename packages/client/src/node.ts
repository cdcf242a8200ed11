/** The client for Node: bots and servers. */
import type { Client, ClientOptions } from './api.js'
import { createClientWith } from './create-client.js'
import { nodePorts } from './node/node-ports.js'

export * from './public.js'

/**
 * Makes a client of one user, with everything in memory. With an Admin token in `token`, `userId` names
 * the user that it acts for. The process stays alive while the client is connected.
 * @throws ClientError invalid_argument, with the name of the setting
 */
export function createClient(options: ClientOptions): Client {
  return createClientWith(options, nodePorts)
}
