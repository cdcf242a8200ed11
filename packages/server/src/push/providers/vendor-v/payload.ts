/** Requests of vendor_v: server API of its push service. */
import type { GatewayCertificate } from '../../certificate.js'
import type { ChannelOptions, PushNotification } from '../../notification.js'
import type { MessageClass, Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import { notificationTooLarge } from '../content/answers.js'
import type { ContentNotes } from '../content/content-notes.js'
import { fit } from '../content/fit.js'
import {
  appData,
  channelOptions,
  filledTexts,
  intentOf,
  numberKey,
  replacingKey,
  shortKey,
  stringValues,
  ttlSeconds,
} from '../content/options.js'
import { jsonRequest } from '../content/requests.js'
import { type PushBatch, sendUrl } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import type { VendorVCredentials } from './credentials.js'

const host = 'https://api-push.vivo.com.cn'
const maxTitle = 40
const maxContent = 100
const maxCustomLength = 1024
const maxSkipLength = 1024
const maxTtlSeconds = 86_400
const minTtlSeconds = { single: 60, list: 900 }
const testMode = 1
const requestIdLength = 32
const systemCategories = ['IM', 'ACCOUNT', 'TODO', 'DEVICE_REMINDER', 'ORDER', 'SUBSCRIPTION']

type VendorVBatch = PushBatch<VendorVCredentials>
type SendForm = keyof typeof minTtlSeconds

/** Returns the address of one of the gateway's calls. */
export function vendorVUrl(certificate: GatewayCertificate, call: string): string {
  return `${sendUrl(certificate, host)}/message/${call}`
}

/** Builds the request for one device. */
export function vendorVSingle(batch: VendorVBatch, target: PushTarget): GatewayRequest | Refusal {
  const message = vendorVMessage(batch, 'single')
  if (message === null) return notificationTooLarge
  return vendorVCall(batch, 'send', { ...message, regId: target.token })
}

/** Builds the request that stores the message for a list of devices. */
export function vendorVStored(batch: VendorVBatch): GatewayRequest | Refusal {
  const message = vendorVMessage(batch, 'list')
  return message === null ? notificationTooLarge : vendorVCall(batch, 'saveListPayload', message)
}

/** Builds the request that sends a stored message to 2 to 1000 devices. */
export function vendorVList(batch: VendorVBatch, taskId: string): GatewayRequest {
  return vendorVCall(batch, 'pushToList', {
    appId: batch.credentials.appId,
    regIds: batch.targets.map(({ token }) => token),
    taskId,
    requestId: requestId(batch),
  })
}

function vendorVCall(
  { certificate, authToken }: VendorVBatch,
  call: string,
  body: unknown,
): GatewayRequest {
  return jsonRequest(vendorVUrl(certificate, call), body, { authtoken: authToken })
}

function vendorVMessage(batch: VendorVBatch, form: SendForm) {
  return fit(batch.notification, (content) => vendorVContent(content, batch, form), {
    sizeOf: ({ clientCustomMap }) => JSON.stringify(clientCustomMap).length,
    maxBytes: maxCustomLength,
    notes: batch.notes,
  })
}

function vendorVContent(notification: PushNotification, batch: VendorVBatch, form: SendForm) {
  const { certificate, credentials, now, notes } = batch
  const { title, body } = filledTexts(notification)
  const options = channelOptions(notification, 'vendor_v')
  const { pushMode = 0 } = options
  const { attachmentUrl, isSilent, badge } = notification
  return {
    appId: credentials.appId,
    // 1: none; 4: sound and vibration.
    notifyType: isSilent ? 1 : 4,
    title: notes.cut('title', title, maxTitle),
    content: notes.cut('body', body, maxContent),
    timeToLive: ttlSeconds(notification, { now, min: minTtlSeconds[form], max: maxTtlSeconds }),
    ...skipFields(options, notes),
    networkType: -1,
    ...vendorVClassFields(options.classification, certificate),
    pushMode,
    requestId: requestId(batch),
    notifyId: numberKey(replacingKey(notification)),
    // The gateway can only add one.
    ...(badge?.mode === 'add' && badge.count > 0 ? { addBadge: true } : {}),
    clientCustomMap: stringValues(appData(notification, { intent: null, attachmentUrl })),
    foregroundShow: true,
    ...(pushMode === testMode ? {} : vendorVReceiptFields(certificate, notification, form)),
  }
}

/** A longer intent would cost the whole push, so that one opens the app. */
function skipFields(options: ChannelOptions, notes: ContentNotes) {
  const intent = intentOf(options)
  if (intent !== null && intent.length <= maxSkipLength) return { skipType: 4, skipContent: intent }
  if (intent !== null) notes.intentLeftOut()
  return { skipType: 1 }
}

/** Class of the message at the vendor. */
export function vendorVClass(
  notification: PushNotification,
  certificate: GatewayCertificate,
): MessageClass {
  const { classification } = channelOptions(notification, 'vendor_v')
  return vendorVClassFields(classification, certificate).classification === 1
    ? 'system'
    : 'operational'
}

/** Always states the class, since the vendor's default has changed; both fields must agree. */
function vendorVClassFields(classification: number | undefined, { category }: GatewayCertificate) {
  const ofCategory = category !== undefined && systemCategories.includes(category) ? 1 : 0
  const said = classification ?? ofCategory
  return {
    classification: said,
    ...(category !== undefined && said === ofCategory ? { category } : {}),
  }
}

/** Differs for other devices and is the same for a repeated try. */
function requestId({ notification, targets }: VendorVBatch): string {
  const tokens = targets.map(({ token }) => token)
  return shortKey(JSON.stringify([notification.deduplicationId, ...tokens]), requestIdLength)
}

/**
 * Names the address of receipts: by its ID in the vendor's console, else the address itself. The
 * vendor supports the address for single sends only, and neither form in test mode.
 */
function vendorVReceiptFields(
  { receiptId, receiptUrl }: GatewayCertificate,
  { receiptTag }: PushNotification,
  form: SendForm,
) {
  if (receiptId !== undefined)
    return { extra: { 'callback.id': receiptId, 'callback.param': receiptTag } }
  if (receiptUrl === undefined || form === 'list') return {}
  return { extra: { callback: receiptUrl, 'callback.param': receiptTag } }
}
