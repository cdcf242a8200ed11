/**
 * Addresses of files in the lines of portable exports (decision page 084). Texts have addresses with
 * a host and a signature, which are those of one installation. A line has `hermod:base` in place of
 * the host and `hermod:link:` with the signed values in place of a signed link. A text that has
 * `hermod:` itself has `hermod:text:` instead, so no text of a user becomes an address.
 */
import { downloadAvatar, downloadChatFile } from '@hermod/protocol'
import {
  claimedList,
  payloadOf,
  readSignedList,
  signedPayload,
} from '../lib/secrets/signed-list.js'
import { LineError } from './lines.js'

/** Returns the key that signs the addresses of the files of an application. */
export type LinkKeyOf = (appId: string) => Buffer

const mark = 'hermod:'
/** Includes the forms of the equals sign that encoders of JSON and of addresses write. */
const signedPart = /sign(?:=|%3d|\\+u003d)([\w-]+)/gi
const token = /hermod:(?:(base)|(text:)|link:([\w-]+))?/g
/** An address is found by its signature, and its host is looked for in this many characters. */
const maxHostDistance = 2_048

const slash = String.raw`(?:\\*\/|%2f)`
const paths = [downloadChatFile, downloadAvatar]
  .map(({ path }) => path.replaceAll('/', slash))
  .join('|')
const address = new RegExp(
  String.raw`^(https?:${slash}{2}[^\s"'<>?]*?)(?:${paths})(?:\?|%3f|\\+u003f)[^\s"'<>]*$`,
  'i',
)

/** Returns a text with its valid addresses of files as lines have them. Other ones stay as they are. */
export function exportedText(keyOf: LinkKeyOf, appId: string, text: string): string {
  if (!text.includes(mark) && !text.includes('sign')) return text
  let exported = ''
  let from = 0
  for (const found of text.matchAll(signedPart)) {
    const [matched, link = ''] = found
    const end = found.index + matched.length
    if (linkOf(keyOf, appId, link) === null) continue
    const before = text.slice(from, end - link.length)
    const host = hostIn(before, found.index - from)
    exported += host
      ? `${escaped(before.slice(0, host.start))}${mark}base${escaped(before.slice(host.end))}`
      : escaped(before)
    exported += `${mark}link:${payloadOf(link)}`
    from = end
  }
  return exported + escaped(text.slice(from))
}

/**
 * The opposite of {@link exportedText} for this installation.
 * @param base the address of this installation
 * @throws LineError for an address that no export writes
 */
export function importedText(
  keyOf: LinkKeyOf,
  base: string,
  { appId, text }: { readonly appId: string; readonly text: string },
): string {
  if (!text.includes(mark)) return text
  return text.replace(token, (_, isBase?: string, isText?: string, payload?: string) => {
    if (isBase !== undefined) return base
    if (isText !== undefined) return mark
    if (payload !== undefined) {
      const link = signedPayload(keyOf(appId), payload)
      if (linkOf(keyOf, appId, link) !== null) return link
    }
    throw new LineError(`has a text with ${mark} that is no address of a file of ${appId}`)
  })
}

/** The values of a link: the application, the file, the recipient, the maker and two times. */
const valueTypes = ['string', 'string', 'number', 'number', 'number', 'number', 'number']

/** @returns the values of a link of the application that its key has signed, or null */
function linkOf(keyOf: LinkKeyOf, appId: string, link: string): readonly unknown[] | null {
  const claimed = claimedList(link)
  const isLink =
    claimed?.length === valueTypes.length &&
    claimed[0] === appId &&
    claimed.every((each, at) => typeof each === valueTypes[at])
  return isLink ? readSignedList([keyOf(appId)], link) : null
}

function escaped(text: string): string {
  return text.replaceAll(mark, `${mark}text:`)
}

/** @returns the host of an address whose signature begins at an index, or null */
function hostIn(text: string, signature: number): { start: number; end: number } | null {
  const near = text.slice(Math.max(0, signature - maxHostDistance), signature)
  const start = near.toLowerCase().lastIndexOf('http')
  const host = start < 0 ? undefined : address.exec(near.slice(start))?.[1]
  if (host === undefined) return null
  const at = signature - near.length + start
  return { start: at, end: at + host.length }
}
