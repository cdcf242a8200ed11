/** Edits of messages by appending and replacing (rule K6). */
import { LosslessNumber, parse, stringify } from 'lossless-json'
import type { JsonObject } from '../../../lib/json.js'
import type { EditedTexts } from '../log/message-store.js'

/** The kind of an edit: it adds to the content or replaces it. */
export type EditKind = 'append' | 'replace'

/** Texts nested deeper than this are replaced and not merged: the parser that keeps numbers exact works by recursion. */
const maxMergeDepth = 500

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
  return base && added ? (stringify(merged(base, added)) as string) : addition || text
}

/** Parses an object and keeps numbers as they were written. @returns null for any other text */
function parseObject(text: string): JsonObject | null {
  if (!/^\s*\{/.test(text)) return null
  try {
    if (isNestedTooDeep(JSON.parse(text))) return null
    return parse(text, undefined, { onDuplicateKey: ({ newValue }) => newValue }) as JsonObject
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function isNestedTooDeep(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth <= maxMergeDepth; depth++) {
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? Object.values(each) : [],
    )
    if (level.length === 0) return false
  }
  return true
}

function merged(base: JsonObject, added: JsonObject): JsonObject {
  const members = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(added)) {
    const known = members.get(key)
    members.set(key, isObject(known) && isObject(value) ? merged(known, value) : value)
  }
  // Unlike an assignment it takes any key, also __proto__.
  return Object.fromEntries(members)
}

function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof LosslessNumber)
  )
}
