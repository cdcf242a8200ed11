/** Edits of messages by appending and replacing (rule K6). */
import {
  isJsonObject,
  type JsonObject,
  parseVerbatim,
  stringifyVerbatim,
} from '../../../lib/json.js'
import type { EditedTexts, LoggedMessage } from '../log/message-store.js'

/** The kind of an edit: it adds to the content or replaces it. */
export type EditKind = 'append' | 'replace'

/** The texts of a message after an edit (rule K6). */
export function editedTexts(kind: EditKind, message: EditedTexts, edit: EditedTexts): EditedTexts {
  return {
    content: kind === 'append' ? message.content + edit.content : edit.content || message.content,
    config: mergedText(message.config, edit.config),
    ext: mergedText(message.ext, edit.ext),
  }
}

/** Two JSON objects are merged key by key; otherwise the second text wins unless it is empty. */
export function mergedText(text: string, addition: string): string {
  const [base, added] = [parseObject(text), parseObject(addition)]
  return base && added ? stringifyVerbatim(merged(base, added)) : addition || text
}

/**
 * Parses an object and keeps numbers as they were written.
 * @returns null for any other text, also for JSON beyond the limits
 */
function parseObject(text: string): JsonObject | null {
  if (!/^\s*\{/.test(text)) return null
  try {
    return parseVerbatim(text) as JsonObject
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function merged(base: JsonObject, added: JsonObject): JsonObject {
  const members = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(added)) {
    const known = members.get(key)
    members.set(key, isJsonObject(known) && isJsonObject(value) ? merged(known, value) : value)
  }
  // Unlike an assignment it takes any key, also __proto__.
  return Object.fromEntries(members)
}

/**
 * The instant of an edit. It must be newer than the message and every edit before it (rule K6), also
 * when clocks of nodes differ.
 */
export function editInstant(
  { sentAt, editedAt }: Pick<LoggedMessage, 'sentAt' | 'editedAt'>,
  now: number,
): number {
  return Math.max(now, sentAt + 1, editedAt + 1)
}
