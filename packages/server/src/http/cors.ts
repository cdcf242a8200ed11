import type { IncomingMessage } from 'node:http'
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
/** What no page of another origin has any business with: metrics, and what operators call. */
const ownOriginOnly = /^\/(?:metrics(?:$|\?)|operator\/)/

/** Lets browser clients call from other origins (Fetch Standard, CORS protocol). No cookies are involved, so `*` lends nobody any right. */
export class Cors {
  readonly #origins: ReadonlySet<string> | null

  /** @param origins `*`, or the origins that may call; none for an empty list */
  constructor(origins: '*' | readonly string[]) {
    this.#origins = origins === '*' ? null : new Set(origins)
  }

  /** Header names and values, one after another, for any answer; none for a request that no page of another origin has sent. */
  headers(request: IncomingMessage): readonly string[] {
    const allowed = this.#allowed(request)
    return allowed === null ? noHeaders : [...allowed, ...exposed]
  }

  /**
   * As `headers`, of a file, which clients keep: it may have been asked for without an origin before a page of another origin asks for it,
   * so what it says fits both.
   */
  fileHeaders(request: IncomingMessage): readonly string[] {
    const allowed = this.#origins === null ? allowsAll : this.#allowed(request)
    return allowed === null ? varies : [...allowed, ...exposedOfFile]
  }

  /** @returns null when no page of another origin that may call has sent the request */
  #allowed({ headers: { origin }, url = '/' }: IncomingMessage): readonly string[] | null {
    if (origin === undefined || (this.#origins && !this.#origins.has(origin))) return null
    if (ownOriginOnly.test(originForm(url))) return null
    return this.#origins ? ['access-control-allow-origin', origin, ...varies] : allowsAll
  }

  /** The headers of the answer to an OPTIONS request; what the origin may do is the same on every path that is open to it. */
  preflightHeaders(request: IncomingMessage): readonly string[] {
    const headers = this.headers(request)
    return headers.length === 0 ? headers : [...headers, ...preflight]
  }
}
