import type { Json } from '../api.js'

/** A received frame: an answer, an event or a heartbeat. Integers beyond 2^53 are bigints. */
export interface GatewayFrame {
  readonly id?: number | string
  readonly code?: number
  readonly message?: string | null
  readonly data?: Json
  readonly event?: string
  readonly change?: number
  readonly pos?: string
  readonly [extra: string]: Json
}

export interface GatewayEvent extends GatewayFrame {
  readonly event: string
}
