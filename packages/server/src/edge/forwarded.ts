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

/** The reason why a forwarded call may lack app_id. Proxies hold such names for an attack on CGI programs. */
export const droppedHeaders =
  'proxies drop headers whose names have an underscore: nginx without underscores_in_headers on, Caddy without expected_underscore_headers'

/** Tests whether the headers of a request say that a proxy has forwarded it. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return proxyHeaders.some((name) => headers[name] !== undefined)
}
