import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { AccessTokens } from './access.js'
import type { TestAuthority } from './certificates.js'
import type {
  GatewayCall,
  GatewayModel,
  GatewayReply,
  GatewayState,
  JsonReply,
  SimulatedChannel,
  SimulatedCredentials,
  SimulatedDelivery,
} from './model.js'
import { type ScriptName, scriptOf, scripts } from './scripts.js'

const maxRecorded = 10_000
const maxBodyBytes = 1024 * 1024
const defaultLifeMs = 3_600_000
const defaultStreams = 100

/** A request and its answer. */
export interface RecordedCall extends GatewayCall {
  readonly channel: SimulatedChannel
  /** Milliseconds since 1970. */
  readonly at: number
  readonly reply: GatewayReply
}

export interface GatewayOptions {
  readonly authority: TestAuthority
  /** 0, the default: any free port. */
  readonly port?: number
  /** Lifetime of access tokens; default one hour. */
  readonly tokenLifeMs?: number
  /**
   * Concurrent streams on an HTTP/2 connection; default 100. A connection begins with one, until
   * the first good answer or a client certificate has proved the sender's identity.
   */
  readonly maxStreams?: number
  /** Address of receipts for messages that name none; omitted: none are sent. */
  readonly receiptUrl?: string
  /** Sends receipts after each message; default: on request. */
  readonly sendsReceipts?: boolean
  /** Wait for senders that are too fast, at gateways that name a time; default 1. */
  readonly retryAfterSeconds?: number
  /** Its clock, milliseconds since 1970; defaults to the system's. */
  readonly now?: () => number
  readonly onCall?: (call: RecordedCall) => void
  /** Called before a request is processed, which waits for the result. */
  readonly beforeAnswer?: (call: GatewayCall) => Promise<unknown> | undefined
}

/** The fields of a certificate that sends to this gateway. */
export interface SimulatedCertificate extends SimulatedCredentials {
  readonly channel: SimulatedChannel
  readonly environment: 'production'
  readonly endpoint: { readonly sendUrl: string; readonly authUrl?: string; readonly ca: string }
}

type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyResponse = ServerResponse | Http2ServerResponse

/** A gateway of one vendor, as a TLS server on the loopback address. */
export class SimulatedGateway implements AsyncDisposable {
  /** Received calls, oldest first; at most 10 000. */
  readonly calls: RecordedCall[] = []
  /** Accepted messages with pending receipts. */
  readonly deliveries: SimulatedDelivery[] = []
  readonly access: AccessTokens
  readonly #server: Server | Http2SecureServer
  readonly #sockets = new Set<Socket>()
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #spent = new Set<string>()
  readonly #state: GatewayState
  readonly #now: () => number
  /** Connections that have sent GOAWAY. */
  readonly #leaving = new WeakSet<object>()
  /** Connections that allow more than one stream. */
  readonly #proved = new WeakSet<object>()
  #ids = 0
  #streams = 0
  #mostStreams = 0

  private constructor(
    private readonly model: GatewayModel,
    private readonly options: GatewayOptions,
  ) {
    this.#now = options.now ?? Date.now
    this.access = new AccessTokens(options.tokenLifeMs ?? defaultLifeMs, this.#now)
    this.#state = this.#newState()
    const tls = options.authority.server()
    this.#server = model.isHttp2
      ? createSecureServer({
          ...tls,
          ca: options.authority.ca,
          requestCert: true,
          rejectUnauthorized: false,
          settings: { maxConcurrentStreams: 1 },
        })
      : createServer(tls)
    this.#server.on('request', (request: AnyRequest, response: AnyResponse) => {
      void this.#serve(request, response)
    })
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => this.#sockets.delete(socket))
    })
    this.#server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session)
      session.on('error', () => {})
      if ((session.socket as TLSSocket).authorized) this.#raiseLimit(session)
      session.once('close', () => this.#sessions.delete(session))
    })
  }

  static async start(model: GatewayModel, options: GatewayOptions): Promise<SimulatedGateway> {
    const gateway = new SimulatedGateway(model, options)
    gateway.#server.listen(options.port ?? 0, '127.0.0.1')
    await once(gateway.#server, 'listening')
    return gateway
  }

  get channel(): SimulatedChannel {
    return this.model.channel
  }

  /** The JSON file of a service account, which it accepts too; "" for none. */
  get account(): string {
    return this.model.account ?? ''
  }

  /** Its origin. */
  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#sockets.size
  }

  /** Maximum number of concurrent requests so far. */
  get mostStreams(): number {
    return this.#mostStreams
  }

  /** Certificate for a sender. */
  get certificate(): SimulatedCertificate {
    const { channel, credentials, authPath } = this.model
    return {
      ...credentials,
      channel,
      environment: 'production',
      endpoint: {
        sendUrl: this.url,
        ...(authPath === undefined ? {} : { authUrl: this.url + authPath }),
        ca: this.options.authority.ca,
      },
    }
  }

  /**
   * Sends receipts of the messages accepted since the last call, as the vendor does.
   * @returns number of requests that were answered with 200
   */
  async sendReceipts(): Promise<number> {
    const deliveries = this.deliveries.splice(0)
    const requests = this.model.receipts(deliveries, {
      url: this.options.receiptUrl ?? '',
      now: Date.now(),
    })
    const answers = await Promise.all(
      requests
        .filter(({ url }) => url !== '')
        .map(({ url, contentType, body, headers }) =>
          fetch(url, {
            method: 'POST',
            headers: { 'content-type': contentType, ...headers },
            body,
          }),
        ),
    )
    return answers.filter(({ status }) => status === 200).length
  }

  /** Asks every connection to end after its requests in progress (HTTP/2 only). */
  goAway(): void {
    for (const session of this.#sessions) session.close()
  }

  /** Ends every connection at once. */
  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.cutConnections()
    await closed
  }

  #newState(): GatewayState {
    return {
      now: this.#now,
      retryAfterSeconds: this.options.retryAfterSeconds ?? 1,
      nextId: () => `${this.channel}-${++this.#ids}`,
      wholeScript: (tokens) => this.#wholeScript(tokens),
      scriptOf: (token) => {
        const name = this.#scriptOf(token)
        return scripts[name].isWhole ? 'accept' : name
      },
      deliver: (delivery) => {
        this.deliveries.push({ ...delivery, script: this.#scriptOf(delivery.token) })
        if (this.deliveries.length > maxRecorded) this.deliveries.shift()
      },
      access: this.access,
      memory: new Map(),
    }
  }

  #scriptOf(token: string): ScriptName {
    return scriptOf(token, this.channel === 'ios_gw')
  }

  #wholeScript(tokens: readonly string[]): ScriptName | null {
    for (const token of tokens) {
      const name = this.#scriptOf(token)
      const { isOnce, isWhole } = scripts[name]
      if (!isWhole || this.#spent.has(token)) continue
      if (isOnce) this.#spent.add(token)
      return name
    }
    return null
  }

  async #serve(request: AnyRequest, response: AnyResponse): Promise<void> {
    this.#mostStreams = Math.max(this.#mostStreams, ++this.#streams)
    this.#countEnd(response)
    const call = await this.#read(request)
    if (call === null || this.#refusesStream(request as Http2ServerRequest)) return
    await this.options.beforeAnswer?.(call)
    const reply = this.#answer(call)
    this.#record({ ...call, channel: this.channel, at: Date.now(), reply })
    if (typeof reply === 'object') write(response, reply, this.#now())
    else this.#endWithoutAnswer(request, reply)
    const session = (request as Http2ServerRequest).stream?.session
    if (session && typeof reply === 'object' && reply.status === 200)
      this.#raiseLimit(session as ServerHttp2Session)
    if (this.options.sendsReceipts) await this.sendReceipts().catch(() => 0)
  }

  #answer(call: GatewayCall): GatewayReply {
    try {
      return this.model.answer(call, this.#state)
    } catch (error) {
      // The fields cannot be decoded.
      return { status: 400, body: { error: String(error) } }
    }
  }

  /** A stream counts until its answer is written or it ends without one. */
  #countEnd(response: AnyResponse): void {
    let isOpen = true
    const end = () => {
      if (isOpen) this.#streams--
      isOpen = false
    }
    response.once('finish', end)
    response.once('close', end)
  }

  #raiseLimit(session: ServerHttp2Session): void {
    if (this.#proved.has(session) || session.destroyed) return
    this.#proved.add(session)
    session.settings({ maxConcurrentStreams: this.options.maxStreams ?? defaultStreams })
  }

  /** A connection that has sent GOAWAY processes no more streams. */
  #refusesStream({ stream }: Partial<Http2ServerRequest>): boolean {
    if (!stream?.session || !this.#leaving.has(stream.session)) return false
    stream.close(constants.NGHTTP2_REFUSED_STREAM)
    return true
  }

  #endWithoutAnswer(request: AnyRequest, reply: Exclude<GatewayReply, JsonReply>): void {
    if (reply === 'cut') request.socket.destroy()
    const { stream } = request as Http2ServerRequest
    // RFC 9113, 8.7: unprocessed streams are refused. GOAWAY itself cannot say so here: Node's
    // server corrupts its memory when it names a stream before others that are open.
    if (reply === 'goaway' && stream?.session) {
      const { session } = stream
      this.#leaving.add(session)
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
      setImmediate(() => session.destroyed || session.goaway(constants.NGHTTP2_NO_ERROR))
    }
  }

  #record(call: RecordedCall): void {
    this.calls.push(call)
    if (this.calls.length > maxRecorded) this.calls.shift()
    this.options.onCall?.(call)
  }

  async #read(request: AnyRequest): Promise<GatewayCall | null> {
    const chunks: Buffer[] = []
    let size = 0
    try {
      for await (const chunk of request) {
        size += (chunk as Buffer).length
        if (size <= maxBodyBytes) chunks.push(chunk as Buffer)
      }
    } catch {
      // The sender has given up.
      return null
    }
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    return {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: Object.fromEntries(headers),
      body: Buffer.concat(chunks).toString(),
      origin: this.url,
      clientUid: clientUid(request.socket as TLSSocket),
    }
  }
}

/** Returns the UID in the subject of a client certificate of the gateway's authority. */
function clientUid(socket: TLSSocket): string {
  if (!socket.authorized) return ''
  const subject: Record<string, unknown> = { ...socket.getPeerCertificate().subject }
  return String(subject.UID ?? '')
}

function write(
  response: AnyResponse,
  { status, body, headers = {} }: JsonReply,
  now: number,
): void {
  const text = body === null ? '' : JSON.stringify(body)
  const type = body === null ? {} : { 'content-type': 'application/json' }
  // The types of the two servers differ, their methods do not.
  const either = response as ServerResponse
  either.writeHead(status, { ...type, date: new Date(now).toUTCString(), ...headers })
  either.end(text)
}
