/** What becomes of a message that is appended to or replaced (document 3, part 2.6). */
import type { EditedTexts } from '../log/message-store.js'

export type EditKind = 'append' | 'replace'

/** Objects nested deeper than this are replaced and not merged. */
const maxMergeDepth = 64

export function editedTexts(kind: EditKind, message: EditedTexts, edit: EditedTexts): EditedTexts {
  return {
    content: kind === 'append' ? message.content + edit.content : edit.content || message.content,
    config: mergedText(message.config, edit.config),
    ext: mergedText(message.ext, edit.ext),
  }
}

/** Two JSON objects are merged key by key; of any other texts the second one counts unless it is empty. */
export function mergedText(text: string, addition: string): string {
  return isObject(text) && isObject(addition) ? mergedObject(text, addition, 1) : addition || text
}

function isObject(text: string): boolean {
  if (!/^\s*\{/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Works on the texts, so that numbers and keys of any kind stay as they were written. */
function mergedObject(text: string, addition: string, depth: number): string {
  const members = membersOf(text)
  for (const [key, { name, value }] of membersOf(addition)) {
    const known = members.get(key)?.value
    const mayMerge = known?.startsWith('{') && value.startsWith('{') && depth < maxMergeDepth
    members.set(key, {
      name,
      value: mayMerge ? mergedObject(known as string, value, depth + 1) : value,
    })
  }
  return `{${[...members.values()].map(({ name, value }) => `${name}:${value}`).join(',')}}`
}

interface Member {
  /** As it is written, with quotes and escapes. */
  readonly name: string
  readonly value: string
}

/** The members of a JSON object by their keys; the last one of a key counts, as with JSON.parse. */
function membersOf(object: string): Map<string, Member> {
  const members = new Map<string, Member>()
  let depth = 0
  let name = ''
  let valueAt = 0
  for (const { 0: token, index } of object.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g)) {
    if (token === '{' || token === '[') depth++
    const isOutermost = depth === 1
    if (token === '}' || token === ']') depth--
    if (!isOutermost) continue
    if (token.startsWith('"') && valueAt === 0) name = token
    else if (token === ':') valueAt = index + 1
    else if (valueAt > 0 && (token === ',' || token === '}')) {
      members.set(JSON.parse(name) as string, { name, value: object.slice(valueAt, index).trim() })
      valueAt = 0
    }
  }
  return members
}
