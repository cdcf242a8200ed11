import type { IncomingMessage } from 'node:http'
import { originForm } from './target.js'

const maxAgeSeconds = 86_400
const preflight = [
  ['access-control-allow-methods', 'GET, POST, PUT, DELETE'],
  ['access-control-allow-headers', 'content-type, access-token, app_id, user_id, group_id'],
  ['access-control-max-age', String(maxAgeSeconds)],
].flat()
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
  headers({ headers: { origin }, url = '/' }: IncomingMessage): readonly string[] {
    if (origin === undefined || (this.#origins && !this.#origins.has(origin))) return noHeaders
    if (ownOriginOnly.test(originForm(url))) return noHeaders
    const allowed = this.#origins ? [origin, 'vary', 'origin'] : ['*']
    return [
      'access-control-allow-origin',
      ...allowed,
      'access-control-expose-headers',
      'x-request-id, retry-after',
    ]
  }

  /** The headers of the answer to an OPTIONS request; what the origin may do is the same on every path that is open to it. */
  preflightHeaders(request: IncomingMessage): readonly string[] {
    const headers = this.headers(request)
    return headers.length === 0 ? headers : [...headers, ...preflight]
  }
}
