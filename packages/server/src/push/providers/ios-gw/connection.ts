import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type SecureClientSessionOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Clock } from '../../../lib/clock.js'
import {
  type GatewayAnswer,
  type GatewayRequest,
  TransportError,
  type TransportLimits,
} from '../runtime/transport.js'

const maxAnswerBytes = 64 * 1024

/** How connections are watched. */
export interface ConnectionCare {
  /** How long a connection may be idle before it is asked for a sign of life. */
  readonly pingAfterMs: number
  /** How long the answer to that may take. */
  readonly pingTimeoutMs: number
}

export interface ConnectionOptions {
  readonly origin: string
  readonly tls: SecureClientSessionOptions & ClientSessionOptions
  readonly limits: TransportLimits
  readonly care: ConnectionCare
  readonly clock: Clock
  /** The gateway has said how many streams it allows; it may do so again, as APNs does after its first good answer. */
  readonly limitChanged?: () => void
}

/** The gateway has not looked at the request; another connection may carry it. */
export class StreamRefused extends TransportError {}

/** One connection of HTTP/2: streams up to the gateway's limit, and an end that is noticed. */
export class Http2Connection {
  /** Resolves when the gateway has said how many streams it allows, or the connection is gone. */
  readonly ready: Promise<void>
  /** Resolves when the connection is gone. */
  readonly gone: Promise<void>
  readonly #session: ClientHttp2Session
  readonly #pingTimer: NodeJS.Timeout
  #socket: Socket | null = null
  #streams = 0
  #isClosing = false
  #isReady = false
  #lastProcessedStream = Number.POSITIVE_INFINITY
  #error: NodeJS.ErrnoException | null = null

  constructor(private readonly options: ConnectionOptions) {
    const { origin, tls, limits, care } = options
    const session = connect(origin, { ...tls, settings: { enablePush: false } })
    this.#session = session
    this.gone = new Promise((resolve) => session.once('close', resolve))
    const settled = new Promise<void>((resolve) => {
      session.on('remoteSettings', () => {
        this.#isReady = true
        resolve()
        options.limitChanged?.()
      })
    })
    this.ready = Promise.race([settled, this.gone])
    session.once('connect', (_session, socket) => {
      this.#socket = socket
    })
    session.on('error', (error) => {
      this.#error ??= error
    })
    session.on('goaway', (_code, lastStreamId) => this.#goAway(lastStreamId))
    const connectTimer = setTimeout(() => this.#failConnecting(), limits.connectTimeoutMs)
    void this.ready.then(() => clearTimeout(connectTimer))
    this.#pingTimer = setTimeout(() => this.#ping(), care.pingAfterMs).unref()
    void this.gone.then(() => {
      this.#isClosing = true
      clearTimeout(this.#pingTimer)
    })
  }

  /** Keeps a stream for one {@link request}, if one more may be opened now. */
  reserve(): boolean {
    if (this.isClosing || !this.#isReady || this.#streams >= this.#maxStreams) return false
    this.#streams++
    return true
  }

  /** The gateway has answered: it can be sent to, as long as it is not closing. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** No new streams from now on. */
  get isClosing(): boolean {
    return this.#isClosing || this.#session.closed || this.#session.destroyed
  }

  /** Why it could not be made, or ended. */
  get error(): TransportError | null {
    const error = this.#error
    if (error === null) return null
    return new TransportError(error.message, {
      code: error.code ?? 'unknown',
      mayBeDelivered: this.#isReady,
      cause: error,
    })
  }

  /**
   * Uses a stream that was kept.
   * @throws StreamRefused when the gateway has certainly not handled the request
   * @throws TransportError
   */
  async request({ url, headers, body }: GatewayRequest): Promise<GatewayAnswer> {
    this.#pingTimer.refresh()
    try {
      return await this.#exchange(this.#openStream(new URL(url).pathname, headers), body)
    } finally {
      this.#streams--
      this.#endWhenUnused()
    }
  }

  /** Ends when its last stream has ended. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#endWhenUnused()
    await this.gone
  }

  get #maxStreams(): number {
    return this.#session.remoteSettings?.maxConcurrentStreams ?? 1
  }

  #openStream(path: string, headers: GatewayRequest['headers']): ClientHttp2Stream {
    try {
      return this.#session.request({ ':method': 'POST', ':path': path, ...headers })
    } catch (cause) {
      const options = { code: 'closing', mayBeDelivered: false, cause }
      throw new StreamRefused('the connection is closing', options)
    }
  }

  #exchange(stream: ClientHttp2Stream, body: string): Promise<GatewayAnswer> {
    return new Promise((resolve, reject) => {
      let head: (IncomingHttpHeaders & IncomingHttpStatusHeader) | null = null
      let error: NodeJS.ErrnoException | null = null
      let isLate = false
      const chunks: Buffer[] = []
      let size = 0
      const timer = setTimeout(() => {
        isLate = true
        stream.close(constants.NGHTTP2_CANCEL)
        // A connection on which answers are missing may be dead.
        this.#ping()
      }, this.options.limits.requestTimeoutMs)
      stream.on('response', (received) => {
        head = received
      })
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size <= maxAnswerBytes) chunks.push(chunk)
        else stream.close(constants.NGHTTP2_CANCEL)
      })
      stream.on('error', (received) => {
        error = received
      })
      stream.on('close', () => {
        clearTimeout(timer)
        const { id = 0, rstCode } = stream
        if (head !== null && rstCode === constants.NGHTTP2_NO_ERROR && !isLate && error === null)
          resolve(this.#answer(head, chunks))
        else reject(this.#failure({ id, rstCode, isLate, error }))
      })
      stream.end(body)
    })
  }

  #answer(head: IncomingHttpHeaders & IncomingHttpStatusHeader, chunks: Buffer[]): GatewayAnswer {
    const headers = Object.entries(head).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ])
    return {
      status: head[':status'] ?? 0,
      headers: Object.fromEntries(headers),
      body: Buffer.concat(chunks).toString(),
      receivedAt: this.options.clock.now(),
    }
  }

  #failure(end: {
    id: number
    rstCode: number
    isLate: boolean
    error: NodeJS.ErrnoException | null
  }): TransportError {
    if (end.isLate)
      return new TransportError('no answer in time', { code: 'timeout', mayBeDelivered: true })
    const isUnprocessed =
      end.rstCode === constants.NGHTTP2_REFUSED_STREAM ||
      end.id === 0 ||
      end.id > this.#lastProcessedStream
    if (isUnprocessed)
      return new StreamRefused('the gateway has not processed the request', {
        code: 'refused_stream',
        mayBeDelivered: false,
      })
    const cause = end.error ?? this.#error
    return new TransportError(cause?.message ?? 'the stream ended without an answer', {
      code: cause?.code ?? 'stream_ended',
      mayBeDelivered: true,
      cause,
    })
  }

  /** Streams up to the last one named are finished; those above it were not looked at. */
  #goAway(lastStreamId: number): void {
    this.#isClosing = true
    this.#lastProcessedStream = lastStreamId
    this.#endWhenUnused()
  }

  /**
   * Node alone would wait for the gateway to end a connection that has sent GOAWAY. The pause: not
   * while a frame is being read.
   */
  #endWhenUnused(): void {
    if (!this.#isClosing) return
    setImmediate(() => {
      if (this.#streams > 0) return
      this.#session.destroy()
      this.#socket?.destroySoon()
      this.#socket = null
    })
  }

  #failConnecting(): void {
    const error: NodeJS.ErrnoException = new Error('no connection in time')
    error.code = 'connect_timeout'
    this.#session.destroy(error)
  }

  #ping(): void {
    if (this.isClosing) return
    const { pingTimeoutMs } = this.options.care
    const timer = setTimeout(() => {
      const error: NodeJS.ErrnoException = new Error('the connection gave no sign of life')
      error.code = 'ping_timeout'
      this.#session.destroy(error)
    }, pingTimeoutMs).unref()
    this.#session.ping(() => {
      clearTimeout(timer)
      this.#pingTimer.refresh()
    })
  }
}
