import type { PushNotification } from '../../sender.js'
import { cutText, longest } from './text.js'

/** Texts in the order in which they are cut, and how much of each stays at least. */
const shrinkingTexts = [
  { field: 'bigText', keeps: 0 },
  { field: 'body', keeps: 1 },
  { field: 'title', keeps: 1 },
] as const

/**
 * Builds the message, with less content when it is too large: first the texts are cut, then members
 * of `ext` are left out, the last first.
 *
 * @param sizeOf bytes that count against the gateway's limit
 * @returns null when even the least content is too large
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
  // What was left out makes room for the texts again.
  return fit({ ...notification, ext }, build, { sizeOf, maxBytes })
}

/** In code units: a kept character may take two. */
function leastLength(text: string, keeps: number): number {
  return keeps === 0 ? 0 : (String.fromCodePoint(text.codePointAt(0) ?? 0).length ?? keeps)
}

/** As many members as fit, from the first on. */
function fittingMembers(
  ext: Readonly<Record<string, unknown>>,
  fits: (part: Record<string, unknown>) => boolean,
): Record<string, unknown> {
  const members = Object.entries(ext)
  while (members.length > 0 && !fits(Object.fromEntries(members))) members.pop()
  return Object.fromEntries(members)
}
