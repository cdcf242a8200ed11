/**
 * Requests to APNs: "Sending notification requests to APNs", "Generating a remote notification".
 */
import type { PushNotification, PushTarget, Refusal } from '../../sender.js'
import { notificationTooLarge } from '../content/answers.js'
import { fit } from '../content/fit.js'
import { appData, longBody, replacingKey } from '../content/options.js'
import { jsonBytes, jsonRequest } from '../content/requests.js'
import { cutBytes } from '../content/text.js'
import { type PushBatch, sendUrl } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import type { IosCredentials } from './credentials.js'

const hosts = {
  development: 'https://api.sandbox.push.apple.com',
  production: 'https://api.push.apple.com',
}
const maxPayloadBytes = 4096
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
  const { certificate, notification } = batch
  const payload = fit(notification, (content) => iosPayload(content, target), {
    sizeOf: jsonBytes,
    maxBytes: maxPayloadBytes,
    notes: batch.notes,
  })
  if (payload === null) return notificationTooLarge
  if (Object.hasOwn(notification.ext ?? {}, 'aps')) batch.notes.leftOut('aps')
  const url = `${iosOrigin(certificate)}/3/device/${encodeURIComponent(target.token)}`
  return jsonRequest(url, payload, iosHeaders(batch))
}

function iosHeaders({ credentials, notification, authToken }: PushBatch<IosCredentials>) {
  const isBackground = notification.kind === 'cmd'
  // A command replaces no other command; only its own ID identifies a repeated one.
  const collapseId = isBackground
    ? notification.deduplicationId
    : notification.ios.collapseId || replacingKey(notification)
  return {
    ...(authToken === '' ? {} : { authorization: `bearer ${authToken}` }),
    'apns-topic': credentials.topic,
    'apns-push-type': isBackground ? 'background' : 'alert',
    'apns-priority': isBackground || notification.priority === 'normal' ? '5' : '10',
    'apns-expiration': String(Math.floor(notification.expiresAt / 1000)),
    'apns-collapse-id': cutBytes(collapseId, maxCollapseIdBytes),
  }
}

function iosPayload(notification: PushNotification, target: PushTarget) {
  const { ios, android, kind, attachmentUrl } = notification
  const data = appData(notification, {
    intent: android.clickAction === 'intent' ? android.intent : null,
    attachmentUrl,
  })
  if (kind === 'cmd') return { ...data, aps: { 'content-available': 1 } }
  const badge = iosBadge(notification, target)
  const aps = {
    alert: iosAlert(notification),
    ...(badge === null ? {} : { badge }),
    ...(notification.isSilent ? {} : { sound: ios.sound || 'default' }),
    ...(ios.threadId ? { 'thread-id': ios.threadId } : {}),
    ...(ios.category ? { category: ios.category } : {}),
    // The app's service extension fetches the attachment.
    ...(ios.mutableContent || attachmentUrl !== '' ? { 'mutable-content': 1 } : {}),
    ...(ios.contentAvailable ? { 'content-available': 1 } : {}),
  }
  return { ...data, aps }
}

function iosAlert(notification: PushNotification) {
  const { title, ios } = notification
  return {
    ...(title === '' ? {} : { title }),
    ...(ios.subtitle ? { subtitle: ios.subtitle } : {}),
    body: longBody(notification),
  }
}

/** The gateway accepts absolute numbers only. */
function iosBadge({ badge }: PushNotification, { badgeCount }: PushTarget): number | null {
  return badge?.mode === 'set' ? badge.count : badge && badgeCount
}
