/** Parts of a channel's message that several vendors share. */
import { createHash } from 'node:crypto'
import { definedOnly } from '../../../lib/defined-only.js'
import { stringifyJson } from '../../../lib/json.js'
import type { GatewayCertificate, VendorChannel } from '../../certificate.js'
import type { ChannelOptions, PushNotification } from '../../notification.js'

type AndroidChannel = Exclude<VendorChannel, 'ios_gw'>

/** Fills in the certificate's defaults where the notification sets no value. */
export function withCertificateDefaults(
  notification: PushNotification,
  { channel, channelId, badgeClass }: GatewayCertificate,
): PushNotification {
  if (channel === 'ios_gw' || (channelId === undefined && badgeClass === undefined))
    return notification
  const { android, channels } = notification
  return {
    ...notification,
    android: definedOnly({ channelId, ...android }),
    channels: { ...channels, [channel]: definedOnly({ badgeClass, ...channels[channel] }) },
  }
}

/** Options of the channel, which override those of all Android channels member by member. */
export function channelOptions(
  { android, channels }: PushNotification,
  channel: AndroidChannel,
): ChannelOptions {
  return { ...android, ...channels[channel] }
}

/** The page to open; null opens the start of the app. */
export function intentOf({ clickAction, intent }: ChannelOptions): string | null {
  return clickAction === 'intent' && intent !== undefined && intent !== '' ? intent : null
}

/** The action in the URI of an Android intent. */
export function actionOfIntent(intent: string): string | undefined {
  return /[;#]action=([^;]+)/.exec(intent)?.[1]
}

/** The URL of the picture to display, or null. */
export function imageOf({ kind, attachmentUrl }: PushNotification): string | null {
  return kind === 'image' && attachmentUrl !== '' ? attachmentUrl : null
}

/**
 * Title and body. An empty body is replaced by the long text, and then each by the other, since
 * gateways refuse empty texts.
 */
export function filledTexts({ title, body, bigText }: PushNotification): {
  title: string
  body: string
} {
  const text = body || bigText
  return { title: title || text, body: text || title }
}

/** The long text if there is one, else the body. */
export function longBody({ bigText, body }: PushNotification): string {
  return bigText || body
}

/**
 * Data for the app: the members of `ext`, and `hermod` with the task and everything that the
 * channel has no field for.
 */
export function appData(
  { ext, taskId }: PushNotification,
  own: { readonly intent?: string | null | undefined; readonly attachmentUrl?: string },
): Record<string, unknown> {
  return {
    ...ext,
    hermod: {
      task_id: taskId,
      ...(own.intent ? { intent: own.intent } : {}),
      ...(own.attachmentUrl ? { attachment_url: own.attachmentUrl } : {}),
    },
  }
}

/** Converts values to strings; values that are not strings become JSON. */
export function stringValues(data: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : stringifyJson(value),
    ]),
  )
}

/**
 * Replaces a key with a short one, for gateways with a length limit.
 *
 * @param form `base64url`: letters, digits, - and _; `hex`: lower-case digits
 */
export function shortKey(
  key: string,
  length: number,
  form: 'base64url' | 'hex' = 'base64url',
): string {
  return createHash('sha256').update(key).digest(form).slice(0, length)
}

/** Replaces a key with an int32 above 0. */
export function numberKey(key: string): number {
  return createHash('sha256').update(key).digest().readUInt32BE(0) & 0x7fffffff || 1
}

/** Key by which a later notification, or a repeated one, replaces an earlier one. */
export function replacingKey({ collapseKey, deduplicationId }: PushNotification): string {
  return collapseKey ?? deduplicationId
}

/** Remaining life of the notification in whole seconds, within the gateway's range. */
export function ttlSeconds(
  { expiresAt }: PushNotification,
  { now, min = 0, max }: { now: number; min?: number; max: number },
): number {
  return Math.min(max, Math.max(min, Math.ceil((expiresAt - now) / 1000)))
}
