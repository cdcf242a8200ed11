/** Messages of version 3 of vendor_h ("Request parameters" of its scenario messages). */
import { stringifyJson } from '../../../lib/json.js'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import { kitTtlSeconds, maxKitBadge, secureImage } from '../content/kit-message.js'
import {
  actionOfIntent,
  appData,
  channelOptions,
  filledTexts,
  intentOf,
  longBody,
  numberKey,
  replacingKey,
} from '../content/options.js'

/** The class of messages of apps without an approved one. The vendor gives it no sounds. */
const advertising = 'MARKETING'

/** Value of the header `push-type`: a notification, or a message that only the app sees. */
export function scenarioOf({ kind }: PushNotification): '0' | '6' {
  return kind === 'cmd' ? '6' : '0'
}

/** Returns the message without the tokens. */
export function messageV3(
  notification: PushNotification,
  certificate: GatewayCertificate,
  now: number,
) {
  const { receiptId, environment } = certificate
  const image = secureImage(notification)
  const data = appData(notification, {
    intent: intentOf(channelOptions(notification, 'vendor_h')),
    attachmentUrl: image === null ? notification.attachmentUrl : '',
  })
  return {
    payload:
      notification.kind === 'cmd'
        ? { extraData: stringifyJson(data) }
        : { notification: notificationV3(notification, certificate, data) },
    pushOptions: {
      testMessage: environment === 'development',
      ttl: kitTtlSeconds(notification, now),
      biTag: notification.receiptTag,
      // Keeps all messages that wait for the device; notifyId replaces them there.
      collapseKey: -1,
      ...(receiptId ? { receiptId } : {}),
    },
  }
}

function notificationV3(
  notification: PushNotification,
  { category = advertising }: GatewayCertificate,
  data: Readonly<Record<string, unknown>>,
) {
  const options = channelOptions(notification, 'vendor_h')
  const image = secureImage(notification)
  const { title, body } = filledTexts({ ...notification, body: longBody(notification) })
  const { badge, isSilent } = notification
  return {
    category,
    title,
    body,
    ...(image === null ? {} : { image }),
    clickAction: { ...pageToOpen(intentOf(options)), data },
    ...(badge === null ? {} : badgeOf(badge)),
    notifyId: numberKey(replacingKey(notification)),
    ...(options.sound && !isSilent && category !== advertising ? { sound: options.sound } : {}),
    foregroundShow: true,
  }
}

/** Apps declare their pages by an action or a URI. An Android intent has only an action for them. */
function pageToOpen(intent: string | null) {
  if (intent === null) return { actionType: 0 }
  if (!intent.startsWith('intent:')) return { actionType: 1, uri: intent }
  const action = actionOfIntent(intent)
  return action === undefined ? { actionType: 0 } : { actionType: 1, action }
}

function badgeOf({ mode, count }: NonNullable<PushNotification['badge']>) {
  const number = Math.min(count, maxKitBadge)
  if (mode === 'set') return { badge: { setNum: number } }
  return number === 0 ? {} : { badge: { addNum: number } }
}
