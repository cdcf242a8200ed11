/** Requests to the HTTP v1 API of FCM (reference of projects.messages). */
import type { PushNotification } from '../../notification.js'
import type { Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import { notificationTooLarge } from '../content/answers.js'
import type { ContentNotes } from '../content/content-notes.js'
import { fit } from '../content/fit.js'
import {
  actionOfIntent,
  appData,
  channelOptions,
  imageOf,
  intentOf,
  longBody,
  replacingKey,
  stringValues,
  ttlSeconds,
} from '../content/options.js'
import { requestBytes, jsonRequest } from '../content/requests.js'
import { type PushBatch, sendUrl } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import type { CloudCredentials } from './credentials.js'

const host = 'https://fcm.googleapis.com'
const maxPayloadBytes = 4096
const maxTtlSeconds = 2_419_200
const analyticsLabel = /^[\w.~%-]{1,50}$/
/**
 * A Firebase installation ID: 17 bytes that begin with the bits 0111, in base64url, cut to 22
 * characters. A registration token is longer and has a colon.
 */
const installationId = /^[cdef][\w-]{21}$/

/** Builds the request for one device. */
export function cloudRequest(
  batch: PushBatch<CloudCredentials>,
  target: PushTarget,
): GatewayRequest | Refusal {
  const { credentials, certificate, authToken, notification } = batch
  const message = fit(notification, (content) => cloudMessage(content, target, batch), {
    sizeOf: requestBytes,
    maxBytes: maxPayloadBytes,
    notes: batch.notes,
  })
  if (message === null) return notificationTooLarge
  const path = `/v1/projects/${encodeURIComponent(credentials.projectId)}/messages:send`
  return jsonRequest(
    sendUrl(certificate, host) + path,
    { message: { ...cloudTarget(target), ...message } },
    { authorization: `Bearer ${authToken}` },
  )
}

/** The field of the target: a message has either an installation ID or a registration token. */
function cloudTarget({ token }: PushTarget): { readonly fid: string } | { readonly token: string } {
  return installationId.test(token) ? { fid: token } : { token }
}

function cloudMessage(
  notification: PushNotification,
  target: PushTarget,
  { now, notes }: PushBatch<CloudCredentials>,
) {
  const { kind, priority, taskId, attachmentUrl } = notification
  const options = channelOptions(notification, 'cloud_gw')
  const image = imageOf(notification)
  const data = appData(notification, {
    intent: intentOf(options),
    attachmentUrl: image === null ? attachmentUrl : '',
  })
  const isData = kind === 'cmd'
  return {
    ...(isData ? {} : { notification: cloudTexts(notification, image) }),
    data: stringValues(allowedKeys(data, notes)),
    android: {
      priority: isData || priority === 'high' ? 'HIGH' : 'NORMAL',
      ttl: `${ttlSeconds(notification, { now, max: maxTtlSeconds })}s`,
      ...(options.collapseKey ? { collapse_key: options.collapseKey } : {}),
      ...(isData ? {} : { notification: cloudAndroid(notification, target) }),
    },
    ...(analyticsLabel.test(taskId) ? { fcm_options: { analytics_label: taskId } } : {}),
  }
}

function cloudTexts(notification: PushNotification, image: string | null) {
  return {
    title: notification.title,
    body: longBody(notification),
    ...(image === null ? {} : { image }),
  }
}

function cloudAndroid(notification: PushNotification, { badgeCount }: PushTarget) {
  const { badge, isSilent, priority } = notification
  const options = channelOptions(notification, 'cloud_gw')
  const count = badge?.mode === 'set' ? badge.count : badge && badgeCount
  const action = actionOfIntent(intentOf(options) ?? '')
  return {
    ...(options.channelId ? { channel_id: options.channelId } : {}),
    ...(options.icon ? { icon: options.icon } : {}),
    ...(options.color ? { color: options.color } : {}),
    ...(isSilent ? {} : { sound: options.sound || 'default' }),
    ...(action === undefined ? {} : { click_action: action }),
    // Replaces on the device. The gateway keeps only four collapse keys of a device, so these are
    // left to the app.
    tag: replacingKey(notification),
    ...(count === null ? {} : { notification_count: count }),
    notification_priority: priority === 'high' ? 'PRIORITY_HIGH' : 'PRIORITY_DEFAULT',
  }
}

/**
 * Prefixes the keys that the gateway reserves with an underscore, unless the prefixed key is taken.
 */
function allowedKeys(
  data: Readonly<Record<string, unknown>>,
  notes: ContentNotes,
): Record<string, unknown> {
  const entries = Object.entries(data).flatMap(([name, value]): [string, unknown][] => {
    if (!/^(from$|message_type$|google|gcm)/.test(name)) return [[name, value]]
    const prefixed = `_${name}`
    if (Object.hasOwn(data, prefixed)) {
      notes.leftOut(name)
      return []
    }
    notes.renamed(name, prefixed)
    return [[prefixed, value]]
  })
  return Object.fromEntries(entries)
}
