/** A notification as all gateways take it. */
import type {
  apnsPushTypes,
  interruptionLevels,
  liveActivityEvents,
  notificationImportances,
} from '@hermod/protocol'
import type { VendorChannel } from './certificate.js'

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

/** Push types of ios_gw. */
export type ApnsPushType = (typeof apnsPushTypes)[number]

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
