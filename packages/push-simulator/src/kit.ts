/** Checks that the gateways of vendor_h and vendor_n share; their messages differ in spelling. */
import type { GatewayCall, GatewayReply, GatewayState } from './model.js'
import {
  byteLength,
  hasDuplicates,
  isTextWithin,
  type JsonMembers,
  jsonReply,
  member,
  readForm,
} from './reading.js'

export const maxKitMessageBytes = 4096
export const maxKitTtlSeconds = 1_296_000

/** Names of members that the two vendors spell differently. */
export interface KitNames {
  readonly clickAction: string
  readonly bigTitle: string
  readonly bigBody: string
  /** Empty when the vendor has no icon and no color. */
  readonly look: readonly ('icon' | 'color')[]
  readonly importances: readonly string[]
  readonly addNum: string
  readonly setNum: string
  readonly badgeClass: string
}

/** Codes of invalid messages. */
export interface KitCodes {
  readonly field: number
  readonly size: number
  readonly count: number
  readonly duplicate: number
}

/** Returns the code of an invalid message, or null. */
export function kitProblem(message: JsonMembers, names: KitNames, codes: KitCodes): number | null {
  const { token, ...rest } = message
  if (!Array.isArray(token) || token.length < 1 || token.length > 1000) return codes.count
  if (hasDuplicates(token)) return codes.duplicate
  if (byteLength(rest) > maxKitMessageBytes) return codes.size
  const android = member(message, 'android')
  const ttl = /^(\d+)s$/.exec(String(android.ttl))?.[1]
  if (ttl === undefined || Number(ttl) > maxKitTtlSeconds) return codes.field
  if (!('notification' in android)) return typeof message.data === 'string' ? null : codes.field
  const shown = [member(message, 'notification'), member(android, 'notification')]
  const areImagesSafe = shown.every(({ image }) => image === undefined || isHttps(image))
  return areImagesSafe && isDisplayable(member(android, 'notification'), names) ? null : codes.field
}

export function isHttps(value: unknown): boolean {
  return typeof value === 'string' && /^https:\/\/./i.test(value)
}

function isDisplayable(shown: JsonMembers, names: KitNames): boolean {
  const action = member(shown, names.clickAction)
  const badge = member(shown, 'badge')
  return (
    isTextWithin(shown.title, 1000) &&
    isTextWithin(shown.body, 4000) &&
    [1, 2, 3].includes(Number(action.type)) &&
    (action.type !== 1 || isTextWithin(action.intent, 4096)) &&
    names.importances.includes(String(shown.importance)) &&
    hasLook(shown, names.look) &&
    (shown.style !== 1 ||
      (isTextWithin(shown[names.bigTitle], 1000) && isTextWithin(shown[names.bigBody], 4096))) &&
    (!('badge' in shown) || isBadge(badge, names))
  )
}

const looks = { icon: /^\/raw\/./, color: /^#[0-9a-f]{6}$/i }

function hasLook(shown: JsonMembers, allowed: KitNames['look']): boolean {
  return (['icon', 'color'] as const).every(
    (name) => !(name in shown) || (allowed.includes(name) && looks[name].test(String(shown[name]))),
  )
}

function isBadge(badge: JsonMembers, { addNum, setNum, badgeClass }: KitNames): boolean {
  const inRange = (name: string, min: number) =>
    !(name in badge) || (Number(badge[name]) >= min && Number(badge[name]) <= 99)
  return isTextWithin(badge[badgeClass], 1024) && inRange(addNum, 1) && inRange(setNum, 0)
}

/** The token call of OAuth with a client's ID and secret. */
export function issueForSecret(
  call: GatewayCall,
  state: GatewayState,
  { clientId, secret }: { readonly clientId: string; readonly secret: string },
): GatewayReply {
  const form = readForm(call)
  const isGenuine =
    form.grant_type === 'client_credentials' &&
    form.client_id === clientId &&
    form.client_secret === secret
  if (!isGenuine)
    return jsonReply(400, { error: 'invalid_client', error_description: 'client secret is wrong' })
  return jsonReply(200, {
    access_token: state.access.issue(),
    expires_in: state.access.lifeMs / 1000,
    token_type: 'Bearer',
  })
}
