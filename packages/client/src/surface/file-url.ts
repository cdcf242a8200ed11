import { parseUrl, refuse } from './arguments.js'

/** image_type of the contract: a picture that fits into a square. */
const thumbnailType = 2
/** Pixels of the largest thumbnail. */
const maxThumbnail = 1_600
const downloads = '/file/download/'
/** Stands for the host of an address without one; `invalid` is reserved, so no address has it. */
const noHost = 'none.invalid'

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
  const address = addressOf(file)
  if (!address || !/^https?:$/.test(address.protocol)) return undefined
  const { pathname, search, href, host } = address
  const start = pathname.indexOf(downloads)
  if (start < 0) return host === noHost ? undefined : href
  if (token === '') return undefined
  const parameters = new URLSearchParams(search)
  parameters.set('access-token', token)
  parameters.set('app_id', appId)
  if (thumbnail !== undefined) {
    const side = String(Math.ceil(thumbnail))
    parameters.set('image_type', String(thumbnailType))
    parameters.set('w', side)
    parameters.set('h', side)
  }
  // Other users write addresses into messages, so the token goes to the own service only.
  return `${url.replace(/\/+$/, '')}${pathname.slice(start)}?${parameters}`
}

function addressOf(file: string): URL | undefined {
  if (file === '') return undefined
  const base = `http://${noHost}`
  if (/^[a-z][a-z0-9+.-]*:|^\//i.test(file)) return parseUrl(file, base)
  return new URL(`${downloads}avatar?object_name=${encodeURIComponent(file)}`, base)
}
