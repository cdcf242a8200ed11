/** Requests of vendor_n ("Sending messages" of its push service). */
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
import type { VendorNCredentials } from './credentials.js'

const host = 'https://push-api.cloud.honor.com'
const maxMessageBytes = 4096

/** Builds the request for up to 1000 devices. */
export function vendorNRequest(batch: PushBatch<VendorNCredentials>): GatewayRequest | Refusal {
  const { credentials, certificate, notification, targets, authToken, now } = batch
  const style = vendorNStyle(certificate, notification)
  const message = fit(notification, (content) => vendorNSpelling(kitMessage(content, style, now)), {
    sizeOf: requestBytes,
    maxBytes: maxMessageBytes,
    notes: batch.notes,
  })
  if (message === null) return notificationTooLarge
  const path = `/api/v1/${encodeURIComponent(credentials.appId)}/sendMessage`
  return jsonRequest(
    sendUrl(certificate, host) + path,
    { token: targets.map(({ token }) => token), ...message },
    { authorization: `Bearer ${authToken}`, timestamp: String(now) },
  )
}

/** Messages other than advertising, which is of low importance, need an approved class. */
function vendorNStyle(
  { environment, category }: GatewayCertificate,
  notification: PushNotification,
): KitStyle {
  const byClass = category === undefined ? 'low' : 'normal'
  const { importance: wanted = byClass } = channelOptions(notification, 'vendor_n')
  // The vendor has no high importance.
  const importance = wanted === 'low' ? 'LOW' : 'NORMAL'
  return {
    channel: 'vendor_n',
    importance,
    // The vendor requires both to be equal.
    isBodyLong: true,
    refusesImages: importance === 'LOW',
    android: () => ({ target_user_type: environment === 'development' ? 1 : 0 }),
    display: () => ({}),
  }
}

/** Converts to camel case, and renames the class of a badge to badgeClass. */
function vendorNSpelling(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name === 'class' ? 'badgeClass' : name.replace(/_(\w)/g, (_, next) => next.toUpperCase()),
      typeof member === 'object' ? vendorNSpelling(member) : member,
    ]),
  )
}
