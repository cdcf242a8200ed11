import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { judgeForm } from './post-policy.js'
import type { SwiftServer } from './swift.js'

export type S3Fault =
  /** Connections are reset at once. */
  | { readonly kind: 'down' }
  /** Requests are accepted and never answered. */
  | { readonly kind: 'silent' }
  /** Answers stop in the middle of their body and stay open. */
  | { readonly kind: 'stalled' }
  /** Answers end in the middle of their body. */
  | { readonly kind: 'cut' }
  /** One byte in the middle of an answer's body is changed. */
  | { readonly kind: 'wrong_answer' }
  /** One byte of a request's body is changed. */
  | { readonly kind: 'wrong_request' }
  /** The store executes the request, and its answer is lost. */
  | { readonly kind: 'lost_answer' }
  /** The store answers this error. */
  | { readonly kind: 'error'; readonly status: number; readonly code: string }

/**
 * A network with faults in front of a real S3-compatible store. It also accepts forms that store an
 * object (POST with a policy), which Swift lacks: it checks and stores them.
 */
export class S3Proxy implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #fault: { readonly fault: S3Fault; left: number } | null = null
  #requests = 0

  private constructor(private readonly store: SwiftServer) {
    this.#server = createServer((request, response) => this.#take(request, response))
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(store: SwiftServer): Promise<S3Proxy> {
    const proxy = new S3Proxy(store)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Number of requests so far, including faulty ones. */
  get requests(): number {
    return this.#requests
  }

  /** Applies a fault to the next requests; default: to all until {@link recover}. */
  fail(fault: S3Fault, times = Number.POSITIVE_INFINITY): void {
    this.#fault = { fault, left: times }
  }

  recover(): void {
    this.#fault = null
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #nextFault(): S3Fault | null {
    if (this.#fault === null || this.#fault.left === 0) return null
    this.#fault.left--
    return this.#fault.fault
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    this.#requests++
    const fault = this.#nextFault()
    if (fault?.kind === 'down') request.socket.destroy()
    else if (fault?.kind === 'silent') request.resume()
    else if (fault?.kind === 'error') sendError(request, response, fault)
    else if (request.headers['content-type']?.startsWith('multipart/form-data'))
      this.#storeForm(request, response).catch(() => response.destroy())
    else this.#forward(request, response, fault)
  }

  #forward(request: IncomingMessage, response: ServerResponse, fault: S3Fault | null): void {
    const { hostname, port } = new URL(this.store.url)
    const { method, url, headers } = request
    const onwards = httpRequest({ hostname, port, method, path: url, headers }, (answer) => {
      if (fault?.kind === 'lost_answer') {
        answer.resume().on('end', () => request.socket.destroy())
        return
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      // Swift ends answers to HEAD as if they had a body, which is an error to Node.
      if (method === 'HEAD') response.end()
      else answer.pipe(answerFault(fault, answer, response)).pipe(response)
    })
    onwards.on('error', () => {
      if (!response.writableEnded) response.destroy()
    })
    const isWrong = fault?.kind === 'wrong_request'
    if (isWrong) request.pipe(new ChangedByte(0)).pipe(onwards)
    else request.pipe(onwards)
  }

  async #storeForm(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const headers = { 'content-type': request.headers['content-type'] ?? '' }
    const form = await new Response(body, { headers }).formData()
    const [bucket = ''] = (request.url ?? '').slice(1).split('/')
    const fields = new Map([['bucket', bucket]])
    for (const [name, value] of form)
      if (typeof value === 'string') fields.set(name.toLowerCase(), value)
    const file = form.get('file')
    if (!(file instanceof Blob) || [...form.keys()].at(-1) !== 'file') {
      sendError(request, response, { status: 400, code: 'InvalidArgument' })
      return
    }
    const code = judgeForm(fields, file.size, this.store)
    if (code !== null) sendError(request, response, { status: faultStatus(code), code })
    else await this.#accept(response, { bucket, fields, file })
  }

  async #accept(
    response: ServerResponse,
    form: { bucket: string; fields: ReadonlyMap<string, string>; file: Blob },
  ): Promise<void> {
    const { bucket, fields, file } = form
    const key = fields.get('key') ?? ''
    const contentType = fields.get('content-type') ?? 'binary/octet-stream'
    const etag = await this.store.store(bucket, key, { body: file, contentType })
    const redirect = fields.get('success_action_redirect')
    if (redirect === undefined) {
      response.writeHead(204).end()
      return
    }
    const location = new URL(redirect)
    location.searchParams.append('bucket', bucket)
    location.searchParams.append('key', key)
    location.searchParams.append('etag', `"${etag}"`)
    response.writeHead(303, { location: location.href }).end()
  }
}

function faultStatus(code: string): number {
  return code.startsWith('Entity') ? 400 : 403
}

function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { status, code }: { readonly status: number; readonly code: string },
): void {
  request.resume()
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>a fault</Message></Error>`)
}

function answerFault(
  fault: S3Fault | null,
  answer: IncomingMessage,
  response: ServerResponse,
): Transform {
  const middle = Math.floor(Number(answer.headers['content-length'] ?? 0) / 2)
  if (fault?.kind === 'wrong_answer') return new ChangedByte(middle)
  if (fault?.kind === 'stalled') return new Stop(middle, () => {})
  if (fault?.kind === 'cut') return new Stop(middle, () => response.destroy())
  return new ChangedByte(-1)
}

/** Passes everything, with the byte at this place changed. */
class ChangedByte extends Transform {
  #passed = 0

  constructor(private readonly place: number) {
    super()
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    const at = this.place - this.#passed
    if (at >= 0 && at < chunk.length) chunk.writeUInt8((chunk[at] ?? 0) ^ 1, at)
    this.#passed += chunk.length
    this.push(chunk)
    done()
  }
}

/** Passes the first bytes only, without the end. */
class Stop extends Transform {
  #left: number

  constructor(
    bytes: number,
    private readonly reached: () => void,
  ) {
    super()
    this.#left = bytes
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.push(chunk.subarray(0, this.#left))
    this.#left -= Math.min(this.#left, chunk.length)
    if (this.#left > 0) done()
    else setTimeout(this.reached, 20)
  }
}
