import { parseAddress } from '../lib/address.js'

/** The path of the WebSocket, below the address of the service. */
const gatewayPath = '/gateway'

/** Returns the address of the WebSocket of a service. @throws Error when it has none */
export function gatewayUrl(serviceUrl: string): string {
  const address = parseAddress(serviceUrl)
  if (!address) throw new Error(`${serviceUrl} is no address of a service`)
  const { scheme, host, path } = address
  return `${scheme === 'http' ? 'ws' : 'wss'}://${host}${path.replace(/\/+$/, '')}${gatewayPath}`
}
