/**
 * Requests to APNs: "Sending notification requests to APNs", "Generating a remote notification".
 */
import type { PushNotification } from '../../notification.js'
import type { Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import { notificationTooLarge } from '../content/answers.js'
import { fit } from '../content/fit.js'
import { appData, replacingKey } from '../content/options.js'
import { requestBytes, jsonRequest } from '../content/requests.js'
import { cutBytes } from '../content/text.js'
import { type PushBatch, sendUrl } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import { hasTexts, iosAlert, iosSound } from './alert.js'
import { type IosCredentials, iosTopic } from './credentials.js'
import { liveActivityPayload } from './live-activity.js'

const hosts = {
  development: 'https://api.sandbox.push.apple.com',
  production: 'https://api.push.apple.com',
}
const maxPayloadBytes = 4096
const maxCallBytes = 5120
const maxCollapseIdBytes = 64

/** The origin of sends. */
export function iosOrigin(certificate: PushBatch<IosCredentials>['certificate']): string {
  return sendUrl(certificate, hosts[certificate.environment])
}

/** Builds the request for one device. */
export function iosRequest(
  batch: PushBatch<IosCredentials>,
  target: PushTarget,
): GatewayRequest | Refusal {
  const { certificate, notification, credentials } = batch
  const payload = fit(notification, (content) => iosPayload(batch, content, target), {
    sizeOf: requestBytes,
    maxBytes: credentials.pushType === 'voip' ? maxCallBytes : maxPayloadBytes,
    notes: batch.notes,
  })
  if (payload === null) return notificationTooLarge
  for (const member of Object.keys(notification.ext ?? {}))
    if (member === 'aps' || credentials.pushType === 'liveactivity') batch.notes.leftOut(member)
  const url = `${iosOrigin(certificate)}/3/device/${encodeURIComponent(target.token)}`
  return jsonRequest(url, payload, iosHeaders(batch))
}

function iosHeaders({ credentials, notification, authToken }: PushBatch<IosCredentials>) {
  const { expiresAt } = notification
  const pushType =
    credentials.pushType === 'alert' && notification.kind === 'cmd'
      ? 'background'
      : credentials.pushType
  return {
    ...(authToken === '' ? {} : { authorization: `bearer ${authToken}` }),
    'apns-topic': iosTopic(credentials),
    'apns-push-type': pushType,
    'apns-priority': isImmediate(pushType, notification) ? '10' : '5',
    // A call is over when the device comes back: the gateway tries once.
    'apns-expiration': pushType === 'voip' ? '0' : String(Math.floor(expiresAt / 1000)),
    ...collapseHeader(pushType, notification),
  }
}

type HeaderType = IosCredentials['pushType'] | 'background'

function isImmediate(pushType: HeaderType, { priority, ios }: PushNotification): boolean {
  if (pushType === 'voip') return true
  // Immediate changes of live activities count against a budget of the app.
  const isPassive = pushType === 'liveactivity' && ios.interruptionLevel === 'passive'
  return pushType !== 'background' && priority === 'high' && !isPassive
}

/** Returns the header by which a notification replaces another; calls and live activities have none. */
function collapseHeader(pushType: HeaderType, notification: PushNotification) {
  if (pushType === 'voip' || pushType === 'liveactivity') return {}
  // A command replaces no other command; only its own ID identifies a repeated one.
  const collapseId =
    pushType === 'background'
      ? notification.deduplicationId
      : notification.ios.collapseId || replacingKey(notification)
  return { 'apns-collapse-id': cutBytes(collapseId, maxCollapseIdBytes) }
}

function iosPayload(
  { credentials: { pushType }, now }: PushBatch<IosCredentials>,
  notification: PushNotification,
  target: PushTarget,
) {
  if (pushType === 'liveactivity') return liveActivityPayload(notification, now)
  const { android, kind, attachmentUrl } = notification
  const data = appData(notification, {
    intent: android.clickAction === 'intent' ? android.intent : null,
    attachmentUrl,
  })
  if (pushType === 'voip') return { ...data, aps: callTexts(notification) }
  return { ...data, aps: kind === 'cmd' ? { 'content-available': 1 } : aps(notification, target) }
}

/** The texts of a call, which the app reads; the system shows none of them. */
function callTexts(notification: PushNotification) {
  const isSilent = notification.kind === 'cmd' || !hasTexts(notification)
  return isSilent ? {} : { alert: iosAlert(notification) }
}

function aps(notification: PushNotification, target: PushTarget) {
  const { ios, isSilent, attachmentUrl } = notification
  const badge = iosBadge(notification, target)
  return {
    alert: iosAlert(notification),
    ...(badge === null ? {} : { badge }),
    ...(isSilent ? {} : { sound: iosSound(ios) }),
    ...(ios.threadId ? { 'thread-id': ios.threadId } : {}),
    ...(ios.category ? { category: ios.category } : {}),
    // The app's service extension fetches the attachment.
    ...(ios.mutableContent || attachmentUrl !== '' ? { 'mutable-content': 1 } : {}),
    ...(ios.contentAvailable ? { 'content-available': 1 } : {}),
    ...(ios.interruptionLevel ? { 'interruption-level': ios.interruptionLevel } : {}),
    ...(ios.relevanceScore === undefined ? {} : { 'relevance-score': ios.relevanceScore }),
  }
}

/** The gateway accepts absolute numbers only. */
function iosBadge({ badge }: PushNotification, { badgeCount }: PushTarget): number | null {
  return badge?.mode === 'set' ? badge.count : badge && badgeCount
}
