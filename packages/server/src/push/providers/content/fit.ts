import type { PushNotification } from '../../sender.js'
import type { ContentNotes } from './content-notes.js'
import { cutText, longest } from './text.js'

/**
 * Texts in the order in which they are shortened, with the minimum number of characters to keep.
 */
const shrinkingTexts = [
  { field: 'bigText', name: 'big_text', keeps: 0 },
  { field: 'body', name: 'body', keeps: 1 },
  { field: 'title', name: 'title', keeps: 1 },
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
  for (const { field, keeps } of shrinkingTexts) {
    const text = longest(content[field], (part) => fits({ ...content, [field]: part }))
    const least = cutText(content[field], leastLength(content[field], keeps))
    content = { ...content, [field]: text.length >= least.length ? text : least }
    if (fits(content)) return content
  }
  const shortest = content
  const ext = fittingMembers(shortest.ext ?? {}, (part) => fits({ ...shortest, ext: part }))
  if (!fits({ ...shortest, ext })) return null
  // The removed members make room for the texts again.
  return fittingContent({ ...notification, ext }, fits)
}

/** Minimum length in code units; one character may take two. */
function leastLength(text: string, keeps: number): number {
  return keeps === 0 ? 0 : (String.fromCodePoint(text.codePointAt(0) ?? 0).length ?? keeps)
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
