import type { IncomingHttpHeaders } from 'node:http'

/** nginx sends none of them by default, and asks for a loopback address then. */
const proxyHeaders = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'forwarded',
  'via',
]

/** Tests whether the headers of a request say that a proxy has forwarded it. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return proxyHeaders.some((name) => headers[name] !== undefined)
}
