/** The message of vendor_h. vendor_n accepts the same message in another spelling. */
import { stringifyJson } from '../../../lib/json.js'
import type { BadgeChange, PushNotification } from '../../notification.js'
import {
  appData,
  channelOptions,
  filledTexts,
  imageOf,
  intentOf,
  numberKey,
  replacingKey,
  ttlSeconds,
} from './options.js'

const maxTtlSeconds = 1_296_000
export const maxKitBadge = 99

type KitChannel = 'vendor_h' | 'vendor_n'

/** Members of the shared message that differ between the two vendors. */
export interface KitStyle {
  readonly channel: KitChannel
  readonly importance: 'LOW' | 'NORMAL' | 'HIGH'
  /** Returns members of `android` that only this vendor has. */
  android(notification: PushNotification): Readonly<Record<string, unknown>>
  /** Returns members of the displayed notification that only this vendor has. */
  display(notification: PushNotification): Readonly<Record<string, unknown>>
  /** Requires the body to equal the long text, if there is one. */
  readonly isBodyLong: boolean
  /** The vendor refuses pictures. */
  readonly refusesImages: boolean
}

/** Returns the message in snake case, without the tokens. */
export function kitMessage(notification: PushNotification, style: KitStyle, now: number) {
  const { kind, receiptTag, attachmentUrl } = notification
  const image = kitImage(notification, style)
  const data = appData(notification, {
    intent: intentOf(channelOptions(notification, style.channel)),
    attachmentUrl: image === null ? attachmentUrl : '',
  })
  const isData = kind === 'cmd'
  const texts = kitTexts(notification, style)
  return {
    data: stringifyJson(data),
    ...(isData ? {} : { notification: { ...texts, ...(image === null ? {} : { image }) } }),
    android: {
      ttl: `${kitTtlSeconds(notification, now)}s`,
      bi_tag: receiptTag,
      ...style.android(notification),
      ...(isData ? {} : { notification: kitDisplay(notification, style) }),
    },
  }
}

function kitDisplay(notification: PushNotification, style: KitStyle) {
  const options = channelOptions(notification, style.channel)
  const image = kitImage(notification, style)
  const intent = intentOf(options)
  const badge = kitBadge(notification.badge, options.badgeClass)
  const { title, body } = kitTexts(notification, style)
  const { bigText } = notification
  return {
    title,
    body,
    ...(image === null ? {} : { image }),
    ...(bigText === '' ? {} : { style: 1, big_title: title, big_body: bigText }),
    importance: style.importance,
    click_action: intent === null ? { type: 3 } : { type: 1, intent },
    ...(badge === null ? {} : { badge }),
    notify_id: numberKey(replacingKey(notification)),
    ...style.display(notification),
  }
}

function kitTexts(notification: PushNotification, { isBodyLong }: KitStyle) {
  const { title, body } = filledTexts(notification)
  return { title, body: (isBodyLong && notification.bigText) || body }
}

function kitImage(notification: PushNotification, { refusesImages }: KitStyle) {
  return refusesImages ? null : secureImage(notification)
}

/**
 * Both vendors refuse the whole message for an image without https. Such an image goes to the app
 * as other attachments do.
 */
export function secureImage(notification: PushNotification): string | null {
  const url = imageOf(notification)
  return url !== null && /^https:/i.test(url) ? url : null
}

export function kitTtlSeconds(notification: PushNotification, now: number): number {
  return ttlSeconds(notification, { now, max: maxTtlSeconds })
}

/** The vendor refuses a number without a class, so without a class the badge stays as it is. */
function kitBadge(badge: BadgeChange | null, badgeClass: string | undefined) {
  if (badge === null || !badgeClass) return null
  const count = Math.min(badge.count, maxKitBadge)
  if (badge.mode === 'set') return { set_num: count, class: badgeClass }
  return count === 0 ? null : { add_num: count, class: badgeClass }
}
