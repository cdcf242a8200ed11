/** What makes a simulated gateway one of a certain vendor. */
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

/** The credentials that a gateway knows, in the fields of a push certificate. */
export interface SimulatedCredentials {
  readonly appId: string
  readonly appKey: string
  readonly appSecret: string
  readonly certificate: string
  readonly packageName?: string
}

/** A request as it came in. */
export interface GatewayCall {
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The origin that it was sent to. */
  readonly origin: string
  /** The UID of a client certificate that the gateway trusts; "" without one. */
  readonly clientUid: string
}

/** What the gateway answers. `silence`: nothing; `cut`: it ends the connection. */
export type GatewayReply = JsonReply | 'silence' | 'cut' | 'goaway'

export interface JsonReply {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A message that was taken for a device. */
export interface SimulatedDelivery {
  readonly messageId: string
  readonly token: string
  /** "" where the message names none. */
  readonly tag: string
  /** Where the message wants its receipts; "" where the gateway has them in its set-up. */
  readonly receiptUrl: string
  readonly script: ScriptName
}

/** A request with receipts, as the vendor makes it. */
export interface SimulatedReceiptRequest {
  readonly url: string
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Remembers for a vendor's rules. */
export interface GatewayState {
  /** Milliseconds since 1970. */
  now(): number
  /** For `Retry-After` of those who were too fast. */
  readonly retryAfterSeconds: number
  /** An ID that no other message has. */
  nextId(): string
  /** The script that decides over the whole request; null: each device has its own answer. */
  wholeScript(tokens: readonly string[]): ScriptName | null
  /** The script of one device: `accept` for those whose script is about whole requests. */
  scriptOf(token: string): ScriptName
  /** Notes that a message was taken. */
  deliver(delivery: Omit<SimulatedDelivery, 'script'>): void
  /** Access tokens that it has issued. */
  readonly access: AccessTokens
  /** Anything else that a vendor keeps, by its own names. */
  readonly memory: Map<string, unknown>
}

/** The rules of one vendor. */
export interface GatewayModel {
  readonly channel: SimulatedChannel
  readonly isHttp2?: boolean
  readonly credentials: SimulatedCredentials
  /** Path of the token call, where the vendor has another host for it. */
  readonly authPath?: string
  answer(call: GatewayCall, state: GatewayState): GatewayReply
  /** None for a vendor that sends none. */
  receipts(
    deliveries: readonly SimulatedDelivery[],
    options: { readonly url: string; readonly now: number },
  ): readonly SimulatedReceiptRequest[]
}
