/** What a notification says to one channel, in pieces that several vendors need. */
import { createHash } from 'node:crypto'
import { definedOnly } from '../../../lib/defined-only.js'
import { stringifyJson } from '../../../lib/json.js'
import type {
  ChannelOptions,
  GatewayCertificate,
  PushNotification,
  VendorChannel,
} from '../../sender.js'

export type AndroidChannel = Exclude<VendorChannel, 'ios_gw'>

/** The notification, with what the certificate says where it says nothing itself. */
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

/** Options of the channel over those of all Android channels, member by member. */
export function channelOptions(
  { android, channels }: PushNotification,
  channel: AndroidChannel,
): ChannelOptions {
  return { ...android, ...channels[channel] }
}

/** The page to open; null: the start of the app. */
export function intentOf({ clickAction, intent }: ChannelOptions): string | null {
  return clickAction === 'intent' && intent !== undefined && intent !== '' ? intent : null
}

/** The URL of the picture to show, or null. */
export function imageOf({ kind, attachmentUrl }: PushNotification): string | null {
  return kind === 'image' && attachmentUrl !== '' ? attachmentUrl : null
}

/** Title and body, each standing in for the other where a gateway refuses an empty one. */
export function filledTexts({ title, body }: PushNotification): { title: string; body: string } {
  return { title: title || body, body: body || title }
}

/** The long text where there is one. */
export function longBody({ bigText, body }: PushNotification): string {
  return bigText || body
}

/**
 * What the app is told besides: the members of `ext`, and `hermod` with what is ours: the task, and
 * what the channel cannot say in a field of its own.
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

/** Values as strings; what is not one already is JSON. */
export function stringValues(data: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : stringifyJson(value),
    ]),
  )
}

/** Letters, digits, - and _ that stand for a key where a gateway takes short ones only. */
export function shortKey(key: string, length: number): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, length)
}

/** An int32 above 0 that stands for a key. */
export function numberKey(key: string): number {
  return createHash('sha256').update(key).digest().readUInt32BE(0) & 0x7fffffff || 1
}

/** What a later notification with the same value replaces, or a repeated one. */
export function replacingKey({ collapseKey, deduplicationId }: PushNotification): string {
  return collapseKey ?? deduplicationId
}

/** Whole seconds that the notification may still take, within the gateway's range. */
export function ttlSeconds(
  { expiresAt }: PushNotification,
  { now, min = 0, max }: { now: number; min?: number; max: number },
): number {
  return Math.min(max, Math.max(min, Math.ceil((expiresAt - now) / 1000)))
}
