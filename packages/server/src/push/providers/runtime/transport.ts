/** What a provider says to a gateway and hears from it, whatever version of HTTP carries it. */

export interface GatewayRequest {
  readonly method: 'POST'
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** An answer of a gateway, of any status; its body is read to the end. */
export interface GatewayAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  /** Milliseconds since 1970. */
  readonly receivedAt: number
}

/** Connections to gateways, with the trust and the client certificate of one push certificate. */
export interface Transport {
  /** @throws TransportError */
  request(request: GatewayRequest): Promise<GatewayAnswer>
  /** Ends the connections; what is under way is finished first. */
  close(): Promise<void>
}

/** No answer. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  /** A word such as `timeout` or a code of the system. */
  readonly code: string
  /** False: the request has certainly not been handled. */
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

/** How long connections and answers may take, and how many connections there may be. */
export interface TransportLimits {
  readonly connectTimeoutMs: number
  /** From the start of a request to the end of its answer. */
  readonly requestTimeoutMs: number
  /** Of HTTP/2, whose connections carry many requests at once; default 1. One of HTTP/1.1 carries one at a time. */
  readonly maxConnections?: number
}
