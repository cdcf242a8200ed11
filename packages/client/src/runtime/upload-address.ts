import { parseAddress } from '../lib/address.js'

/** The path at which the service takes files, below its address. */
const uploadPath = '/file/upload'

/**
 * Returns where the file of a ticket goes. A ticket of the service itself leads to the client's own
 * address of it, since the service may know another one behind a proxy; that of an object store stays.
 */
export function uploadAddress(ticketUrl: string, serviceUrl: string): string {
  const service = serviceUrl.replace(/\/+$/, '')
  const address = parseAddress(ticketUrl.startsWith('/') ? service + ticketUrl : ticketUrl)
  if (!address) return ticketUrl
  const { path, query } = address
  const isOurs = path.endsWith(uploadPath) && /[?&]ticket=/.test(query)
  return isOurs ? service + uploadPath + query : ticketUrl
}
