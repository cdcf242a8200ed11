/** Credentials of an application at the gateway of one channel. */
import type { apnsTokenTypes, MessageTemplate, PushChannel } from '@hermod/protocol'

/** Channels of external gateways; `core` is the service's own. */
export type VendorChannel = Exclude<PushChannel, 'core'>

/** Credentials of one application at the gateway of one channel. */
export interface GatewayCertificate {
  readonly channel: VendorChannel
  readonly environment: 'development' | 'production'
  readonly appId: string
  readonly appKey: string
  readonly appSecret: string
  /** Key or account file as text, a .p12 file as base64; "" when the channel has none. */
  readonly certificate: string
  /** Android package of the app; vendor_x requires it. */
  readonly packageName?: string
  /**
   * The class of messages that the vendor has approved for the app, such as IM. Unset: the messages
   * count as public or marketing ones, with the vendors' daily limits.
   */
  readonly category?: string
  /** Notification channel on the device, for notifications that name none. */
  readonly channelId?: string
  /** Default of the channel's option `badgeClass`. */
  readonly badgeClass?: string
  /** vendor_x and vendor_f allow the app to receive commands. Default false. */
  readonly allowsPassThrough?: boolean
  /** ios_gw: the pushes that tokens of this certificate are for. Default alert. */
  readonly pushType?: ApnsTokenType
  /** vendor_h: 3 reaches devices with HarmonyOS 5; 0 or unset: an earlier version. */
  readonly apiVersion?: number
  /** vendor_o: how notifications with a category appear. */
  readonly notifyLevel?: number
  /** vendor_x and vendor_o: templates of private messages, by name. */
  readonly templates?: readonly MessageTemplate[]
  /** ID of the receipt address at the vendor: vendor_v, and vendor_h with version 3. */
  readonly receiptId?: string
  /** Receipt address, for gateways that take it with each message. */
  readonly receiptUrl?: string
  readonly endpoint?: GatewayEndpoint
  /** The operator's overrides of the service's limits. */
  readonly limits?: Partial<SendLimits>
}

/** Tokens of ios_gw by the pushes that they are for. */
export type ApnsTokenType = (typeof apnsTokenTypes)[number]

/** Sending limits of one certificate in one process. */
export interface SendLimits {
  /** Counts requests, or messages where the vendor counts those. */
  readonly perSecond: number
  readonly maxInFlight: number
}

/** Facts about credentials that need no request to the gateway. */
export interface CertificateInspection {
  /** All faults; [] when the certificate is usable. */
  readonly faults: readonly CertificateFault[]
  /** Expiry of the credentials, milliseconds since 1970; null: never, or unknown. */
  readonly expiresAt: number | null
}

/** A fault in a field of the credentials. */
export interface CertificateFault {
  readonly field: CertificateField
  /** Continues after the name of the field; contains no secret. */
  readonly text: string
}

/** Parameters with which a certificate is set. */
export type CertificateField =
  | 'gateway_app_id'
  | 'app_key'
  | 'app_secret'
  | 'certificate'
  | 'package_name'
  | 'notify_level'
  /** Includes the place in the list, such as `templates[0].name`. */
  | `templates${string}`

/** An endpoint other than the vendor's public gateway. */
export interface GatewayEndpoint {
  /** Origin of sends, without a slash at the end; by default also of token requests. */
  readonly sendUrl?: string
  /** Full address or origin of the token request, depending on the channel. */
  readonly authUrl?: string
  /** PEM of an additional certificate authority. */
  readonly ca?: string
}
