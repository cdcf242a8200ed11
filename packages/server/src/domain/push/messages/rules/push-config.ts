import { idsOf } from '../../../../lib/ids/int64.js'
import { type JsonObject, parseJson, scalarText } from '../../../../lib/json.js'
import { badgeChange } from '../../../../push/badge.js'
import type { BadgeChange } from '../../../../push/notification.js'
import type { Mentions } from '../../content/pushed-message.js'

/** The options of a push in the `config` of a message (rule K7); texts are "" when they are not set. */
export interface PushConfig {
  readonly mentions: Mentions
  /** For those who are mentioned. */
  readonly mentionedMessage: string
  readonly pushMessage: string
  readonly pushTitle: string
  readonly senderNickname: string
  /** For the app, which has the text of the push in its own languages. */
  readonly locKey: string
  readonly locArgs: readonly string[]
  readonly isSilent: boolean
  readonly badge: BadgeChange
}

const addsOne: BadgeChange = { mode: 'add', count: 1 }

const nothing: PushConfig = {
  mentions: [],
  mentionedMessage: '',
  pushMessage: '',
  pushTitle: '',
  senderNickname: '',
  locKey: '',
  locArgs: [],
  isSilent: false,
  badge: addsOne,
}

/** The change of the badge, in the form of the field `badge` of /push/notify. */
const badgeText = /^\+?\d{1,9}$/

/** @param config JSON text; what has not the documented form means nothing */
export function pushConfigOf(config: string): PushConfig {
  const members = configObject(config)
  if (members === null) return nothing
  const badge = scalarText(members.pushBadge)
  return {
    mentions: members.mentionAll === true ? 'all' : [...new Set(idsOf(members.mentionList))],
    mentionedMessage: textOrEmpty(members.mentionedMessage),
    pushMessage: textOrEmpty(members.pushMessage),
    pushTitle: textOrEmpty(members.pushTitle),
    senderNickname: textOrEmpty(members.senderNickname),
    locKey: textOrEmpty(members.pushMessageLocKey),
    locArgs: textListOf(members.pushMessageLocArgs),
    isSilent: members.pushSilent === true,
    badge: badgeText.test(badge) ? badgeChange(badge) : addsOne,
  }
}

function configObject(json: string): JsonObject | null {
  if (!json.startsWith('{') && !json.trimStart().startsWith('{')) return null
  try {
    return parseJson(json) as JsonObject
  } catch {
    return null
  }
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function textListOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(scalarText)
  return typeof value === 'string' && value !== '' ? [value] : []
}
