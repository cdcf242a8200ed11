/** The port of the push gateways: one notification to devices of one channel, one outcome each. */
import type { PushChannel } from '@hermod/protocol'

/** Channels with a gateway of somebody else; `core` is the service's own. */
export type VendorChannel = Exclude<PushChannel, 'core'>

/** Sends to the gateway of one channel. Throws only for bugs: what a gateway does is an outcome. */
export interface PushSender {
  /** @returns an outcome for each target, in their order; targets may repeat a token */
  send(request: PushRequest): Promise<readonly PushOutcome[]>
}

/** One notification to devices of one channel, with the credentials to use. */
export interface PushRequest {
  readonly certificate: GatewayCertificate
  readonly notification: PushNotification
  readonly targets: readonly PushTarget[]
  /** What is not asked of the gateway now; unset: nothing. */
  readonly pauses?: QuotaPauses
}

/** Messages that a gateway counts apart from others. */
export type MessageClass = 'command' | 'operational' | 'private' | 'public' | 'system'

/**
 * What has a quota: a device, all that is sent with a certificate, messages of a class with it, or requests to a list of devices, which
 * are sent to one by one then.
 */
export type QuotaScope = 'device' | 'certificate' | 'list' | MessageClass

/** When the used-up quotas of a certificate begin anew, milliseconds since 1970. */
export type QuotaPauses = Partial<Readonly<Record<Exclude<QuotaScope, 'device' | 'list'>, number>>>

/** A device as its gateway knows it. */
export interface PushTarget {
  readonly token: string
  /**
   * The number that the device's badge is to show, from the service's own counter. Null: unknown;
   * then gateways that know absolute numbers only leave the badge as it is.
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
  /** Key or account file as text, a .p12 file as base64; "" where the channel has none. */
  readonly certificate: string
  /** Android package of the app; vendor_x asks for it. */
  readonly packageName?: string
  /**
   * The class of messages that the vendor has approved for the app, such as IM. Unset: the
   * messages count as public or marketing ones, with the vendors' daily limits.
   */
  readonly category?: string
  /** Notification channel on the device, for notifications that name none. */
  readonly channelId?: string
  /** As {@link ChannelOptions.badgeClass}, for notifications that name none. */
  readonly badgeClass?: string
  /** Whether vendor_x and vendor_f have allowed the app to pass commands through. Default false. */
  readonly allowsPassThrough?: boolean
  /** Where gateways that are told so per message send their receipts. */
  readonly receiptUrl?: string
  readonly endpoint?: GatewayEndpoint
  /** Where the operator has set another one than the service's own. */
  readonly limits?: Partial<SendLimits>
}

/** How fast a process sends with one certificate. */
export interface SendLimits {
  /** Requests, or messages where the vendor counts those. */
  readonly perSecond: number
  readonly maxInFlight: number
}

/** Looks at certificates for those who set them up. */
export interface CertificateInspector {
  /** Reads the credentials as a send does, without asking anybody. */
  inspect(certificate: GatewayCertificate): Promise<CertificateInspection>
  /**
   * Shows the credentials to the gateway with a message to a device that cannot exist. No send hears of it, and none is held up by what
   * comes of it.
   */
  probe(certificate: GatewayCertificate): Promise<PushOutcome>
  /** Those that a certificate sets, and the service's own for the others. */
  limits(certificate: Pick<GatewayCertificate, 'channel' | 'limits'>): SendLimits
}

/** What is known of credentials without asking the gateway. */
export interface CertificateInspection {
  /** All that is wrong; [] when it can be used. */
  readonly faults: readonly CertificateFault[]
  /** When the credentials end, milliseconds since 1970; null: they do not, or nobody can tell. */
  readonly expiresAt: number | null
}

/** Something that is wrong with a field of the credentials. */
export interface CertificateFault {
  readonly field: CertificateField
  /** Goes on after the name of the field; has no secret. */
  readonly text: string
}

/** By the names of the contract, and one that it does not have. */
export type CertificateField = 'app_id' | 'app_key' | 'app_secret' | 'certificate' | 'package_name'

/** Another place than the vendor's public gateway. */
export interface GatewayEndpoint {
  /** Origin of sends, without a slash at the end; tokens are asked for there too by default. */
  readonly sendUrl?: string
  /** Full address or origin of the token call, as the channel has it. */
  readonly authUrl?: string
  /** PEM of a further certificate authority. */
  readonly ca?: string
}

/** What devices are told, in terms that are no vendor's. */
export interface PushNotification {
  /** `cmd` is passed to the app and never displayed. */
  readonly kind: 'text' | 'image' | 'cmd'
  /** The text as it is to be seen: names and hidden details are the caller's work. "" is none. */
  readonly title: string
  readonly body: string
  /** Shown instead of the body where the vendor can; "" is none. */
  readonly bigText: string
  /** URL of an image, audio or video; "" is none. */
  readonly attachmentUrl: string
  readonly badge: BadgeChange | null
  /** Free JSON members for the app. */
  readonly ext: Readonly<Record<string, unknown>> | null
  /** Milliseconds since 1970; gateways drop what they could not deliver by then. */
  readonly expiresAt: number
  readonly priority: 'high' | 'normal'
  /** Arrives without sound and vibration. */
  readonly isSilent: boolean
  /** A later notification with this key replaces an earlier one; null: each stands alone. */
  readonly collapseKey: string | null
  /** The same for every try to send this notification, so that a repeated try is shown once. */
  readonly deduplicationId: string
  /** The app is told it. */
  readonly taskId: string
  /** Comes back in receipts; at most 64 bytes. */
  readonly receiptTag: string
  readonly ios: IosOptions
  /** For all Android channels. */
  readonly android: AndroidOptions
  /** For one channel; wins over `android`. */
  readonly channels: Partial<Readonly<Record<Exclude<VendorChannel, 'ios_gw'>, ChannelOptions>>>
}

/** How the badge changes: to a number, or by a number. */
export interface BadgeChange {
  readonly mode: 'set' | 'add'
  readonly count: number
}

/** What only notifications by ios_gw can have. */
export interface IosOptions {
  readonly sound?: string
  readonly contentAvailable?: boolean
  readonly mutableContent?: boolean
  readonly category?: string
  readonly threadId?: string
  readonly subtitle?: string
  readonly collapseId?: string
}

/** What all gateways of Android devices have. */
export interface AndroidOptions {
  readonly sound?: string
  readonly channelId?: string
  readonly clickAction?: 'intent' | 'open_app'
  /** URI of the page to open with the click action `intent`. */
  readonly intent?: string
}

/** Options of one channel; those that a channel does not have are passed over. */
export interface ChannelOptions extends AndroidOptions {
  /** vendor_h and vendor_n change a badge only with it. */
  readonly badgeClass?: string
  /** vendor_v: 0 production, 1 test devices. */
  readonly pushMode?: number
  /** vendor_v: 0 operational, 1 system. */
  readonly classification?: number
}

/** What became of one device. */
export type PushOutcome = Accepted | Refusal

/** The gateway took the message; whether the device got it, a receipt tells. */
export interface Accepted {
  readonly kind: 'accepted'
  /** The gateway's ID of the message; receipts name it. */
  readonly messageId: string
}

/** Why a device was not reached. */
export type Refusal =
  | InvalidToken
  | Delayed
  | HeldBack
  | NetworkFailure
  | QuotaUsedUp
  | SetUpRefused
  /**
   * `auth_expired`: also with fresh credentials it comes back as `config`, so callers do not see it.
   * `payload`: this message will never be taken. `suppressed`: the device is out of reach for now; its
   * token is good.
   */
  | (GatewayReason & { readonly kind: 'auth_expired' | 'payload' | 'suppressed' })

/** Credentials or set-up are wrong. */
export interface SetUpRefused extends GatewayReason {
  readonly kind: 'config'
  /** Said of this device alone: the gateway has taken the request, and may take other devices. */
  readonly isOfDevice?: true
  /** When the gateway is asked again, in case the operator has mended it by then; unset: this push has ended. */
  readonly retryAfterMs?: number
}

/** The kinds of outcomes, as counted in metrics. */
export type PushOutcomeKind = PushOutcome['kind']

/** Why a push was not taken, for the log and the trace. */
export interface GatewayReason {
  /** The gateway's own code, or a word of ours such as `circuit_open`. */
  readonly code: string
  /** For people; has no token and no secret. */
  readonly reason: string
  /** Why operators are to look at it, where kind and code do not say so. */
  readonly alarm?: OutcomeAlarm
}

/** What operators are to look at. */
export type OutcomeAlarm =
  /** The gateway finds our time wrong. `skewSeconds`: how far it is ahead, where the gateway says its own. */
  | { readonly kind: 'clock'; readonly skewSeconds: number | null }
  /** Tokens were called dead that are kept all the same. */
  | { readonly kind: 'mass_prune' }
  /** No table knows the code. */
  | { readonly kind: 'unknown_code' }

/** The gateway knows no device by the token, or none that this app may reach. */
export interface InvalidToken extends GatewayReason {
  readonly kind: 'invalid_token'
  /** Milliseconds since 1970, where the gateway says it; a token bound later is another one. */
  readonly since: number | null
  /** The same answer comes of a wrong package, environment or project. */
  readonly isSuspect: boolean
}

/** Worth another try. */
export interface Delayed extends GatewayReason {
  readonly kind: 'throttled' | 'server_error'
  /** As asked for by the gateway. */
  readonly retryAfterMs: number | null
}

/** The gateway was not asked: it is being spared, or the rate is used up. Says nothing of the device or the message. */
export interface HeldBack extends GatewayReason {
  readonly kind: 'held_back'
  /** When asking is worth another look. */
  readonly retryAfterMs: number
  /** The rate will have room for it then, unless more comes in meanwhile. */
  readonly hasTurn?: boolean
}

/** The gateway could not be asked, or its answer did not arrive. */
export interface NetworkFailure extends GatewayReason {
  readonly kind: 'network'
  /** The request may have reached the gateway: another try relies on `deduplicationId`. */
  readonly mayBeDelivered: boolean
  /** A command that may have reached the app, which could not tell a second one from another: it is not sent again. */
  readonly isUnrepeatable?: true
}

/** The app, a class of its messages or a device may be sent no more today. */
export interface QuotaUsedUp extends GatewayReason {
  readonly kind: 'quota'
  readonly scope: QuotaScope
  /** Milliseconds since 1970: when the vendors' day ends. */
  readonly endsAt: number
}
