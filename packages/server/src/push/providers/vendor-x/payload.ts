/** Requests of vendor_x: server API of its push service, messages by regid. */
import type { MessageTemplate } from '@hermod/protocol'
import { stringifyJson } from '../../../lib/json.js'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import type { MessageClass, Refusal } from '../../outcomes.js'
import { notificationTooLarge } from '../content/answers.js'
import { fit } from '../content/fit.js'
import {
  appData,
  channelOptions,
  filledTexts,
  intentOf,
  longBody,
  numberKey,
  replacingKey,
  shortKey,
  ttlSeconds,
} from '../content/options.js'
import { formRequest } from '../content/requests.js'
import { filledParameters, templateOf } from '../templates/template.js'
import { type PushBatch, sendUrl } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import type { VendorXCredentials } from './credentials.js'

const host = 'https://api.xmpush.xiaomi.com'
const maxTitle = 49
const maxDescription = 127
const maxTemplateValue = 128
const maxPayloadBytes = 4096
/** One day, the maximum life of public messages; private ones may live ten days. */
const maxTtlSeconds = 86_400
const jobKeyLength = 12
/** Delivered, target invalid, push disabled, daily quota exceeded. */
const wantedReceipts = 1 + 16 + 32 + 128

/** Builds the request for up to 1000 devices. */
export function vendorXRequest(batch: PushBatch<VendorXCredentials>): GatewayRequest | Refusal {
  const { credentials, certificate, notification, targets } = batch
  const fields = fit(notification, (content) => vendorXFields(content, batch), {
    sizeOf: ({ payload }) => Buffer.byteLength(payload),
    maxBytes: maxPayloadBytes,
    notes: batch.notes,
  })
  if (fields === null) return notificationTooLarge
  return formRequest(
    `${sendUrl(certificate, host)}/v3/message/regid`,
    {
      registration_id: targets.map(({ token }) => token).join(','),
      ...fields,
    },
    { authorization: `key=${credentials.secret}` },
  )
}

/** A message on a channel that the app has registered is private, any other is public. */
export function vendorXClass(
  notification: PushNotification,
  certificate: GatewayCertificate,
): MessageClass {
  return channelOf(notification, certificate) === '' ? 'public' : 'private'
}

/** Returns the channel of a message; "" for none. The vendor takes a template on its own channel only. */
function channelOf(notification: PushNotification, certificate: GatewayCertificate): string {
  const { channelId = '' } = channelOptions(notification, 'vendor_x')
  return templateOf(notification, certificate)?.channel_id ?? channelId
}

function vendorXFields(
  notification: PushNotification,
  { credentials, certificate, now, notes }: PushBatch<VendorXCredentials>,
) {
  const { kind, attachmentUrl, deduplicationId, isSilent } = notification
  const { title, body } = filledTexts({ ...notification, body: longBody(notification) })
  const intent = intentOf(channelOptions(notification, 'vendor_x'))
  const isData = kind === 'cmd'
  return {
    restricted_package_name: credentials.packageName,
    payload: stringifyJson(appData(notification, { intent, attachmentUrl })),
    pass_through: isData ? '1' : '0',
    time_to_live: String(ttlSeconds(notification, { now, max: maxTtlSeconds }) * 1000),
    // It must not begin with _.
    'extra.jobkey': shortKey(deduplicationId, jobKeyLength, 'hex'),
    ...vendorXReceiptFields(certificate, notification),
    ...(isData
      ? {}
      : {
          title: notes.cut('title', title, maxTitle),
          description: notes.cut('body', body, maxDescription),
          // All of sound, vibration and light, or light alone.
          notify_type: isSilent ? '4' : '-1',
          notify_id: String(numberKey(replacingKey(notification))),
          ...effectFields(intent),
          ...channelFields({ ...notification, title, body }, certificate),
          ...styleFields(notification, credentials),
        }),
  }
}

function effectFields(intent: string | null) {
  if (intent === null) return { 'extra.notify_effect': '1' }
  return { 'extra.notify_effect': '2', 'extra.intent_uri': intent }
}

function styleFields(notification: PushNotification, { packageName }: VendorXCredentials) {
  const { sound } = channelOptions(notification, 'vendor_x')
  const soundUri = sound?.includes('://') ? sound : `android.resource://${packageName}/raw/${sound}`
  return {
    ...(sound && !notification.isSilent ? { 'extra.sound_uri': soundUri } : {}),
    ...(notification.bigText === '' ? {} : { 'extra.notification_style_type': '1' }),
  }
}

/** The vendor makes the texts of a template from the values; a template without values has {}. */
function channelFields(notification: PushNotification, certificate: GatewayCertificate) {
  const channelId = channelOf(notification, certificate)
  if (channelId === '') return {}
  const template = vendorXTemplateOf(notification, certificate)
  if (template === null) return { 'extra.channel_id': channelId }
  const values = filledParameters(template.parameters, notification, maxTemplateValue)
  return {
    'extra.channel_id': channelId,
    'extra.template_id': template.id,
    'extra.template_param': stringifyJson(values),
  }
}

/** Returns the template of a message; null for none. Only private messages have one. */
export function vendorXTemplateOf(
  notification: PushNotification,
  certificate: GatewayCertificate,
): MessageTemplate | null {
  const isPrivate =
    notification.kind !== 'cmd' && vendorXClass(notification, certificate) === 'private'
  return isPrivate ? templateOf(notification, certificate) : null
}

function vendorXReceiptFields(
  { receiptUrl }: GatewayCertificate,
  { receiptTag }: PushNotification,
) {
  if (receiptUrl === undefined) return {}
  return {
    'extra.callback': receiptUrl,
    'extra.callback.param': receiptTag,
    'extra.callback.type': String(wantedReceipts),
  }
}
