/** The path at which the service takes files, below its address. */
const uploadPath = '/file/upload'

/**
 * Returns where the file of a ticket goes. A ticket of the service itself leads to the client's own
 * address of it, since the service may know another one behind a proxy; that of an object store stays.
 */
export function uploadAddress(ticketUrl: string, serviceUrl: string): string {
  const address = new URL(ticketUrl, serviceUrl)
  const isOurs = address.pathname.endsWith(uploadPath) && address.searchParams.has('ticket')
  return isOurs ? serviceUrl.replace(/\/+$/, '') + uploadPath + address.search : address.href
}
