import type { IncomingMessage } from 'node:http'
import type { Origins } from '../edge/origins.js'
import { originForm } from './target.js'

const maxAgeSeconds = 86_400
const preflight = [
  ['access-control-allow-methods', 'GET, POST, PUT, DELETE'],
  ['access-control-allow-headers', 'content-type, access-token, app_id, user_id, group_id'],
  ['access-control-max-age', String(maxAgeSeconds)],
].flat()
const exposed = ['access-control-expose-headers', 'x-request-id, retry-after']
const exposedOfFile = [
  'access-control-expose-headers',
  'x-request-id, content-disposition, content-range, etag',
]
const allowsAll = ['access-control-allow-origin', '*']
const varies = ['vary', 'origin']
const noHeaders: readonly string[] = []
/** Paths that no page of another origin may read: metrics, and the operations of operators. */
const ownOriginOnly = /^\/(?:metrics(?:$|\?)|operator\/)/

/**
 * Lets browser clients call from other origins (Fetch Standard, CORS protocol). No cookies are
 * involved, so `*` grants no right.
 */
export class Cors {
  constructor(private readonly origins: Origins) {}

  /**
   * The names and values of headers for any answer; none for a request that no page of another
   * origin has sent.
   */
  headers(request: IncomingMessage): readonly string[] {
    const allowed = this.#allowed(request)
    return allowed === null ? noHeaders : [...allowed, ...exposed]
  }

  /**
   * The same for a file, which clients cache: a request without an origin may come before one of a
   * page of another origin, so the headers fit both.
   */
  fileHeaders(request: IncomingMessage): readonly string[] {
    const allowed = this.origins.areAll ? allowsAll : this.#allowed(request)
    return allowed === null ? varies : [...allowed, ...exposedOfFile]
  }

  /** @returns null unless a page of another origin that may call has sent the request */
  #allowed({ headers: { origin }, url = '/' }: IncomingMessage): readonly string[] | null {
    if (origin === undefined || !this.origins.allows(origin)) return null
    if (ownOriginOnly.test(originForm(url))) return null
    return this.origins.areAll ? allowsAll : ['access-control-allow-origin', origin, ...varies]
  }

  /**
   * The headers of the answer to an OPTIONS request; an origin may do the same on every path that
   * is open to it.
   */
  preflightHeaders(request: IncomingMessage): readonly string[] {
    const headers = this.headers(request)
    return headers.length === 0 ? headers : [...headers, ...preflight]
  }
}
