import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { AppError, type ErrorName } from '@hermod/protocol'
import { createRequestIds } from '../lib/ids/request-ids.js'
import type { FileStream, Reply } from '../pipeline/call.js'
import type { Connections } from './bounds/connections.js'
import type { Cors } from './cors.js'
import { bindToProgress } from './deadlines.js'
import { failureAnswer, type StatusMode } from './failure.js'
import { ResponseBatcher } from './response-batcher.js'

export interface ResponsesOptions {
  readonly cors: Cors
  readonly statusMode: StatusMode
  /** Are told of every answer. */
  readonly connections: Pick<Connections, 'answered' | 'ended'>
  /** The server refuses new calls and wants its connections closed. */
  isDraining(): boolean
  /** A file that was on its way could not be read to its end. */
  onError(error: unknown): void
}

export const jsonContentType = 'application/json; charset=utf-8'

/** Answers are for the caller alone and are what their type says: no cache keeps them, no browser guesses. */
export const privateAnswer = [
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
] as const
const privateHeaders = privateAnswer.flat()
/** What headers take, more or less. */
const headBytes = 400
/** From this length on a text is turned into bytes at once, so that it is in memory in one form only. */
const longText = 32_768

/** Everything that is written as an answer goes through here, so that every answer has the headers that all of them have. */
export class Responses {
  /** A new one for each request. */
  readonly nextRequestId = createRequestIds()
  readonly #batcher: ResponseBatcher

  constructor(private readonly options: ResponsesOptions) {
    this.#batcher = new ResponseBatcher(options.connections)
  }

  /** The answer of an operation. */
  reply(
    request: IncomingMessage,
    response: ServerResponse,
    reply: Reply<string>,
    requestId: string,
  ): void {
    if (reply.kind === 'payload') {
      const headers = ['content-type', jsonContentType, ...this.options.cors.headers(request)]
      this.write(request, response, { status: 200, headers, body: reply.encoded }, requestId)
    } else if (reply.kind === 'file') this.#file(request, response, reply.file, requestId)
    else this.failure(request, response, reply.error, { requestId })
  }

  /** @param more.allow the methods that the address accepts */
  failure(
    request: IncomingMessage,
    response: ServerResponse,
    error: AppError | ErrorName,
    more: { readonly allow?: readonly string[]; readonly requestId?: string } = {},
  ): void {
    const { cors, statusMode } = this.options
    const known = error instanceof AppError ? error : new AppError(error)
    const { status, retryAfterSeconds, body } = failureAnswer(known, statusMode)
    const headers = ['content-type', jsonContentType, ...cors.headers(request)]
    if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds))
    if (more.allow) headers.push('allow', more.allow.join(', '))
    // What is refused because memory is short is not read to its end.
    if (status === 503 && !request.complete) {
      headers.push('connection', 'close')
      request.pause()
    }
    this.write(request, response, { status, headers, body }, more.requestId)
  }

  preflight(request: IncomingMessage, response: ServerResponse): void {
    const headers = this.options.cors.preflightHeaders(request)
    this.write(request, response, { status: 204, headers, body: '' })
  }

  /** @param answer.headers names and values, one after another */
  write(
    request: IncomingMessage,
    response: ServerResponse,
    answer: {
      readonly status: number
      readonly headers: readonly string[]
      readonly body: string | Buffer
      /** The same for everybody: caches may keep it, as its headers say. */
      readonly isPublic?: boolean
    },
    requestId = this.nextRequestId(),
  ): void {
    const { status, isPublic = false } = answer
    const body = asWritten(answer.body)
    const length = Buffer.byteLength(body)
    const headers = this.#common(request, answer.headers, requestId)
    if (!isPublic) headers.push(...privateHeaders)
    // 204 has no content, and so no length (RFC 9110, section 8.6); 304 has none of its own.
    if (status !== 204 && status !== 304) headers.push('content-length', String(length))
    const bytes = length + headBytes
    this.#batcher.write({ request, response, status, headers, body, bytes })
  }

  #file(
    request: IncomingMessage,
    response: ServerResponse,
    { contentType, length, body }: FileStream,
    requestId: string,
  ): void {
    const own = ['content-type', contentType, ...this.options.cors.headers(request)]
    const headers = this.#common(request, own, requestId)
    headers.push(...privateHeaders)
    if (length !== null) headers.push('content-length', String(length))
    if (request.method === 'HEAD') {
      body.destroy()
      this.#batcher.write({ request, response, status: 200, headers, body: '', bytes: headBytes })
      return
    }
    const { socket } = request
    bindToProgress(socket, response)
    response.writeHead(200, headers)
    const ended = (error: NodeJS.ErrnoException | null) => {
      this.options.connections.ended(socket)
      // The client has gone; that is no failure of the service.
      if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') this.options.onError(error)
    }
    if (length === null) pipeline(body, response, ended)
    else pipeline(body, exactly(length), response, ended)
  }

  #common(request: IncomingMessage, own: readonly string[], requestId: string): string[] {
    const headers = [...own, 'x-request-id', requestId]
    const closes = own.includes('close')
    if (this.options.isDraining() && !closes) headers.push('connection', 'close')
    // Closing while the client still sends would reset the connection, and the answer with it.
    if (!request.complete && !closes) request.resume()
    return headers
  }
}

function asWritten(body: string | Buffer): string | Buffer {
  return typeof body === 'string' && body.length > longText ? Buffer.from(body) : body
}

/** Fails when other than so many bytes pass: a file that ends early must not look whole, nor leave the client waiting. */
function exactly(length: number) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    let passed = 0
    for await (const chunk of chunks) {
      passed += chunk.length
      if (passed > length) break
      yield chunk
    }
    if (passed !== length) throw new Error(`a file of ${length} bytes has others`)
  }
}
