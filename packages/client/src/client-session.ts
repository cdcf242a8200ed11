import type { ClientOptions } from './api.js'
import type { ClientPorts } from './client-ports.js'
import type { Session } from './session.js'

/**
 * A {@link Session} with the life of its client. It exists from the first moment: its state is empty
 * until the store is loaded, and then changes by `reload`. Commands wait until then.
 */
export interface ClientSession extends Session {
  /** Connects, and stays connected until `disconnect`. A repeat does nothing. */
  connect(): void
  disconnect(): void
  /** Aborted when the client has ended, also by a logout in another tab; its reason is a ClientError. */
  readonly closed: AbortSignal
  /** Ends the client of this tab; what is stored stays. Later commands fail with `closed`. */
  close(): Promise<void>
  /** Ends the client in all tabs, and deletes what is stored. */
  destroy(): Promise<void>
}

/** Opens the client of this tab. */
export type OpenSession = (options: ClientOptions, ports: ClientPorts) => ClientSession
