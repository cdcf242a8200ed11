/** Interface between the simulated gateway and the rules of a vendor. */
import type { AccessTokens } from './access.js'
import type { ScriptName } from './scripts.js'

/** Channels by the names of the contract. */
export const simulatedChannels = [
  'ios_gw',
  'cloud_gw',
  'vendor_h',
  'vendor_x',
  'vendor_f',
  'vendor_v',
  'vendor_o',
  'vendor_n',
] as const

/** One of {@link simulatedChannels}. */
export type SimulatedChannel = (typeof simulatedChannels)[number]

/** Credentials that a gateway accepts, as fields of a push certificate. */
export interface SimulatedCredentials {
  readonly appId: string
  readonly appKey: string
  readonly appSecret: string
  readonly certificate: string
  readonly packageName?: string
}

/** A received request. */
export interface GatewayCall {
  readonly method: string
  readonly path: string
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The origin that it was sent to. */
  readonly origin: string
  /** The UID of a trusted client certificate; "" without one. */
  readonly clientUid: string
}

/** Answer of a gateway. `silence`: none; `cut`: it ends the connection. */
export type GatewayReply = JsonReply | 'silence' | 'cut' | 'goaway'

export interface JsonReply {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A message that was accepted for a device. */
export interface SimulatedDelivery {
  readonly messageId: string
  readonly token: string
  /** "" when the message names none. */
  readonly tag: string
  /** Receipt address of the message; "" when the gateway has it in its set-up. */
  readonly receiptUrl: string
  readonly script: ScriptName
}

/** A receipt request in the vendor's format. */
export interface SimulatedReceiptRequest {
  readonly url: string
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** State for a vendor's rules. */
export interface GatewayState {
  /** Milliseconds since 1970. */
  now(): number
  /** `Retry-After` for senders that are too fast. */
  readonly retryAfterSeconds: number
  /** Returns a new message ID. */
  nextId(): string
  /** Returns the script that decides the whole request; null: each device has its own answer. */
  wholeScript(tokens: readonly string[]): ScriptName | null
  /** Returns the script of one device; `accept` for scripts of whole requests. */
  scriptOf(token: string): ScriptName
  /** Records an accepted message. */
  deliver(delivery: Omit<SimulatedDelivery, 'script'>): void
  /** Issued access tokens. */
  readonly access: AccessTokens
  /** Further state of a vendor, under its own names. */
  readonly memory: Map<string, unknown>
}

/** The rules of one vendor. */
export interface GatewayModel {
  readonly channel: SimulatedChannel
  readonly isHttp2?: boolean
  readonly credentials: SimulatedCredentials
  /** The JSON file of a service account, which it accepts too. */
  readonly account?: string
  /** Path of the token call, for vendors with a separate host for it. */
  readonly authPath?: string
  answer(call: GatewayCall, state: GatewayState): GatewayReply
  /** Omitted for a vendor that sends no receipts. */
  receipts(
    deliveries: readonly SimulatedDelivery[],
    options: { readonly url: string; readonly now: number },
  ): readonly SimulatedReceiptRequest[]
}
