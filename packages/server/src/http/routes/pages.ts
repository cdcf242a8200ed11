import type { IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import { AppError } from '@hermod/protocol'
import { asyncApiDocument } from '@hermod/protocol/asyncapi'
import { openApiDocument } from '@hermod/protocol/openapi'
import { isForwarded } from '../../edge/forwarded.js'
import { version } from '../../lib/version.js'
import type { Metrics } from '../../observability/metrics.js'
import type { Executor } from '../../pipeline/executor.js'
import type { Responses } from '../responses.js'
import { openApiExamples } from './openapi-examples.js'
import { referencePage } from './reference/page.js'
import { type RouteFamily, readingRoutes } from './router.js'

/** An address that is no operation, such as /healthz; answers GET and HEAD. */
export type Page = (request: IncomingMessage) => Promise<PageAnswer>

interface PageAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  /** The body for callers that take gzip. Both bodies are made once, for all callers, and hold no secret. */
  readonly gzipped?: () => Buffer
  /** The Content-Security-Policy of an HTML page. */
  readonly contentPolicy?: string
  /** The address of a redirect, relative to that of the page. */
  readonly location?: string
  readonly retryAfterSeconds?: number
}

interface PagesOptions {
  readonly executor: Executor
  readonly metrics: Metrics
  readonly publicUrl: string | null
  /** The reason why the service cannot do its work, for example without its database; null: it can. */
  notReadyReason(): Promise<string | null>
  /** Names the parts that do not work while the service does. */
  degraded(): readonly string[]
  /** @throws AppError too_many_requests for an address that guesses */
  isOperatorToken(token: string, request: IncomingMessage): Promise<boolean>
}

interface PageRoutesOptions {
  readonly responses: Responses
  /** @throws AppError that the request is answered with instead */
  admit(request: IncomingMessage): void
}

/** Short answers for operators, whose requests often come from the address of all other callers. */
const alwaysAdmitted: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz'])

/** Returns the family of pages, by their paths. */
export function pageRoutes(
  { responses, admit }: PageRoutesOptions,
  pages: Readonly<Record<string, Page>>,
): RouteFamily {
  const exact = Object.entries(pages).flatMap(([path, page]) =>
    readingRoutes(path, async (request, response) => {
      if (!alwaysAdmitted.has(path)) admit(request)
      const answer = await page(request)
      const { status, contentType, contentPolicy, location, retryAfterSeconds } = answer
      const headers = ['content-type', contentType, ...responses.cors.headers(request)]
      const gzipped = takesGzip(request) ? answer.gzipped?.() : undefined
      if (answer.gzipped) headers.push('vary', 'accept-encoding')
      if (gzipped) headers.push('content-encoding', 'gzip')
      if (contentPolicy !== undefined) headers.push('content-security-policy', contentPolicy)
      if (location !== undefined) headers.push('location', location)
      if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds))
      const isShared = answer.gzipped !== undefined
      const body = gzipped ?? answer.body
      responses.write(request, response, { status, headers, body, isShared })
    }),
  )
  return { exact }
}

/** Reports whether the caller names gzip and does not refuse it with q=0. */
function takesGzip({ headers }: IncomingMessage): boolean {
  const codings = String(headers['accept-encoding'] ?? '').split(',')
  return codings.some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding))
}

/** Style and scripts load from this server, calls go to it, and nothing else runs or loads. */
const referencePolicy =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Returns the pages for health, metrics and the reference, to which / leads. */
export function servicePages(options: PagesOptions): Readonly<Record<string, Page>> {
  const { executor, metrics, publicUrl } = options
  const described = () => ({
    version,
    builtOperationIds: executor.builtOperationIds,
    examples: openApiExamples(),
    ...(publicUrl === null ? {} : { serverUrl: publicUrl }),
  })
  // Made at the first request, since most servers never get one, and once, since these are long.
  const openApi = longText(() => JSON.stringify(openApiDocument(described())))
  const asyncApi = longText(() => JSON.stringify(asyncApiDocument(described())))
  const reference = longText(() => referencePage(openApiDocument(described())))
  return {
    '/': async () => ({
      status: 302,
      contentType: 'text/plain; charset=utf-8',
      body: '',
      location: 'docs',
    }),
    '/healthz': async () => json(200, '{"status":"ok"}'),
    // Without the database: its failure is no reason to start the process again.
    '/livez': async () => json(200, '{"status":"ok"}'),
    '/readyz': async () => {
      const reason = executor.isDraining ? 'shutting down' : await options.notReadyReason()
      const degraded = options.degraded()
      return reason === null
        ? json(200, JSON.stringify({ status: 'ready', ...(degraded.length > 0 && { degraded }) }))
        : json(503, JSON.stringify({ status: 'not ready', reason }))
    },
    '/metrics': async (request) => {
      const refusal = await metricsRefusal(request, options)
      if (refusal !== null) return refusal
      const { contentType, text } = await metrics.render()
      return { status: 200, contentType, body: text }
    },
    '/openapi.json': async () => ({ ...json(200, openApi.body()), gzipped: openApi.gzipped }),
    '/asyncapi.json': async () => ({ ...json(200, asyncApi.body()), gzipped: asyncApi.gzipped }),
    '/docs': async () => ({
      status: 200,
      contentType: 'text/html; charset=utf-8',
      body: reference.body(),
      gzipped: reference.gzipped,
      contentPolicy: referencePolicy,
    }),
  }
}

function json(status: number, body: string | Buffer): PageAnswer {
  return { status, contentType: 'application/json; charset=utf-8', body }
}

/** @returns null for a caller that may read the metrics */
async function metricsRefusal(
  request: IncomingMessage,
  options: PagesOptions,
): Promise<PageAnswer | null> {
  try {
    if (await mayReadMetrics(request, options)) return null
    return json(403, '{"status":"operator token needed"}')
  } catch (error) {
    if (!(error instanceof AppError) || error.errorName !== 'too_many_requests') throw error
    const { retryAfterSeconds } = error.options
    return {
      ...json(429, '{"status":"too many wrong tokens"}'),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    }
  }
}

const loopbackHost = /^(?:localhost|127\.[\d.]+|\[::1\])(?::\d+)?$/i

/**
 * Allows loopback, unless a proxy on this machine forwards the request, which its headers say;
 * otherwise the operator.
 */
async function mayReadMetrics(
  request: IncomingMessage,
  { isOperatorToken }: PagesOptions,
): Promise<boolean> {
  const { headers, socket } = request
  const isFromProxy = isForwarded(headers) || !loopbackHost.test(headers.host ?? '')
  if (!isFromProxy && /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '')) return true
  const bearer = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1]
  const token = headers['access-token'] ?? bearer
  return typeof token === 'string' && token.startsWith('hmo_') && isOperatorToken(token, request)
}

/** A text that is made at its first use, and compressed at the first use by a caller that takes gzip. */
function longText(make: () => string) {
  const body = lazy(() => Buffer.from(make()))
  return { body, gzipped: lazy(() => gzipSync(body())) }
}

function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
