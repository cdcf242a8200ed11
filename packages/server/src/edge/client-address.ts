import type { IncomingMessage } from 'node:http'
import proxyAddress from 'proxy-addr'

/** Reads one fact about the client of a request. */
export type RequestReader = (request: IncomingMessage) => string

/** Connections whose X-Forwarded-For counts: none, all, or those from these addresses and CIDR ranges. */
export type TrustProxy = boolean | readonly string[]

/** @returns whether a connection from an address is that of a trusted proxy */
export function proxyTest(trustProxy: TrustProxy): (address: string) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy
  const isTrusted = proxyAddress.compile([...trustProxy])
  return (address) => isTrusted(address, 0)
}

/** Returns the reader of the client's network address. */
export function addressReader(trustProxy: TrustProxy): RequestReader {
  if (trustProxy === false) return (request) => request.socket.remoteAddress ?? 'local'
  const isTrusted = trustProxy === true ? () => true : proxyAddress.compile([...trustProxy])
  const isTrustedHop = (hop: string, distance: number) => isTrusted(withoutPort(hop), distance)
  return (request) => withoutPort(proxyAddress(request, isTrustedHop) ?? 'local')
}

/** Some proxies write the port after the address; IPv6 then stands in brackets, as in a URL. */
const withPort = /^"?(?:\[([\da-f:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?"?$/i

function withoutPort(hop: string): string {
  const [, v6, v4] = withPort.exec(hop) ?? []
  return v6 ?? v4 ?? hop
}

/**
 * Returns the reader of the address at which a client has reached the service.
 * @param publicUrl that address for all clients; null: the Host header of each request and
 * X-Forwarded-Proto of a trusted proxy
 */
export function baseUrlReader(publicUrl: string | null, trustProxy: TrustProxy): RequestReader {
  if (publicUrl !== null) return () => publicUrl
  const isProxy = proxyTest(trustProxy)
  return ({ headers, socket }) => {
    const isSecure = headers['x-forwarded-proto'] === 'https' && isProxy(socket.remoteAddress ?? '')
    return `${isSecure ? 'https' : 'http'}://${headers.host ?? 'localhost'}`
  }
}
