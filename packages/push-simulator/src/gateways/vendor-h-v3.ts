/** Checks of messages of version 3 of vendor_h. */
import { isHttps, maxKitMessageBytes, maxKitTtlSeconds } from '../kit.js'
import { byteLength, hasDuplicates, isTextWithin, type JsonMembers, member } from '../reading.js'

const codes = { field: '80100003', size: '80300008', count: '80300010', testCount: '80300030' }

/** Members that the vendor's documents name. */
const known = {
  notification: [
    'category',
    'title',
    'body',
    'image',
    'style',
    'inboxContent',
    'notifyId',
    'appMessageId',
    'profileId',
    'clickAction',
    'badge',
    'sound',
    'soundDuration',
    'foregroundShow',
  ],
  clickAction: ['actionType', 'action', 'uri', 'data'],
  badge: ['addNum', 'setNum'],
  pushOptions: ['testMessage', 'ttl', 'biTag', 'receiptId', 'collapseKey', 'backgroundMode'],
  background: ['extraData', 'proxyData'],
}

/** Returns the code of an invalid message, or null. */
export function messageProblemV3(body: JsonMembers, pushType: string | undefined): string | null {
  const { target: _, ...rest } = body
  const { token } = member(body, 'target')
  const payload = member(body, 'payload')
  const options = member(body, 'pushOptions')
  if (!Array.isArray(token) || token.length < 1 || token.length > 1000) return codes.count
  if (options.testMessage === true && token.length > 10) return codes.testCount
  if (hasDuplicates(token) || !isOptions(options)) return codes.field
  if (byteLength(rest) > maxKitMessageBytes) return codes.size
  if (pushType === '0') return isAlert(member(payload, 'notification')) ? null : codes.field
  const isBackground =
    pushType === '6' && hasOnly(payload, known.background) && isTextWithin(payload.extraData, 4096)
  return isBackground ? null : codes.field
}

function hasOnly(value: JsonMembers, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name))
}

/** Tests for an absent member, or an integer in the range. */
function isWithin(value: unknown, least: number, most: number): boolean {
  if (value === undefined) return true
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most
}

function isOptions(options: JsonMembers): boolean {
  const { testMessage = false, ttl, biTag = '', receiptId = '', collapseKey } = options
  return (
    hasOnly(options, known.pushOptions) &&
    typeof testMessage === 'boolean' &&
    isWithin(ttl, 1, maxKitTtlSeconds) &&
    typeof biTag === 'string' &&
    typeof receiptId === 'string' &&
    isWithin(collapseKey, -1, 100)
  )
}

function isAlert(shown: JsonMembers): boolean {
  const { category, title, body, image, notifyId, foregroundShow = true, sound = 'x' } = shown
  const badge = member(shown, 'badge')
  return (
    hasOnly(shown, known.notification) &&
    isTextWithin(category, 64) &&
    isTextWithin(title, 1000) &&
    isTextWithin(body, 4000) &&
    (image === undefined || isHttps(image)) &&
    isWithin(notifyId, 0, 2_147_483_647) &&
    typeof foregroundShow === 'boolean' &&
    isTextWithin(sound, 256) &&
    !('sound' in shown && category === 'MARKETING') &&
    hasOnly(badge, known.badge) &&
    isWithin(badge.addNum, 1, 99) &&
    isWithin(badge.setNum, 0, 99) &&
    isAction(member(shown, 'clickAction'))
  )
}

function isAction(action: JsonMembers): boolean {
  const { actionType, action: name = '', uri = '', data = {} } = action
  return (
    hasOnly(action, known.clickAction) &&
    (actionType === 0 || (actionType === 1 && `${name}${uri}` !== '')) &&
    typeof data === 'object'
  )
}
