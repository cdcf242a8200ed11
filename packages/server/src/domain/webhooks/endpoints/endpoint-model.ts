import type { Int64, webhookFormats, webhookStateReasons } from '@hermod/protocol'
import type { EventKind } from '@hermod/protocol/events'
import type { SealContext } from '../../../lib/secrets/secret-box.js'

/** Key of an endpoint's row. */
export interface EndpointKey {
  readonly appId: string
  readonly endpointId: Int64
}

/** An endpoint of an application; times in ms, 0 = none. */
export interface Endpoint extends EndpointKey {
  readonly url: string
  readonly description: string
  /** [] = all. */
  readonly kinds: readonly EventKind[]
  /** Users and groups; [] = all. */
  readonly receivers: readonly Int64[]
  readonly format: (typeof webhookFormats)[number]
  /** {@link EndpointSecrets} as JSON, encrypted. */
  readonly sealed: string
  readonly concurrency: number
  readonly batchSize: number
  readonly timeoutMs: number
  readonly isEnabled: boolean
  readonly stateReason: (typeof webhookStateReasons)[number]
  /** Everything up to it is delivered, waits, or is dead. */
  readonly position: number
  readonly health: EndpointHealth
  readonly replay: Replay | null
  /** Grows with each change after which the sender opens the endpoint anew. */
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Health of an endpoint. Times in ms since 1970, 0 = none. */
export interface EndpointHealth {
  /** First of the failures in a row. A day without any ends the row. */
  readonly failingSince: number
  readonly lastFailureAt: number
  /** Back-offs in a row; 0: it is not down. */
  readonly failures: number
  /** End of the back-off. */
  readonly retryAt: number
  readonly lastSuccessAt: number
}

/** The health of a new endpoint. */
export const newHealth: EndpointHealth = {
  failingSince: 0,
  lastFailureAt: 0,
  failures: 0,
  retryAt: 0,
  lastSuccessAt: 0,
}

/** A replay of the log that is in progress. */
export interface Replay {
  /** The next row that is read, and the last one. */
  readonly position: number
  readonly until: number
  readonly kinds: readonly EventKind[]
  /** "" = all. */
  readonly key: string
}

/** Secret fields; members have the names of the JSON text. */
export interface EndpointSecrets {
  /** whsec_ and base64; with the format callback any text. */
  readonly secret: string
  /** Signs too until `previous_until`, ms. */
  readonly previous?: string
  readonly previous_until?: number
}

/** The most endpoints of an application. */
export const maxEndpoints = 20

/** Returns the location of an endpoint's secrets. */
export function endpointContext({ appId, endpointId }: EndpointKey): SealContext {
  return { column: 'webhook_endpoints.sealed', row: `${appId}/${endpointId}` }
}
