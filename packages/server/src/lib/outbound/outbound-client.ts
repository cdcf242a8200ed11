/** The HTTP client for addresses that users set. */
import { isIP, type Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import { type Dispatcher, ProxyAgent } from 'undici'
import { type AddressRange, forbiddenRange, isSameAddress } from './address.js'
import { attemptOrder, type ConnectSocket, connectToFirst, openSocket } from './connecting.js'
import {
  type ConnectionRequest,
  keepAliveMs,
  type OutboundConnection,
  OutboundConnections,
} from './connections.js'
import { type LookUpShares, LookUps } from './look-ups.js'
import { isLoopbackName, loopback, SystemNames } from './system-names.js'

export interface OutboundOptions {
  /** Ranges that may be called although they are not public. */
  readonly allowed: readonly AddressRange[]
  /** Name of the setting of `allowed`, for refusals. */
  readonly setting: string
  /** A proxy, which resolves names; null: none. */
  readonly proxy: string | null
  readonly lookUpShares: LookUpShares
  /** Returns all addresses of a name. Default: as the system resolves it. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
  /** Connects to an address. Default: TCP or TLS. */
  readonly connect?: ConnectSocket
  /** Time in ms, from any start. Default: the clock of the process. */
  readonly now?: () => number
}

/** A request to an address that an operator or an app has configured. */
export interface OutboundRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Time until the answer begins, ms; look-ups and connecting included. */
  readonly timeoutMs: number
  /** Requests of one share, such as an application, wait for each other's look-ups. */
  readonly share: string
  readonly signal?: AbortSignal
}

/** A request with a body. */
export interface OutboundPost extends OutboundRequest {
  readonly body: string | Buffer
}

/** The answer of another server. */
export interface OutboundAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** At most {@link maxAnswerBytes}; what came of a body that broke off. */
  readonly body: Buffer
  /** False when there is more of the body. */
  readonly isWhole: boolean
}

/** The address may not be called. The text names the setting that would allow it. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError'
}

/** Largest part of an answer that is read. */
export const maxAnswerBytes = 65_536
/** Time in which the body of an answer is read. */
const bodyMs = 1_000
/** Addresses of one name that are tried. */
const maxAddresses = 4
/** Names whose last address is remembered. */
const maxPreferred = 1_000

/**
 * Sends requests to public addresses only: http and https, without user information and
 * redirects. Names are resolved first; a name with any forbidden address is refused, and the
 * connection goes to a checked address.
 */
export class OutboundClient {
  readonly #proxy: Dispatcher | null
  readonly #connections = new OutboundConnections()
  readonly #lookUps: LookUps
  /** The address that connected last, by name. */
  readonly #preferred = new LRUCache<string, string>({ max: maxPreferred })

  constructor(private readonly options: OutboundOptions) {
    const { proxy, lookUpShares: shares, now = () => performance.now() } = options
    const names = new SystemNames()
    const { resolve = (name) => names.resolve(name) } = options
    this.#lookUps = new LookUps({ resolve, now, shares })
    const limits = { keepAliveTimeout: keepAliveMs, keepAliveMaxTimeout: keepAliveMs }
    this.#proxy = proxy === null ? null : new ProxyAgent({ ...limits, uri: proxy })
  }

  /**
   * @throws ForbiddenAddressError
   * @throws Error of the network, or of the signal or the time limit
   */
  post({ body, ...request }: OutboundPost): Promise<OutboundAnswer> {
    return this.#send(request, { method: 'POST', body })
  }

  /** @throws as {@link post} */
  get(request: OutboundRequest): Promise<OutboundAnswer> {
    return this.#send(request, { method: 'GET', body: null })
  }

  async #send(
    { share, timeoutMs, headers, ...request }: OutboundRequest,
    content: Pick<ConnectionRequest, 'method' | 'body'>,
  ): Promise<OutboundAnswer> {
    const url = checkedUrl(request.url)
    this.#checkLiteral(literalOf(url))
    // A signal of AbortSignal.timeout may be collected as garbage while AbortSignal.any waits for it.
    const late = new AbortController()
    const end = () => late.abort(noAnswer(timeoutMs))
    const timer = setTimeout(end, timeoutMs)
    const signal = request.signal ? AbortSignal.any([late.signal, request.signal]) : late.signal
    const sent = { ...content, path: url.pathname + url.search, headers, signal }
    try {
      if (this.#proxy === null) return await this.#sendDirectly(url, share, sent)
      return await read(await this.#proxy.request({ ...sent, origin: url.origin }))
    } finally {
      clearTimeout(timer)
    }
  }

  /** Servers close idle connections at any moment: then the request is repeated on a new one. */
  async #sendDirectly(url: URL, share: string, sent: ConnectionRequest): Promise<OutboundAnswer> {
    const { origin } = url
    const idle = this.#connections.take(origin)
    try {
      if (idle !== null) return await this.#sendOn(idle, sent)
    } catch (error) {
      if (!isReset(error)) throw error
    }
    const socket = await this.#connect(url, share, sent.signal)
    return this.#sendOn(this.#connections.add(origin, socket), sent)
  }

  async #sendOn(connection: OutboundConnection, sent: ConnectionRequest): Promise<OutboundAnswer> {
    try {
      const answer = await read(await connection.send(sent))
      if (answer.isWhole) this.#connections.giveBack(connection)
      else connection.destroy()
      return answer
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  /** Ends all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#connections.destroy()
    await this.#proxy?.destroy()
  }

  /** Resolves the name, checks all addresses, and connects to one of them. */
  async #connect(url: URL, share: string, signal: AbortSignal): Promise<Socket> {
    const name = unbracketed(url.hostname)
    const isName = !isIP(name)
    const addresses = isName
      ? await orAborted(this.#lookUps.addressesOf(name, share), signal)
      : [name]
    for (const address of addresses) this.#checkAddress(address, name)
    const isSecure = url.protocol === 'https:'
    const port = Number(url.port === '' ? (isSecure ? 443 : 80) : url.port)
    // An address in a URL is no name of a certificate.
    const servername = isSecure ? (isName ? name : '') : null
    const { connect = openSocket } = this.options
    const ordered = attemptOrder(addresses, this.#preferred.get(name)).slice(0, maxAddresses)
    return connectToFirst(
      ordered,
      async (address, attempt) => {
        const socket = await connect({ address, port, servername }, attempt)
        if (isSameAddress(socket.remoteAddress ?? '', address)) {
          if (isName) this.#preferred.set(name, address)
          return socket
        }
        socket.destroy()
        throw new ForbiddenAddressError(`${name} was connected to another address than ${address}`)
      },
      signal,
    )
  }

  #checkLiteral(address: string | null): void {
    if (address !== null) this.#checkAddress(address, address)
  }

  /** @throws ForbiddenAddressError */
  #checkAddress(address: string, name: string): void {
    const { allowed, setting } = this.options
    const range = forbiddenRange(address, allowed)
    if (range === null) return
    const place = address === name ? address : `${name} (${address})`
    throw new ForbiddenAddressError(
      `${place} is no public address (${range}); ${setting} can allow it`,
    )
  }
}

/**
 * Returns the reason why requests to a URL are refused before any name is resolved; null for none.
 * Names of this machine need no look-up.
 * @param options see {@link OutboundOptions}
 */
export function urlFault(
  text: string,
  { allowed, setting, proxy }: Pick<OutboundOptions, 'allowed' | 'setting' | 'proxy'>,
): string | null {
  try {
    const url = checkedUrl(text)
    const address = literalOf(url)
    const range = address === null ? null : forbiddenRange(address, allowed)
    if (range !== null) return `is no public address (${range}); ${setting} can allow it`
    const isOwn = proxy === null && isLoopbackName(url.hostname)
    return isOwn && loopback.every((each) => forbiddenRange(each, allowed) !== null)
      ? `leads to no public address (loopback); ${setting} can allow ${loopback.join(' and ')}`
      : null
  } catch (error) {
    return (error as Error).message
  }
}

/** @throws ForbiddenAddressError when it is no http or https URL, or has user information */
function checkedUrl(text: string): URL {
  if (!URL.canParse(text)) throw new ForbiddenAddressError('is no URL')
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ForbiddenAddressError('must begin with http:// or https://')
  if (url.username !== '' || url.password !== '')
    throw new ForbiddenAddressError('must have no user name and no password')
  return url
}

/** Returns the IP address in a URL, which the URL parser has written in its usual form; or null. */
function literalOf({ hostname }: URL): string | null {
  const host = unbracketed(hostname)
  return isIP(host) ? host : null
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

/** Waits for a result, or until the signal is aborted. @throws the reason of the signal */
function orAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Tests whether the server has closed the connection. */
function isReset(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as { code?: string }).code ?? '')
}

/** Reads the beginning of an answer. */
async function read({
  statusCode,
  headers,
  body,
}: Dispatcher.ResponseData): Promise<OutboundAnswer> {
  const chunks: Buffer[] = []
  let length = 0
  let isWhole = false
  const time = setTimeout(() => body.destroy(), bodyMs)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= maxAnswerBytes) break
    }
    isWhole = body.readableEnded
  } catch {
    // The status has arrived, and it is the answer.
  }
  clearTimeout(time)
  body.destroy()
  return {
    status: statusCode,
    headers,
    body: Buffer.concat(chunks).subarray(0, maxAnswerBytes),
    isWhole,
  }
}

/** The failure of a request that got no answer in its time. */
function noAnswer(timeoutMs: number): DOMException {
  return new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError')
}
