/**
 * The HTTP side of the service: families of routes, and the failures that concern no operation
 * (rule A2). It uses node:http directly; docs/decisions/004 gives the reasons.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import {
  checkIntervalMs,
  headersTimeoutMs,
  isBoundToProgress,
  requestTimeoutMs,
} from '../edge/deadlines.js'
import type { Edge } from '../edge/edge.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { isOutOfDescriptors } from '../lib/system/out-of-descriptors.js'
import { answerMalformed, answerStalled, requestTimedOut } from './malformed.js'
import type { Responses } from './responses.js'
import { type RouteFamily, Router } from './routes/router.js'
import { originForm } from './target.js'
import { acceptUpgrades, type UpgradeTarget, WebSocketOnlyMessage } from './upgrades.js'

interface HttpServerOptions {
  readonly families: readonly RouteFamily[]
  readonly responses: Responses
  readonly edge: Edge
  /** The time for which a connection without a request is kept. */
  readonly keepAliveMs: number
  /** Takes WebSockets; null: the server takes none. */
  readonly upgrades: UpgradeTarget | null
  /**
   * Reports what a route threw that is no AppError; operations report their failures through the
   * executor.
   */
  onError(error: unknown): void
}

/** Returns the server, which does not listen yet. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { responses, edge, keepAliveMs } = options
  const router = new Router(options.families)
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const begin = () => void answerRequest(router, options, request, response)
    if (!edge.connections.requestArrived(request.socket, begin))
      refuseConnection(responses, request, response)
  }
  // A missing host is answered below, with the envelope; an unknown expectation is no reason to
  // refuse a call.
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: checkIntervalMs,
      keepAliveTimeout: keepAliveMs,
      requireHostHeader: false,
      IncomingMessage: WebSocketOnlyMessage,
    },
    answer,
  )
  // A client that has closed its side of the connection still waits for the answers to what it has sent.
  Object.assign(server, { httpAllowHalfOpen: true })
  edge.accept(server, (socket) => answerStalled(socket, responses.nextRequestId()))
  server.on('checkExpectation', answer)
  if (options.upgrades !== null) acceptUpgrades(server, options.upgrades, options)
  return server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // A request that this event does not end continues.
    if (error.code === requestTimedOut && isBoundToProgress(socket)) return
    answerMalformed(error, socket, responses.nextRequestId())
  })
}

/** Refuses the call of a connection beyond the bounds. */
function refuseConnection(
  responses: Responses,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.shouldKeepAlive = false
  const error = new AppError('unavailable', 'too many connections')
  responses.failure(request, response, error)
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
    if (error instanceof AppError) return responses.failure(request, response, error)
    onError(error)
    if (response.headersSent) response.destroy()
    else if (isOutOfDescriptors(error)) responses.failure(request, response, 'unavailable')
    else responses.failure(request, response, 'internal_error')
  }
}

function route(
  router: Router,
  responses: Responses,
  request: IncomingMessage,
  response: ServerResponse,
): MaybePromise<void> {
  const { method = 'GET' } = request
  const refusal = requestRefusal(request)
  if (refusal !== null) {
    return responses.failure(request, response, refusal)
  }
  const url = originForm(request.url ?? '/')
  const queryAt = url.indexOf('?')
  const methods = router.find(queryAt < 0 ? url : url.slice(0, queryAt))
  const found = methods?.get(method)
  if (found) return found(request, response, queryAt < 0 ? '' : url.slice(queryAt + 1))
  if (method === 'OPTIONS') return responses.preflight(request, response)
  if (methods === null) return responses.failure(request, response, 'path_not_found')
  return responses.failure(request, response, 'method_not_accepted', { allow: [...methods.keys()] })
}

/** Requests that the parser accepts and a server has to refuse (RFC 9112, sections 3.2 and 6.1). */
function requestRefusal({
  headers,
  rawHeaders,
  httpVersion,
}: IncomingMessage): 'malformed_request' | 'transfer_coding_unknown' | null {
  const hosts = countOfHosts(rawHeaders)
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return 'malformed_request'
  const coding = headers['transfer-encoding']
  return coding === undefined || coding.toLowerCase() === 'chunked'
    ? null
    : 'transfer_coding_unknown'
}

/** Node silently keeps the first one of several. @param headers names and values, one after another */
function countOfHosts(headers: readonly string[]): number {
  let count = 0
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
