/** Requests of vendor_o: single pushes through its server API, alone or in batches. */
import { type MessageTemplate, vendorNotifyLevel } from '@hermod/protocol'
import { stringifyJson } from '../../../lib/json.js'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import type { Refusal } from '../../outcomes.js'
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
  shortKey,
  ttlSeconds,
} from '../content/options.js'
import { formRequest } from '../content/requests.js'
import { filledParameters, templateOf } from '../templates/template.js'
import type { PushBatch } from '../runtime/protocol.js'
import type { GatewayRequest } from '../runtime/transport.js'
import type { VendorOCredentials } from './credentials.js'
import { regionUrl } from './region.js'

const maxTitle = 50
const maxContent = { standard: 50, long: 128 }
const maxParametersLength = 4000
/** For a longer one the start of the app opens, and the app gets the intent in its data. */
const maxIntentLength = 2000
const maxTtlSeconds = 864_000
const messageIdLength = 32

/** Builds the request for one device, or for up to 1000 devices of one region. */
export function vendorORequest(batch: PushBatch<VendorOCredentials>): GatewayRequest | Refusal {
  const { certificate, targets, part, authToken } = batch
  const messages = targets.map((target) => vendorOMessage(batch, target))
  if (messages.some((message) => message === null)) return notificationTooLarge
  const path = `${regionUrl(certificate, part)}/server/v1/message/notification`
  const fields = { auth_token: authToken }
  return messages.length === 1
    ? formRequest(`${path}/unicast`, { ...fields, message: stringifyJson(messages[0]) })
    : formRequest(`${path}/unicast_batch`, { ...fields, messages: stringifyJson(messages) })
}

function vendorOMessage(batch: PushBatch<VendorOCredentials>, target: PushTarget) {
  const notification = fit(
    batch.notification,
    (content) => vendorONotification(content, batch, target),
    {
      sizeOf: ({ action_parameters }) => action_parameters.length,
      maxBytes: maxParametersLength,
      notes: batch.notes,
    },
  )
  return (
    notification && {
      target_type: 2,
      target_value: target.token,
      verify_registration_id: false,
      notification,
    }
  )
}

function vendorONotification(
  notification: PushNotification,
  { certificate, now, notes }: PushBatch<VendorOCredentials>,
  target: PushTarget,
) {
  const { deduplicationId, collapseKey, attachmentUrl } = notification
  const { channelId, ...options } = channelOptions(notification, 'vendor_o')
  const intent = intentOf(options)
  const isOpened = intent !== null && intent.length <= maxIntentLength
  return {
    app_message_id: shortKey(deduplicationId, messageIdLength),
    ...vendorOTexts(notification, notes),
    ...(isOpened ? { click_action_type: 5, click_action_url: intent } : { click_action_type: 0 }),
    action_parameters: stringifyJson(
      appData(notification, { attachmentUrl, intent: isOpened ? null : intent }),
    ),
    off_line: true,
    off_line_ttl: ttlSeconds(notification, { now, max: maxTtlSeconds }),
    show_time_type: 0,
    ...(channelId ? { channel_id: channelId } : {}),
    ...vendorOClass(notification, certificate),
    ...vendorOTemplate(notification, certificate),
    ...(collapseKey === null ? {} : { notify_id: numberKey(collapseKey) }),
    ...vendorOBadge(notification, target),
    ...vendorOReceiptFields(certificate, notification),
  }
}

function vendorOTexts(notification: PushNotification, notes: ContentNotes) {
  const { bigText } = notification
  const { title, body } = filledTexts(notification)
  return {
    style: bigText === '' ? 1 : 2,
    title: notes.cut('title', title, maxTitle),
    content:
      bigText === ''
        ? notes.cut('body', body, maxContent.standard)
        : notes.cut('big_text', bigText, maxContent.long),
  }
}

function vendorOClass(notification: PushNotification, certificate: GatewayCertificate) {
  const category = categoryOf(notification, certificate)
  const { notifyLevel = vendorNotifyLevel.banner } = certificate
  return category === undefined ? {} : { category, notify_level: notifyLevel }
}

/** The vendor takes a template with its own category only. */
function categoryOf(notification: PushNotification, certificate: GatewayCertificate) {
  return templateOf(notification, certificate)?.category ?? certificate.category
}

/**
 * The vendor fills the texts of the template. It refuses parameters of a text without placeholders,
 * even {}, so there are none without values.
 */
function vendorOTemplate(notification: PushNotification, certificate: GatewayCertificate) {
  const template = vendorOTemplateOf(notification, certificate)
  if (template === null) return {}
  const { bigText } = notification
  const maxBody = bigText === '' ? maxContent.standard : maxContent.long
  const { title, body } = filledTexts(notification)
  const content = { ...notification, title, body: bigText || body }
  const titleValues = filledParameters(template.title_parameters, content, maxTitle)
  const contentValues = filledParameters(template.content_parameters, content, maxBody)
  return {
    private_msg_template_id: template.id,
    ...(hasMembers(titleValues) && { private_title_parameters: stringifyJson(titleValues) }),
    ...(hasMembers(contentValues) && { private_content_parameters: stringifyJson(contentValues) }),
  }
}

/** Returns the template of a message; null for none. Only messages with a category have one. */
export function vendorOTemplateOf(
  notification: PushNotification,
  certificate: GatewayCertificate,
): MessageTemplate | null {
  const isPrivate = categoryOf(notification, certificate) !== undefined
  return isPrivate ? templateOf(notification, certificate) : null
}

function hasMembers(values: Readonly<Record<string, string>>): boolean {
  return Object.keys(values).length > 0
}

/** 0 sets a number, 1 adds one. A larger increment becomes an absolute number of our counter. */
function vendorOBadge({ badge }: PushNotification, { badgeCount }: PushTarget) {
  if (badge === null) return {}
  if (badge.mode === 'set') return { badge_operation_type: 0, badge_message_count: badge.count }
  if (badge.count === 1) return { badge_operation_type: 1, badge_message_count: 1 }
  return badgeCount === null ? {} : { badge_operation_type: 0, badge_message_count: badgeCount }
}

function vendorOReceiptFields(
  { receiptUrl }: GatewayCertificate,
  { receiptTag }: PushNotification,
) {
  if (receiptUrl === undefined) return {}
  return { call_back_url: receiptUrl, call_back_parameter: receiptTag }
}
