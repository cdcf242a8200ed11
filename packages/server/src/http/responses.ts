import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError, type ErrorName } from '@hermod/protocol'
import type { Edge } from '../edge/edge.js'
import { createRequestIds } from '../lib/ids/request-ids.js'
import type { Reply } from '../pipeline/call.js'
import type { DownloadReply } from '../pipeline/file-calls.js'
import { discardBody } from './bodies/discard-body.js'
import { Cors } from './cors.js'
import { failureAnswer, type StatusMode } from './failure.js'
import type { OpenedFile } from './files/open-file.js'
import { streamFile } from './files/stream-file.js'
import { ResponseBatcher } from './response-batcher.js'

interface ResponsesOptions {
  readonly edge: Pick<Edge, 'connections' | 'origins'>
  readonly statusMode: StatusMode
  /** Reports whether the server refuses new calls and closes its connections. */
  isDraining(): boolean
  /** Reports a file that could not be read to its end. */
  onError(error: unknown): void
}

export const jsonContentType = 'application/json; charset=utf-8'

/** Answers are for the caller alone: no cache keeps them, and no browser guesses their type. */
export const privateAnswer = [
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
] as const
const privateHeaders = privateAnswer.flat()
/** The approximate size of the headers. */
const headBytes = 400
/** From this length on, a text is encoded at once, so that it is in memory in one form only. */
const longText = 32_768

/** Writes all answers, and adds the headers that every answer has. */
export class Responses {
  /** Returns a new ID for each request. */
  readonly nextRequestId = createRequestIds()
  readonly cors: Cors
  readonly #batcher: ResponseBatcher

  constructor(private readonly options: ResponsesOptions) {
    this.cors = new Cors(options.edge.origins)
    this.#batcher = new ResponseBatcher(options.edge.connections)
  }

  /** Writes the answer of an operation. @param contentType of a success */
  reply(
    request: IncomingMessage,
    response: ServerResponse,
    reply: Reply<string> | DownloadReply<OpenedFile>,
    requestId: string,
    contentType = jsonContentType,
  ): void {
    if (reply.kind === 'payload') {
      const headers = ['content-type', contentType, ...this.cors.headers(request)]
      this.write(request, response, { status: 200, headers, body: reply.encoded }, requestId)
    } else if (reply.kind === 'file') this.#file(request, response, reply, requestId)
    else this.failure(request, response, reply.error, { requestId })
  }

  /** @param more.allow the methods that the address accepts */
  failure(
    request: IncomingMessage,
    response: ServerResponse,
    error: AppError | ErrorName,
    more: { readonly allow?: readonly string[]; readonly requestId?: string } = {},
  ): void {
    const { statusMode } = this.options
    const known = error instanceof AppError ? error : new AppError(error)
    const { status, retryAfterSeconds, body } = failureAnswer(known, statusMode)
    const headers = ['content-type', jsonContentType, ...this.cors.headers(request)]
    if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds))
    if (more.allow) headers.push('allow', more.allow.join(', '))
    this.write(request, response, { status, headers, body }, more.requestId)
  }

  preflight(request: IncomingMessage, response: ServerResponse): void {
    const headers = this.cors.preflightHeaders(request)
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
      /** The same for all callers: caches may keep it, as its headers say. */
      readonly isPublic?: boolean
      /** All answers have this one body, which an unread answer does not hold. */
      readonly isShared?: boolean
    },
    requestId = this.nextRequestId(),
  ): void {
    const { status, isPublic = false, isShared = false } = answer
    const body = asWritten(answer.body)
    const length = Buffer.byteLength(body)
    const headers = this.#common(request, answer.headers, requestId)
    if (!isPublic) headers.push(...privateHeaders)
    // 204 has no content, and so no length (RFC 9110, section 8.6); 304 has no content either.
    if (status !== 204 && status !== 304) headers.push('content-length', String(length))
    const bytes = (isShared ? 0 : length) + headBytes
    this.#batcher.write({ request, response, status, headers, body, bytes })
  }

  #file(
    request: IncomingMessage,
    response: ServerResponse,
    { opened, ended }: { readonly opened: OpenedFile; ended(bytes: number): void },
    requestId: string,
  ): void {
    const { status, length, body } = opened
    const own = [...opened.headers, ...this.cors.fileHeaders(request)]
    const headers = this.#common(request, own, requestId)
    if (length !== null) headers.push('content-length', String(length))
    if (Buffer.isBuffer(body)) {
      const bytes = body.length + headBytes
      this.#batcher.write({ request, response, status, headers, body, bytes })
      ended(body.length)
      return
    }
    response.writeHead(status, headers)
    const { edge, onError } = this.options
    const { connections } = edge
    streamFile(
      { response, socket: request.socket, body, length: length ?? 0, connections },
      (error, sent) => {
        ended(sent)
        connections.answered(request.socket)
        if (error) onError(error)
      },
    )
  }

  #common(request: IncomingMessage, own: readonly string[], requestId: string): string[] {
    const headers = [...own, 'x-request-id', requestId]
    if (this.options.isDraining()) headers.push('connection', 'close')
    discardBody(request)
    return headers
  }
}

function asWritten(body: string | Buffer): string | Buffer {
  return typeof body === 'string' && body.length > longText ? Buffer.from(body) : body
}
