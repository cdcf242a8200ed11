/**
 * The HTTP side of the pipeline: a table of routes from the definitions, and the failures that no operation has a part in
 * (decision A2). It sits on node:http directly; see docs/decisions for why no framework is in between.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { parse as parseQuery } from 'node:querystring'
import { AppError, type Method, type Operation } from '@hermod/protocol'
import { createRequestIds } from '../lib/request-ids.js'
import type { Answer } from '../pipeline/call.js'
import type { Executor } from '../pipeline/executor.js'
import { invalid, type Query } from '../pipeline/parameters.js'
import type { AddressOf } from './address.js'
import { readBody, tooLarge } from './body.js'
import type { Cors } from './cors.js'

/** An address that is no operation, such as /healthz; answers GET and HEAD. */
export type Page = (request: IncomingMessage) => Promise<PageAnswer>

export interface PageAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

export interface HttpServerOptions {
  readonly executor: Executor
  /** The operations that get a route. */
  readonly operations: readonly Operation[]
  readonly pages: Readonly<Record<string, Page>>
  readonly cors: Cors
  readonly addressOf: AddressOf
  /** Every caller is the operator: what listens can be reached by the operator only. */
  readonly isOperator: boolean
  /** A page threw; operations report their faults through the executor. */
  onFault(error: unknown): void
}

const maxBodyBytes = 1_048_576
const maxQueryParameters = 100
const requestTimeoutMs = 30_000
const keepAliveTimeoutMs = 72_000
const jsonType = 'application/json; charset=utf-8'
const noQuery: Query = {}

/** The server, not listening yet. */
export function createHttpServer(options: HttpServerOptions): Server {
  const routes = new Routes(options)
  const answer = (request: IncomingMessage, response: ServerResponse) =>
    void routes.answer(request, response)
  // A missing host is answered here, with the envelope; an expectation that nobody knows is no reason to refuse a call.
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      requireHostHeader: false,
    },
    answer,
  )
  server.on('checkExpectation', answer)
  return server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    routes.answerMalformed(error, socket),
  )
}

class Routes {
  readonly #operations = new Map<string, Map<string, Operation>>()
  readonly #nextRequestId = createRequestIds()
  readonly #responses = new ResponseBatcher()

  constructor(private readonly options: HttpServerOptions) {
    for (const operation of options.operations) {
      const methods = this.#operations.get(operation.path) ?? new Map<Method, Operation>()
      for (const method of operation.methods) methods.set(method, operation)
      this.#operations.set(operation.path, methods)
    }
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route(request, response)
    } catch (error) {
      this.options.onFault(error)
      if (response.headersSent) response.destroy()
      else this.#send(request, response, this.options.executor.fail('internal_error'))
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '/', method = 'GET', headers } = request
    if (headers.host === undefined && request.httpVersion === '1.1')
      return this.#send(request, response, this.options.executor.fail('malformed_request'))
    const queryAt = url.indexOf('?')
    const path = queryAt < 0 ? url : url.slice(0, queryAt)
    const methods = this.#operations.get(path)
    const operation = methods?.get(method)
    if (operation)
      return this.#answerOperation(
        operation,
        queryAt < 0 ? noQuery : readQuery(url.slice(queryAt + 1)),
        request,
        response,
      )
    request.resume()
    if (method === 'OPTIONS') return this.#answerPreflight(request, response)
    if (methods)
      return this.#send(request, response, this.options.executor.fail('method_not_accepted'), [
        ...methods.keys(),
      ])
    return this.#answerPage(path, request, response)
  }

  async #answerOperation(
    operation: Operation,
    query: Query | null,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { executor, addressOf, isOperator } = this.options
    const { headers } = request
    // GET has no body that means anything (RFC 9110, section 9.3.1).
    const bytes = request.method === 'GET' ? undefined : await readBody(request, maxBodyBytes)
    if (bytes === null) return
    if (bytes === tooLarge)
      return this.#send(
        request,
        response,
        executor.failure(new AppError('body_too_large', `at most ${maxBodyBytes} bytes`)),
      )
    if (bytes === undefined) request.resume()
    if (query === null)
      return this.#send(
        request,
        response,
        executor.failure(invalid(['the query must be percent-encoded UTF-8'])),
      )
    const requestId = this.#nextRequestId()
    const answer = await executor.execute(operation, {
      requestId,
      address: addressOf(request),
      userAgent: headers['user-agent'] ?? '',
      credentials: {
        appId: headerText(headers.app_id),
        accessToken: headerText(headers['access-token']),
        userId: headerText(headers.user_id),
        groupId: headerText(headers.group_id),
      },
      isOperator,
      query,
      body: bytes === undefined ? null : { bytes, contentType: headers['content-type'] },
    })
    this.#send(request, response, answer, null, requestId)
  }

  async #answerPage(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { pages, executor, cors } = this.options
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined
    if (!page) return this.#send(request, response, executor.fail('path_not_found'))
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return this.#send(request, response, executor.fail('method_not_accepted'), ['GET', 'HEAD'])
    const { status, contentType, body } = await page(request)
    this.#write(request, response, {
      status,
      body,
      headers: ['content-type', contentType, ...cors.headers(request)],
    })
  }

  #answerPreflight(request: IncomingMessage, response: ServerResponse): void {
    this.#write(request, response, {
      status: 204,
      body: '',
      headers: this.options.cors.preflightHeaders(request),
    })
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    answer: Answer,
    allow: readonly string[] | null = null,
    requestId = this.#nextRequestId(),
  ): void {
    const headers = ['content-type', jsonType, ...this.options.cors.headers(request)]
    if (answer.retryAfterSeconds !== undefined)
      headers.push('retry-after', String(answer.retryAfterSeconds))
    if (allow) headers.push('allow', allow.join(', '))
    this.#write(request, response, { status: answer.status, body: answer.body, headers }, requestId)
  }

  #write(
    request: IncomingMessage,
    response: ServerResponse,
    {
      status,
      body,
      headers,
    }: { readonly status: number; readonly body: string; readonly headers: readonly string[] },
    requestId = this.#nextRequestId(),
  ): void {
    const all = [...headers, 'x-request-id', requestId]
    // 204 has no content, and so no length (RFC 9110, section 8.6).
    if (status !== 204) all.push('content-length', String(Buffer.byteLength(body)))
    // A server that drains wants its connections closed.
    if (this.options.executor.isDraining) all.push('connection', 'close')
    // Closing while the client still sends would reset the connection, and the answer with it.
    if (!request.complete) request.resume()
    this.#responses.write(response, status, all, body)
  }

  /** What is no HTTP is answered before there is a request, on the bare socket. */
  answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const [status, reason] = malformedStatus(error.code)
    const { body } = this.options.executor.fail('malformed_request')
    const head = `HTTP/1.1 ${status} ${reason}\r\ncontent-type: ${jsonType}\r\ncontent-length: ${Buffer.byteLength(body)}`
    socket.end(
      `${head}\r\nx-request-id: ${this.#nextRequestId()}\r\nconnection: close\r\n\r\n${body}`,
    )
  }
}

interface Outgoing {
  readonly response: ServerResponse
  readonly status: number
  readonly headers: string[]
  readonly body: string
}

/**
 * Writes the answers of one turn of the event loop together at its end. A write wakes whoever waits for it, which costs many times the
 * write itself when there is a pause before every one of them; in a row they find the other side awake.
 */
class ResponseBatcher {
  #waiting: Outgoing[] = []

  write(response: ServerResponse, status: number, headers: string[], body: string): void {
    if (this.#waiting.push({ response, status, headers, body }) === 1)
      setImmediate(() => this.#flush())
  }

  #flush(): void {
    const ready = this.#waiting
    this.#waiting = []
    for (const { response, status, headers, body } of ready) {
      response.writeHead(status, headers)
      response.end(body)
    }
  }
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** @returns null when the text is not percent-encoded UTF-8 */
function readQuery(text: string): Query | null {
  if (text === '') return noQuery
  if (text.includes('%') && !isPercentEncoded(text)) return null
  return parseQuery(text, '&', '=', { maxKeys: maxQueryParameters }) as Query
}

/** Node joins repeated headers of ours with a comma, which no valid value contains. */
function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

function malformedStatus(code: string | undefined): readonly [number, string] {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'Request Header Fields Too Large']
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? [408, 'Request Timeout'] : [400, 'Bad Request']
}
