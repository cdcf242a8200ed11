/** Requests of vendor_h: downlink message API of its Push Kit, versions 1 to 3. */
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import type { Refusal } from '../../outcomes.js'
import { notificationTooLarge } from '../content/answers.js'
import { fit } from '../content/fit.js'
import { type KitStyle, kitMessage } from '../content/kit-message.js'
import { channelOptions } from '../content/options.js'
import { requestBytes, jsonRequest } from '../content/requests.js'
import { type PushBatch, sendUrl } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import type { VendorHCredentials } from './credentials.js'
import { messageV3, scenarioOf } from './message-v3.js'

const host = 'https://push-api.cloud.huawei.com'
const maxMessageBytes = 4096

/** Builds the request for up to 1000 devices. */
export function vendorHRequest(batch: PushBatch<VendorHCredentials>): GatewayRequest | Refusal {
  const { credentials, certificate, notification, targets, authToken, now } = batch
  const url = sendUrl(certificate, host) + credentials.sendPath
  const authorization = `Bearer ${authToken}`
  const token = targets.map((target) => target.token)
  // The tokens do not count.
  const limit = { sizeOf: requestBytes, maxBytes: maxMessageBytes, notes: batch.notes }
  if (credentials.apiVersion === 3) {
    const message = fit(notification, (part) => messageV3(part, certificate, now), limit)
    if (message === null) return notificationTooLarge
    const headers = { authorization, 'push-type': scenarioOf(notification) }
    return jsonRequest(url, { ...message, target: { token } }, headers)
  }
  const style = vendorHStyle(certificate, notification)
  const message = fit(notification, (part) => kitMessage(part, style, now), limit)
  if (message === null) return notificationTooLarge
  const body = { validate_only: false, message: { token, ...message } }
  return jsonRequest(url, body, { authorization })
}

const importances = { low: 'LOW', normal: 'NORMAL', high: 'HIGH' } as const

function vendorHStyle(
  { environment, category }: GatewayCertificate,
  notification: PushNotification,
): KitStyle {
  const { icon, color, importance } = channelOptions(notification, 'vendor_h')
  return {
    channel: 'vendor_h',
    importance: importances[importance ?? 'normal'],
    isBodyLong: false,
    refusesImages: false,
    android: ({ priority }) => ({
      urgency: priority === 'high' ? 'HIGH' : 'NORMAL',
      // Keeps all messages that wait for the device; they replace one another there by notify_id.
      // The vendor allows at most 100 collapse groups, which all conversations of an app would
      // share.
      collapse_key: -1,
      target_user_type: environment === 'development' ? 1 : 0,
      ...(category === undefined ? {} : { category }),
    }),
    display: (content) => ({
      ...channelAndSound(content),
      ...(icon ? { icon: rawPath(icon) } : {}),
      ...(color ? { color } : {}),
      foreground_show: true,
    }),
  }
}

function channelAndSound(notification: PushNotification) {
  const { sound: name, channelId } = channelOptions(notification, 'vendor_h')
  return {
    ...(channelId ? { channel_id: channelId } : {}),
    ...(notification.isSilent ? { default_sound: false } : {}),
    ...(!notification.isSilent && name ? { sound: rawPath(name), default_sound: false } : {}),
  }
}

/** The path of a file in the app, from its name. */
function rawPath(name: string): string {
  return name.startsWith('/') ? name : `/raw/${name}`
}
