/** Requests of vendor_h: downlink message API of its Push Kit, v1 and v2. */
import type { GatewayCertificate, PushNotification, Refusal } from '../../sender.js'
import { notificationTooLarge } from '../content/answers.js'
import { fit } from '../content/fit.js'
import { type KitStyle, kitMessage } from '../content/kit-message.js'
import { channelOptions } from '../content/options.js'
import { jsonBytes, jsonRequest } from '../content/requests.js'
import { type PushBatch, sendUrl } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import type { VendorHCredentials } from './credentials.js'

const host = 'https://push-api.cloud.huawei.com'
const maxMessageBytes = 4096

/** Builds the request for up to 1000 devices. */
export function vendorHRequest(batch: PushBatch<VendorHCredentials>): GatewayRequest | Refusal {
  const { credentials, certificate, notification, targets, authToken, now } = batch
  const style = vendorHStyle(certificate)
  const message = fit(notification, (content) => kitMessage(content, style, now), {
    sizeOf: jsonBytes,
    maxBytes: maxMessageBytes,
    notes: batch.notes,
  })
  if (message === null) return notificationTooLarge
  return jsonRequest(
    sendUrl(certificate, host) + credentials.sendPath,
    { validate_only: false, message: { token: targets.map(({ token }) => token), ...message } },
    { authorization: `Bearer ${authToken}` },
  )
}

function vendorHStyle({ environment, category }: GatewayCertificate): KitStyle {
  return {
    channel: 'vendor_h',
    importance: 'NORMAL',
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
    display: (notification) => ({
      ...channelAndSound(notification),
      foreground_show: true,
    }),
  }
}

function channelAndSound(notification: PushNotification) {
  const { sound: name, channelId } = channelOptions(notification, 'vendor_h')
  const path = name && (name.startsWith('/') ? name : `/raw/${name}`)
  return {
    ...(channelId ? { channel_id: channelId } : {}),
    ...(notification.isSilent ? { default_sound: false } : {}),
    ...(!notification.isSilent && path ? { sound: path, default_sound: false } : {}),
  }
}
