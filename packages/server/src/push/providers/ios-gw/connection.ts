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

/** Timing of the checks that a connection is alive. */
export interface ConnectionCare {
  /** Idle time after which a connection is pinged. */
  readonly pingAfterMs: number
  /** Time limit for the answer to a ping. */
  readonly pingTimeoutMs: number
}

export interface ConnectionOptions {
  readonly origin: string
  readonly tls: SecureClientSessionOptions & ClientSessionOptions
  readonly limits: TransportLimits
  readonly care: ConnectionCare
  readonly clock: Clock
  /**
   * Called when the gateway states its limit of streams. APNs does so again after its first
   * successful answer.
   */
  readonly limitChanged?: () => void
}

/** The gateway has not processed the request; another connection may carry it. */
export class StreamRefused extends TransportError {}

/** One HTTP/2 connection, which obeys the gateway's limit of streams and detects its own end. */
export class Http2Connection {
  /** Resolves when the gateway has stated its limit of streams, or the connection has ended. */
  readonly ready: Promise<void>
  /** Resolves when the connection has ended. */
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

  /** Reserves a stream for one {@link request}, if the limit allows one more. */
  reserve(): boolean {
    if (this.isClosing || !this.#isReady || this.#streams >= this.#maxStreams) return false
    this.#streams++
    return true
  }

  /** The gateway has answered, so requests may be sent unless the connection is closing. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** The connection opens no new streams. */
  get isClosing(): boolean {
    return this.#isClosing || this.#session.closed || this.#session.destroyed
  }

  /** Reason why the connection failed or ended. */
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
   * Sends a request on a reserved stream.
   * @throws StreamRefused when the gateway has certainly not processed the request
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

  /** Closes the connection after its last stream has ended. */
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
        // A connection with missing answers may be dead.
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

  /** Streams up to the given one finish; the gateway has not processed those above it. */
  #goAway(lastStreamId: number): void {
    this.#isClosing = true
    this.#lastProcessedStream = lastStreamId
    this.#endWhenUnused()
  }

  /**
   * Ends a connection after GOAWAY; Node would wait for the gateway to do so. The delay avoids
   * closing while a frame is being read.
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
