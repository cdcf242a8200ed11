/** Texts of another system in the forms that the service takes. */
import { createHash } from 'node:crypto'

// biome-ignore lint/suspicious/noControlCharactersInRegex: no database stores this one
const nul = /\u0000/g
const lineBreaks = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
/** Embeddings, overrides and isolates of text direction, and their ends. */
const directions = /[\u202a-\u202e\u2066-\u2069]/g
const unseen = /[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/gu
const plainUsername = /^(?=.*[a-z_])[a-z0-9_]{1,64}$/
const maxStemLength = 40
const hashLength = 16
const maxAvatarLength = 2048
const address = /^https?:\/\/[^\p{Cc}\s\\]+$/iu
const parentPart = /(^|\/)\.\.([/?#]|$)/

/** Replaces what no database stores: U+0000 and halves of surrogate pairs. */
export function storable(text: string): string {
  return text.replace(nul, '\ufffd').toWellFormed()
}

/** Returns a name as others may see it: one line without changes of direction; '' for an invisible one. */
export function visibleName(name: string, maxLength: number): string {
  const line = storable(name).replace(lineBreaks, ' ').replace(directions, '').trim()
  if (line.replace(unseen, '') === '') return ''
  return [...line].slice(0, maxLength).join('').trim()
}

/** Returns the address of a picture, or '' for a text that is none. */
export function avatarOf(url: string): string {
  const isAddress = address.test(url) && url.isWellFormed() && !parentPart.test(url)
  return isAddress && [...url].length <= maxAvatarLength ? url : ''
}

/**
 * Returns the username for an ID of another system: the ID itself where it is one, in small letters;
 * otherwise its letters and a hash of it, so that two IDs never share a username.
 */
export function usernameOf(id: string): string {
  if (plainUsername.test(id)) return id
  const stem = id
    .replace(/[^A-Za-z0-9_]+/g, '_')
    .slice(0, maxStemLength)
    .toLowerCase()
  const hash = createHash('sha256').update(id).digest('hex').slice(0, hashLength)
  return `${stem === '' ? 'user' : stem}_${hash}`
}

const emoji: ReadonlyMap<string, string> = new Map([
  ['like', '👍'],
  ['love', '❤️'],
  ['haha', '😂'],
  ['wow', '😮'],
  ['sad', '😢'],
  ['angry', '😠'],
])
const maxKeyBytes = 64

/** Returns the key of a reaction; null for a type that is none. */
export function reactionKeyOf(type: string): string | null {
  const key = emoji.get(type) ?? type
  const isKey = key !== '' && key.isWellFormed() && !/\p{Cc}/u.test(key)
  return isKey && Buffer.byteLength(key) <= maxKeyBytes ? key : null
}
