import type { IncomingMessage } from 'node:http'
import proxyAddress from 'proxy-addr'

/** The client's network address, for limits. */
export type AddressOf = (request: IncomingMessage) => string

/** @param trustProxy whose X-Forwarded-For counts: no one's, everyone's, or that of these addresses and CIDR ranges */
export function addressReader(trustProxy: boolean | readonly string[]): AddressOf {
  if (trustProxy === false) return (request) => request.socket.remoteAddress ?? 'local'
  const isTrusted = trustProxy === true ? () => true : proxyAddress.compile([...trustProxy])
  return (request) => proxyAddress(request, isTrusted) ?? 'local'
}
