/** The port of the push gateways: one notification to devices of one channel, one outcome each. */
import type {
  apnsPushTypes,
  apnsTokenTypes,
  interruptionLevels,
  liveActivityEvents,
  MessageTemplate,
  notificationImportances,
  PushChannel,
} from '@hermod/protocol'

/** Channels of external gateways; `core` is the service's own. */
export type VendorChannel = Exclude<PushChannel, 'core'>

/**
 * Sends to the gateway of one channel. Throws only for bugs; every behaviour of a gateway is an
 * outcome.
 */
export interface PushSender {
  /** @returns an outcome for each target, in order; targets may repeat a token */
  send(request: PushRequest): Promise<readonly PushOutcome[]>
}

/** One notification to devices of one channel, with the credentials to use. */
export interface PushRequest {
  readonly certificate: GatewayCertificate
  readonly notification: PushNotification
  readonly targets: readonly PushTarget[]
  /** Channels currently paused; omit for none. */
  readonly pauses?: QuotaPauses
}

/** Messages that a gateway counts separately. */
export type MessageClass = 'command' | 'operational' | 'private' | 'public' | 'system'

/**
 * Scope of a quota: a device, a certificate, a class of messages of a certificate, or requests to a
 * list of devices. When the list quota is used up, devices get one request each.
 */
export type QuotaScope = 'device' | 'certificate' | 'list' | MessageClass

/** Ends of the used-up quotas of a certificate, milliseconds since 1970. */
export type QuotaPauses = Partial<Readonly<Record<Exclude<QuotaScope, 'device' | 'list'>, number>>>

/** A device as its gateway identifies it. */
export interface PushTarget {
  readonly token: string
  /**
   * The number for the device's badge, from the service's own counter. Null: unknown; gateways that
   * accept absolute numbers only then leave the badge as it is.
   */
  readonly badgeCount: number | null
}

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
  /** Default of {@link ChannelOptions.badgeClass}. */
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

/** Push types of ios_gw. */
export type ApnsPushType = (typeof apnsPushTypes)[number]

/** Tokens of ios_gw by the pushes that they are for. */
export type ApnsTokenType = (typeof apnsTokenTypes)[number]

/** Sending limits of one certificate in one process. */
export interface SendLimits {
  /** Counts requests, or messages where the vendor counts those. */
  readonly perSecond: number
  readonly maxInFlight: number
}

/** Checks certificates for the operators who set them up. */
export interface CertificateInspector {
  /** Reads the credentials as a send does, without a request to the gateway. */
  inspect(certificate: GatewayCertificate): Promise<CertificateInspection>
  /**
   * Sends a message to a device that cannot exist, to test the credentials. The result does not
   * affect other sends.
   */
  probe(certificate: GatewayCertificate): Promise<PushOutcome>
  /** Returns the limits of a certificate, with the service's defaults. */
  limits(certificate: Pick<GatewayCertificate, 'channel' | 'limits'>): SendLimits
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

/** Notification for devices, independent of the vendor. */
export interface PushNotification {
  /** A message by its kind, or a push task; templates are chosen by it. */
  readonly origin: 'direct' | 'group' | 'broadcast' | 'task'
  /** `cmd` is passed to the app and never displayed. */
  readonly kind: 'text' | 'image' | 'cmd'
  /** The final text: the caller inserts names and hides details. "" for none. */
  readonly title: string
  readonly body: string
  /** The user wants no details on the screen; title and body already lack them. */
  readonly hidesDetails?: true
  /** Replaces the body where the vendor supports it; "" for none. */
  readonly bigText: string
  /** URL of an image, audio or video; "" for none. */
  readonly attachmentUrl: string
  readonly badge: BadgeChange | null
  /** Free JSON members for the app. */
  readonly ext: Readonly<Record<string, unknown>> | null
  /** Milliseconds since 1970; gateways drop the message if they could not deliver it by then. */
  readonly expiresAt: number
  readonly priority: 'high' | 'normal'
  /** Arrives without sound and vibration. */
  readonly isSilent: boolean
  /** A later notification with this key replaces an earlier one; null: it replaces none. */
  readonly collapseKey: string | null
  /** Equal for every try of this notification, so that a repeated try is displayed once. */
  readonly deduplicationId: string
  /** Passed to the app. */
  readonly taskId: string
  /** Returned in receipts; at most 64 bytes. */
  readonly receiptTag: string
  readonly ios: IosOptions
  /** For all Android channels. */
  readonly android: AndroidOptions
  /** Options of one channel, which override `android`. */
  readonly channels: Partial<Readonly<Record<Exclude<VendorChannel, 'ios_gw'>, ChannelOptions>>>
}

/** A change of the badge to a number, or by a number. */
export interface BadgeChange {
  readonly mode: 'set' | 'add'
  readonly count: number
}

/** Options of ios_gw. */
export interface IosOptions {
  readonly sound?: string
  readonly contentAvailable?: boolean
  readonly mutableContent?: boolean
  readonly category?: string
  readonly threadId?: string
  readonly subtitle?: string
  readonly collapseId?: string
  readonly interruptionLevel?: (typeof interruptionLevels)[number]
  /** 0 to 1 */
  readonly relevanceScore?: number
  /** Keys of texts in the app, and what stands in their places. */
  readonly titleLocKey?: string
  readonly titleLocArgs?: readonly string[]
  readonly locKey?: string
  readonly locArgs?: readonly string[]
  /** Default alert. */
  readonly pushType?: ApnsPushType
  readonly liveActivity?: LiveActivityChange
}

/** A change of a live activity on iOS; times in seconds since 1970, 0 or unset: none. */
export interface LiveActivityChange {
  readonly event: (typeof liveActivityEvents)[number]
  /**
   * Time of the change, equal for every try: a device ignores a change that is older than its last
   * one.
   */
  readonly timestamp?: number
  readonly contentState?: Readonly<Record<string, unknown>>
  readonly attributesType?: string
  readonly attributes?: Readonly<Record<string, unknown>>
  readonly staleDate?: number
  readonly dismissalDate?: number
}

/** Options of all gateways of Android devices. */
export interface AndroidOptions {
  readonly sound?: string
  readonly channelId?: string
  readonly clickAction?: 'intent' | 'open_app'
  /** URI of the page to open with the click action `intent`. */
  readonly intent?: string
  /** Name of the small icon in the app: cloud_gw, vendor_h. */
  readonly icon?: string
  /** Color of the icon, such as #3366ff: cloud_gw, vendor_h. */
  readonly color?: string
  /** vendor_h, vendor_n. */
  readonly importance?: (typeof notificationImportances)[number]
  /** cloud_gw: a later push with this key replaces one that waits. */
  readonly collapseKey?: string
}

/** Options of one channel; a channel ignores options that it does not support. */
export interface ChannelOptions extends AndroidOptions {
  /** vendor_h and vendor_n change a badge only with it. */
  readonly badgeClass?: string
  /** vendor_x and vendor_o: name of the template of the certificate. */
  readonly template?: string
  /** vendor_v: 0 production, 1 test devices. */
  readonly pushMode?: number
  /** vendor_v: 0 operational, 1 system. */
  readonly classification?: number
}

/** The result for one device. */
export type PushOutcome = Accepted | Refusal

/** The gateway accepted the message; only a receipt tells whether the device received it. */
export interface Accepted {
  readonly kind: 'accepted'
  /** The gateway's ID of the message, which receipts name. */
  readonly messageId: string
  /** Changes that the channel made to the content, a phrase each; omitted for none. */
  readonly changes?: readonly string[]
  readonly alarm?: ReceiptsRefused
}

/** The gateway refused the address for receipts, so the message went without it. */
export interface ReceiptsRefused {
  readonly kind: 'receipts_refused'
  /** The gateway's own code. */
  readonly code: string
}

/** Reason why a message was not accepted for a device. */
export type Refusal =
  | InvalidToken
  | Delayed
  | HeldBack
  | NetworkFailure
  | QuotaUsedUp
  | SetUpRefused
  /**
   * `auth_expired`: returned only inside the runtime; with fresh credentials it becomes `config`.
   * `payload`: the gateway will never accept this message. `suppressed`: the device is out of reach
   * for now; its token is valid.
   */
  | (GatewayReason & { readonly kind: 'auth_expired' | 'payload' | 'suppressed' })

/** Credentials or set-up are wrong. */
export interface SetUpRefused extends GatewayReason {
  readonly kind: 'config'
  /** Concerns this push only: the gateway may accept other devices and other messages. */
  readonly isOfPush?: true
  /** Concerns the credentials or the account, so that no device can be reached. */
  readonly isOfCredentials?: true
  /**
   * Time until the next try, in case the operator has repaired the set-up; omitted: this push has
   * ended.
   */
  readonly retryAfterMs?: number
}

/** The kinds of outcomes, as counted in metrics. */
export type PushOutcomeKind = PushOutcome['kind']

/** Reason why a push was not accepted, for the log and the trace. */
export interface GatewayReason {
  /** The gateway's own code, or one of ours such as `circuit_open`. */
  readonly code: string
  /** Human-readable; contains no token and no secret. */
  readonly reason: string
  /** Alarm for operators that kind and code do not imply. */
  readonly alarm?: OutcomeAlarm
}

/** Condition that needs an operator's attention. */
export type OutcomeAlarm =
  /**
   * The gateway finds our time wrong. `skewSeconds`: how far our clock is ahead, if the gateway
   * states its own time.
   */
  | { readonly kind: 'clock'; readonly skewSeconds: number | null }
  /** Tokens that the gateway reports as ended are kept. */
  | { readonly kind: 'mass_prune' }
  /** The message needs a template, or another one. */
  | { readonly kind: 'template' }
  | ReceiptsRefused
  /** The code has no entry in the table. */
  | { readonly kind: 'unknown_code' }

/** The gateway knows no device by this token, or none that this app may reach. */
export interface InvalidToken extends GatewayReason {
  readonly kind: 'invalid_token'
  /**
   * Time of the gateway's finding, milliseconds since 1970, if stated; a token bound later is a new
   * one.
   */
  readonly since: number | null
  /** A wrong package, environment or project gives the same answer. */
  readonly isSuspect: boolean
  /**
   * The answer concerns the path or the topic of the request, of which the token is a part; the
   * token is kept.
   */
  readonly isOfRequest?: true
}

/** A retry may succeed. */
export interface Delayed extends GatewayReason {
  readonly kind: 'throttled' | 'server_error'
  /** Stated by the gateway. */
  readonly retryAfterMs: number | null
}

/**
 * No request was made: the circuit is open, or the rate is used up. Says nothing about the device
 * or the message.
 */
export interface HeldBack extends GatewayReason {
  readonly kind: 'held_back'
  /** Time until a retry is worthwhile. */
  readonly retryAfterMs: number
  /** The rate has room at that time, unless more messages arrive. */
  readonly hasTurn?: boolean
}

/** The gateway could not be reached, or its answer did not arrive. */
export interface NetworkFailure extends GatewayReason {
  readonly kind: 'network'
  /** The request may have reached the gateway; a retry relies on `deduplicationId`. */
  readonly mayBeDelivered: boolean
  /**
   * A command that may have reached the app, which could not recognise a repetition: it is not sent
   * again.
   */
  readonly isUnrepeatable?: true
}

/** The quota of the app, of a message class or of a device is used up for today. */
export interface QuotaUsedUp extends GatewayReason {
  readonly kind: 'quota'
  readonly scope: QuotaScope
  /** End of the vendors' day, milliseconds since 1970. */
  readonly endsAt: number
}
