import { parseAddress } from '../lib/address.js'
import { refuse } from './arguments.js'

/** image_type of the contract: a picture that fits into a square. */
const thumbnailType = 2
/** Pixels of the largest thumbnail. */
const maxThumbnail = 1_600
const downloads = '/file/download/'

/** Parts of an address. */
interface FileUrlOptions {
  /** Address of the service. */
  readonly url: string
  readonly appId: string
  /** '': not known yet. */
  readonly token: string
  readonly thumbnail?: number | undefined
}

/**
 * Returns the address of a file, with the credentials that elements of a page cannot send as headers
 * (docs/guides/files.md).
 * @param file a download address of the service, the stored name of an avatar, or an address of
 *   another service, which gets no credentials
 * @returns undefined: there is no file, no token yet, or an address without a host is no download
 */
export function fileUrl(
  file: string,
  { url, appId, token, thumbnail }: FileUrlOptions,
): string | undefined {
  if (typeof file !== 'string') refuse('url', 'a text')
  if (thumbnail !== undefined && !(thumbnail > 0 && thumbnail <= maxThumbnail))
    refuse('thumbnail', `a number of pixels up to ${maxThumbnail}`)
  const download = downloadOf(file)
  if (download === undefined) return parseAddress(file) && encoded(file)
  if (token === '') return undefined
  const [path = '', ...queries] = download.split('?')
  const side = thumbnail === undefined ? undefined : Math.ceil(thumbnail)
  const own = {
    'access-token': token,
    app_id: appId,
    ...(side && { image_type: thumbnailType, w: side, h: side }),
  }
  const others = queries
    .join('?')
    .split('&')
    .filter((each) => each !== '' && !Object.hasOwn(own, nameOf(each)))
  const parameters = Object.entries(own).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  )
  // Other users write addresses into messages, so the token goes to the own service only.
  return encoded(`${url.replace(/\/+$/, '')}${path}?${[...others, ...parameters].join('&')}`)
}

/** Returns path and query of a download; undefined: it is none. */
function downloadOf(file: string): string | undefined {
  if (file === '') return undefined
  const isName = !/^[a-z][a-z0-9+.-]*:|^\//i.test(file)
  if (isName) return `${downloads}avatar?object_name=${encodeURIComponent(file)}`
  const rest = file.startsWith('//') ? `http:${file}` : file
  const address = parseAddress(rest.startsWith('/') ? `http://none.invalid${rest}` : rest)
  const start = address?.path.indexOf(downloads) ?? -1
  return address && start >= 0 ? address.path.slice(start) + address.query : undefined
}

/** Returns the name of a parameter. */
function nameOf(parameter: string): string {
  const [name = ''] = parameter.split('=')
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Escapes what an address may not have. */
function encoded(address: string): string | undefined {
  try {
    return address.replace(/[^\x21-\x7e]+|["'<>^`{|}]+/g, encodeURIComponent)
  } catch {
    return undefined
  }
}
