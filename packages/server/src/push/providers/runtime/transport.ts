/** Requests to a gateway and its answers, independent of the HTTP version. */

export interface GatewayRequest {
  readonly method: 'POST'
  readonly url: string
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A gateway's answer of any status, with its complete body. */
export interface GatewayAnswer {
  readonly status: number
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  /** Milliseconds since 1970. */
  readonly receivedAt: number
}

/**
 * Connections to a gateway, with the trusted authorities and the client certificate of one push
 * certificate.
 */
export interface Transport {
  /** @throws TransportError */
  request(request: GatewayRequest): Promise<GatewayAnswer>
  /** Closes the connections after the requests in progress. */
  close(): Promise<void>
}

/** The gateway did not answer. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  /** A word such as `timeout`, or a code of the operating system. */
  readonly code: string
  /** False: the gateway has certainly not processed the request. */
  readonly mayBeDelivered: boolean

  constructor(
    message: string,
    options: { code: string; mayBeDelivered: boolean; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.code = options.code
    this.mayBeDelivered = options.mayBeDelivered
  }
}

/** Timeouts of connections and answers, and the number of connections. */
export interface TransportLimits {
  readonly connectTimeoutMs: number
  /** From the start of a request to the end of its answer. */
  readonly requestTimeoutMs: number
  /**
   * HTTP/2 only: maximum number of connections, default 1. A connection carries many requests at
   * once; one of HTTP/1.1 carries one.
   */
  readonly maxConnections?: number
}
