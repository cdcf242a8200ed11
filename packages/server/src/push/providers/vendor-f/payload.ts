/** Requests of vendor_f: pushes by pushId through its server API. */
import { stringifyJson } from '../../../lib/json.js'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import type { Refusal } from '../../outcomes.js'
import { notificationTooLarge } from '../content/answers.js'
import { fit } from '../content/fit.js'
import {
  appData,
  channelOptions,
  filledTexts,
  intentOf,
  longBody,
  replacingKey,
  shortKey,
  stringValues,
  ttlSeconds,
} from '../content/options.js'
import { formRequest } from '../content/requests.js'
import { cutText } from '../../../lib/cut-text.js'
import { type PushBatch, sendUrl } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import type { VendorFCredentials } from './credentials.js'
import { vendorFSign } from './sign.js'

const host = 'https://server-api-push.meizu.com'
const maxTitle = 32
const maxContent = 100
const maxPassThroughBytes = 2000
const maxValidHours = 72
const notifyKeyLength = 8
/** Delivered and clicked. */
const wantedReceipts = '3'

/** Builds the request for up to 100 devices. */
export function vendorFRequest(batch: PushBatch<VendorFCredentials>): GatewayRequest | Refusal {
  const { credentials, certificate, notification, targets } = batch
  const isData = notification.kind === 'cmd'
  const message = isData ? passThrough(batch) : displayed(batch)
  if (message === null) return notificationTooLarge
  const fields = {
    appId: credentials.appId,
    pushIds: targets.map(({ token }) => token).join(','),
    messageJson: stringifyJson(message),
  }
  const kind = isData ? 'unvarnished' : 'varnished'
  return formRequest(`${sendUrl(certificate, host)}/garcia/api/server/push/${kind}/pushByPushId`, {
    ...fields,
    sign: vendorFSign(fields, credentials.secret),
  })
}

/** Receipts are documented for notifications only, so a command names no address for them. */
function passThrough({ notification, now, notes }: PushBatch<VendorFCredentials>) {
  const content = fit(notification, (part) => stringifyJson(vendorFData(part)), {
    sizeOf: Buffer.byteLength,
    maxBytes: maxPassThroughBytes,
    notes,
  })
  if (content === null) return null
  const title = cutText(notification.title || notification.taskId, maxTitle)
  return { title, content, pushTimeInfo: pushTime(notification, now) }
}

function displayed({ certificate, notification, now, notes }: PushBatch<VendorFCredentials>) {
  const { bigText, isSilent } = notification
  const { title, body } = filledTexts(notification)
  const isOn = isSilent ? 0 : 1
  return {
    noticeBarInfo: {
      noticeMsgType: certificate.category === undefined ? 0 : 1,
      noticeBarType: 0,
      title: notes.cut('title', title, maxTitle),
      content: notes.cut('body', body, maxContent),
    },
    ...(bigText === ''
      ? {}
      : {
          noticeExpandInfo: { noticeExpandType: 1, noticeExpandContent: longBody(notification) },
        }),
    clickTypeInfo: clickType(notification),
    advanceInfo: {
      notificationType: { vibrate: isOn, lights: 1, sound: isOn },
      notifyKey: shortKey(replacingKey(notification), notifyKeyLength),
    },
    pushTimeInfo: pushTime(notification, now),
    ...receiptFields(certificate, notification),
  }
}

function vendorFData(notification: PushNotification) {
  const intent = intentOf(channelOptions(notification, 'vendor_f'))
  return appData(notification, { intent, attachmentUrl: notification.attachmentUrl })
}

/** An intent with a component names an activity; any other intent is opened unchanged. */
function clickType(notification: PushNotification) {
  const intent = intentOf(channelOptions(notification, 'vendor_f'))
  const parameters = stringValues(vendorFData(notification))
  if (intent === null) return { clickType: 0, parameters }
  const activity = componentClass(intent)
  return activity === null
    ? { clickType: 2, url: intent, parameters }
    : { clickType: 1, activity, parameters: { ...stringExtras(intent), ...parameters } }
}

/**
 * Returns the class of `component=package/class`. A class that begins with a dot is in the package.
 */
function componentClass(intent: string): string | null {
  const [, packageName = '', className = ''] = /[;#]component=([^;/]+)\/([^;]+)/.exec(intent) ?? []
  if (className === '') return null
  return className.startsWith('.') ? packageName + className : className
}

/** Returns the `S.name=value` extras of an intent. */
function stringExtras(intent: string): Record<string, string> {
  const extras = [...intent.matchAll(/;S\.([^=;]+)=([^;]*)/g)]
  return Object.fromEntries(extras.map(([, name = '', value = '']) => [name, decodeUriText(value)]))
}

function decodeUriText(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

function pushTime(notification: PushNotification, now: number) {
  const seconds = ttlSeconds(notification, { now, max: maxValidHours * 3600 })
  return { offLine: 1, validTime: Math.max(1, Math.floor(seconds / 3600)) }
}

function receiptFields({ receiptUrl }: GatewayCertificate, { receiptTag }: PushNotification) {
  if (receiptUrl === undefined) return {}
  const extra = {
    callback: receiptUrl,
    'callback.param': receiptTag,
    'callback.type': wantedReceipts,
  }
  return { extra }
}
