import type { IncomingMessage } from 'node:http'
import proxyAddress from 'proxy-addr'

/** The client's network address, for limits. */
export type AddressOf = (request: IncomingMessage) => string

/** Where a client has reached the service, without a slash at the end: `https://chat.example.org`. */
export type BaseUrlOf = (request: IncomingMessage) => string

/** Whose X-Forwarded-For counts: no one's, everyone's, or that of these addresses and CIDR ranges. */
type TrustProxy = boolean | readonly string[]

/** @returns whether a connection from an address is that of a trusted proxy */
export function proxyTest(trustProxy: TrustProxy): (address: string) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy
  const isTrusted = proxyAddress.compile([...trustProxy])
  return (address) => isTrusted(address, 0)
}

export function addressReader(trustProxy: TrustProxy): AddressOf {
  if (trustProxy === false) return (request) => request.socket.remoteAddress ?? 'local'
  const isTrusted = trustProxy === true ? () => true : proxyAddress.compile([...trustProxy])
  const isTrustedHop = (hop: string, distance: number) => isTrusted(withoutPort(hop), distance)
  return (request) => withoutPort(proxyAddress(request, isTrustedHop) ?? 'local')
}

/** Some proxies write the port behind the address; then IPv6 stands in brackets, as in a URL. */
const withPort = /^"?(?:\[([\da-f:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?"?$/i

function withoutPort(hop: string): string {
  const [, v6, v4] = withPort.exec(hop) ?? []
  return v6 ?? v4 ?? hop
}

/**
 * @param publicUrl where all clients reach the service; null: each request says it, by its Host header and X-Forwarded-Proto of a trusted
 * proxy
 */
export function baseUrlReader(publicUrl: string | null, trustProxy: TrustProxy): BaseUrlOf {
  if (publicUrl !== null) return () => publicUrl
  const isProxy = proxyTest(trustProxy)
  return ({ headers, socket }) => {
    const isSecure = headers['x-forwarded-proto'] === 'https' && isProxy(socket.remoteAddress ?? '')
    return `${isSecure ? 'https' : 'http'}://${headers.host ?? 'localhost'}`
  }
}
