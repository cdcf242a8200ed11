/** The texts of messages of Stream. */
import { isJsonObject, type JsonObject, scalarText, stringifyJson } from '../../lib/json.js'
import type { StreamValues } from './stream-items.js'
import { storable } from './stream-texts.js'

/** The texts of a message here, and what was left out of them. */
export interface MadeContent {
  readonly content: string
  readonly ext: string
  readonly notes: readonly string[]
}

/**
 * The bytes of a message for which a body of 1 MiB has room when all are escaped in JSON, with its
 * reactions.
 */
const mostBytes = 131_072
/** Members of an attachment that say what it is and where. */
const attachmentMembers = [
  ...['type', 'title', 'text', 'fallback', 'image_url', 'asset_url', 'thumb_url', 'og_scrape_url'],
  ...['title_link', 'author_name', 'mime_type', 'file_size', 'original_width', 'original_height'],
]
const addressMembers = ['asset_url', 'image_url', 'og_scrape_url', 'title_link', 'thumb_url']

/** The most bytes that one of the mentions takes in `config`: an ID of 64 bits with a comma. */
const mentionBytes = 20
const configBytes = '{"mentionList":[]}'.length

interface Given {
  readonly custom: JsonObject
  /** The number of them, which `config` needs room for. */
  readonly mentions: number
  /** The greatest size of a message. */
  readonly maxMessageBytes: number
}

/** Makes content and ext: addresses and custom fields are in ext, below `stream`. */
export function contentOf(
  { text = '', attachments = [] }: Pick<StreamValues<'message'>, 'text' | 'attachments'>,
  { custom, mentions, maxMessageBytes }: Given,
): MadeContent | { readonly leftOut: string } | { readonly fault: string } {
  const kept = attachments.map(keptOf).filter((each) => Object.keys(each).length > 0)
  const written = storable(text)
  const content = written === '' ? kept.map(addressOf).filter(Boolean).join('\n') : written
  if (content === '') return { leftOut: 'a message without a text and without an address' }
  const config = mentions === 0 ? 0 : configBytes + mentions * mentionBytes
  const maxBytes = Math.min(maxMessageBytes, mostBytes) - config
  if (maxBytes < 0) return { fault: `its ${mentions} mentions are too many for a message` }
  const room = maxBytes - Buffer.byteLength(content)
  if (room < 0) return { fault: `text is longer than ${maxBytes} bytes` }
  const parts = [
    ...(kept.length > 0 ? [{ name: 'attachments', value: kept as unknown }] : []),
    ...(Object.keys(custom).length > 0 ? [{ name: 'custom', value: custom as unknown }] : []),
  ]
  const { ext, dropped } = extOf(parts, room)
  return {
    content,
    ext,
    notes: [
      ...(written === text ? [] : ['U+0000 or half a character in a text is replaced']),
      ...(kept.length > 0 ? ['attachments are kept as addresses; their files are not copied'] : []),
      ...dropped.map((name) => `${name} of a message are too large: left out`),
    ],
  }
}

/** Returns the members of an attachment that are kept. */
function keptOf(attachment: JsonObject): JsonObject {
  const members = attachmentMembers.flatMap((name) => {
    const value = Object.hasOwn(attachment, name) ? scalarText(attachment[name]) : ''
    return value === '' ? [] : [[name, storable(value)] as const]
  })
  return Object.fromEntries(members)
}

function addressOf(attachment: JsonObject): string {
  return addressMembers.map((name) => scalarText(attachment[name])).find(Boolean) ?? ''
}

/** Returns the parts as one text that fits; those that do not fit are dropped, the last ones first. */
function extOf(
  parts: readonly { readonly name: string; readonly value: unknown }[],
  room: number,
): { readonly ext: string; readonly dropped: readonly string[] } {
  for (let count = parts.length; count > 0; count--) {
    const kept = parts.slice(0, count).map(({ name, value }) => [name, storableValue(value)])
    const ext = stringifyJson({ stream: Object.fromEntries(kept) })
    if (Buffer.byteLength(ext) <= room)
      return { ext, dropped: parts.slice(count).map(({ name }) => name) }
  }
  return { ext: '', dropped: parts.map(({ name }) => name) }
}

function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (Array.isArray(value)) return value.map(storableValue)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [storable(name), storableValue(member)]),
  )
}
