/** HTTP/1.1 with pooled connections. */
import { Agent, request as sendRequest } from 'undici'
import type { Clock } from '../../../lib/clock.js'
import {
  type GatewayAnswer,
  type GatewayRequest,
  type Transport,
  TransportError,
  type TransportLimits,
} from './transport.js'

const maxAnswerBytes = 1024 * 1024

/** Errors that occur before the first byte of a request is written. */
const beforeWriting = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_INVALID_URL',
  'UND_ERR_CLOSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_DESTROYED',
])

interface Http1Options {
  readonly limits: TransportLimits
  /** Maximum number of connections; each carries one request at a time. */
  readonly connections: number
  readonly clock: Clock
  /** PEM; defaults to the authorities that Node trusts. */
  readonly ca?: string | undefined
}

/** Sends requests to gateways over HTTP/1.1 with a bounded number of connections. */
export class Http1Transport implements Transport {
  readonly #agent: Agent

  constructor(private readonly options: Http1Options) {
    const { limits, connections, ca } = options
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      keepAliveTimeout: 30_000,
      maxResponseSize: maxAnswerBytes,
      // The deadline of the whole request replaces it.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: limits.connectTimeoutMs, ...(ca === undefined ? {} : { ca }) },
    })
  }

  async request({ method, url, headers, body }: GatewayRequest): Promise<GatewayAnswer> {
    const signal = AbortSignal.timeout(this.options.limits.requestTimeoutMs)
    try {
      const answer = await sendRequest(url, {
        dispatcher: this.#agent,
        method,
        headers,
        body,
        signal,
      })
      return {
        status: answer.statusCode,
        headers: singleHeaders(answer.headers),
        body: await answer.body.text(),
        receivedAt: this.options.clock.now(),
      }
    } catch (error) {
      throw transportError(error, signal.aborted)
    }
  }

  close(): Promise<void> {
    return this.#agent.close()
  }
}

function singleHeaders(headers: Record<string, string | string[] | undefined>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  )
}

function transportError(cause: unknown, isLate: boolean): TransportError {
  if (isLate)
    return new TransportError('no answer in time', { code: 'timeout', mayBeDelivered: true, cause })
  const { code = 'unknown', message } = cause as NodeJS.ErrnoException
  // An untrusted certificate, or another failure of the handshake.
  const isHandshake = /CERT|TLS|SSL|VERIFY|ISSUER/.test(code)
  return new TransportError(message, {
    code,
    mayBeDelivered: !beforeWriting.has(code) && !isHandshake,
    cause,
  })
}
