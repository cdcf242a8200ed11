import { firstGrapheme } from '../../../lib/cut-text.js'
import type { PushNotification } from '../../notification.js'
import type { ContentNotes } from './content-notes.js'
import { longest } from './text.js'

/** Texts in the order in which they are shortened; some keep at least their first character. */
const shrinkingTexts = [
  { field: 'bigText', name: 'big_text', keepsFirst: false },
  { field: 'body', name: 'body', keepsFirst: true },
  { field: 'title', name: 'title', keepsFirst: true },
] as const

/** Limit of a gateway. */
export interface SizeLimit<Message> {
  /** Bytes that count against the limit. */
  readonly sizeOf: (message: Message) => number
  readonly maxBytes: number
  /** Notes what the message lacks. */
  readonly notes: ContentNotes
}

/**
 * Builds the message. Reduces its content when it is too large: shortens the texts first, then
 * removes members of `ext` from the last on.
 *
 * @returns null when even the minimum is too large
 */
export function fit<Message>(
  notification: PushNotification,
  build: (content: PushNotification) => Message,
  limit: SizeLimit<Message>,
): Message | null {
  const content = fittingContent(
    notification,
    (part) => limit.sizeOf(build(part)) <= limit.maxBytes,
  )
  if (content === null) return null
  noteChanges(limit.notes, notification, content)
  return build(content)
}

function noteChanges(notes: ContentNotes, before: PushNotification, after: PushNotification): void {
  for (const member of Object.keys(before.ext ?? {}))
    if (!Object.hasOwn(after.ext ?? {}, member)) notes.leftOut(member)
  for (const { field, name } of shrinkingTexts)
    if (after[field] !== before[field]) notes.shortened(name)
}

function fittingContent(
  notification: PushNotification,
  fits: (content: PushNotification) => boolean,
): PushNotification | null {
  if (fits(notification)) return notification
  let content = notification
  for (const { field, keepsFirst } of shrinkingTexts) {
    const text = longest(content[field], (part) => fits({ ...content, [field]: part }))
    const least = keepsFirst ? firstGrapheme(content[field]) : ''
    content = { ...content, [field]: text.length >= least.length ? text : least }
    if (fits(content)) return content
  }
  const shortest = content
  const ext = fittingMembers(shortest.ext ?? {}, (part) => fits({ ...shortest, ext: part }))
  if (!fits({ ...shortest, ext })) return null
  // The removed members make room for the texts again.
  return fittingContent({ ...notification, ext }, fits)
}

/** Returns the longest prefix of the members that fits. */
function fittingMembers(
  ext: Readonly<Record<string, unknown>>,
  fits: (part: Record<string, unknown>) => boolean,
): Record<string, unknown> {
  const members = Object.entries(ext)
  while (members.length > 0 && !fits(Object.fromEntries(members))) members.pop()
  return Object.fromEntries(members)
}
