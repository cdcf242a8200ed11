import type { PushNotification } from '../../sender.js'
import { cutText, longest } from './text.js'

/**
 * Texts in the order in which they are shortened, with the minimum number of characters to keep.
 */
const shrinkingTexts = [
  { field: 'bigText', keeps: 0 },
  { field: 'body', keeps: 1 },
  { field: 'title', keeps: 1 },
] as const

/**
 * Builds the message. Reduces its content when it is too large: shortens the texts first, then
 * removes members of `ext` from the last on.
 *
 * @param sizeOf bytes that count against the gateway's limit
 * @returns null when even the minimum is too large
 */
export function fit<Message>(
  notification: PushNotification,
  build: (content: PushNotification) => Message,
  { sizeOf, maxBytes }: { sizeOf: (message: Message) => number; maxBytes: number },
): Message | null {
  const fits = (content: PushNotification) => sizeOf(build(content)) <= maxBytes
  if (fits(notification)) return build(notification)
  let content = notification
  for (const { field, keeps } of shrinkingTexts) {
    const text = longest(content[field], (part) => fits({ ...content, [field]: part }))
    const least = cutText(content[field], leastLength(content[field], keeps))
    content = { ...content, [field]: text.length >= least.length ? text : least }
    if (fits(content)) return build(content)
  }
  const shortest = content
  const ext = fittingMembers(shortest.ext ?? {}, (part) => fits({ ...shortest, ext: part }))
  if (!fits({ ...shortest, ext })) return null
  // The removed members make room for the texts again.
  return fit({ ...notification, ext }, build, { sizeOf, maxBytes })
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
