/**
 * The HTTP side of the service: families of routes, and the failures that concern no operation (rule A2). It sits on node:http
 * directly; see docs/decisions for why no framework is in between.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isBoundToProgress, requestTimeoutMs } from './deadlines.js'
import { answerMalformed } from './malformed.js'
import type { Responses } from './responses.js'
import { type RouteFamily, Router } from './routes/router.js'

export interface HttpServerOptions {
  readonly families: readonly RouteFamily[]
  readonly responses: Responses
  /** A route threw; operations report their failures through the executor. */
  onError(error: unknown): void
}

const keepAliveTimeoutMs = 72_000

/** The server, not listening yet. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { responses } = options
  const router = new Router(options.families)
  const answer = (request: IncomingMessage, response: ServerResponse) =>
    void answerRequest(router, options, request, response)
  // A missing host is answered here, with the envelope; an unknown expectation is no reason to refuse a call.
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      requireHostHeader: false,
    },
    answer,
  )
  server.on('checkExpectation', answer)
  return server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // What this event does not end goes on.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isBoundToProgress(socket)) return
    answerMalformed(error, socket, responses.nextRequestId())
  })
}

async function answerRequest(
  router: Router,
  { responses, onError }: HttpServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await route(router, responses, request, response)
  } catch (error) {
    onError(error)
    if (response.headersSent) response.destroy()
    else responses.failure(request, response, 'internal_error')
  }
}

async function route(
  router: Router,
  responses: Responses,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { url = '/', method = 'GET', headers } = request
  if (headers.host === undefined && request.httpVersion === '1.1')
    return responses.failure(request, response, 'malformed_request')
  const queryAt = url.indexOf('?')
  const methods = router.find(queryAt < 0 ? url : url.slice(0, queryAt))
  const found = methods?.get(method)
  if (found) return found(request, response, queryAt < 0 ? '' : url.slice(queryAt + 1))
  request.resume()
  if (method === 'OPTIONS') return responses.preflight(request, response)
  if (methods === null) return responses.failure(request, response, 'path_not_found')
  return responses.failure(request, response, 'method_not_accepted', { allow: [...methods.keys()] })
}
