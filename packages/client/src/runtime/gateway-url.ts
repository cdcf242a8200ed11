/** The path of the WebSocket, below the address of the service. */
const gatewayPath = '/gateway'

/** Returns the address of the WebSocket of a service. */
export function gatewayUrl(serviceUrl: string): string {
  const url = new URL(serviceUrl)
  url.protocol = url.protocol === 'http:' ? 'ws:' : 'wss:'
  url.pathname = url.pathname.replace(/\/$/, '') + gatewayPath
  url.search = ''
  url.hash = ''
  return url.href
}
