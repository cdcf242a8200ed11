/** The HTTP client for addresses that users set. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { Agent, buildConnector, type Dispatcher, ProxyAgent } from 'undici'
import { type AddressRange, forbiddenRange, isSameAddress } from './address.js'

export interface OutboundOptions {
  /** Ranges that may be called although they are not public. */
  readonly allowed: readonly AddressRange[]
  /** Name of the setting of `allowed`, for refusals. */
  readonly setting: string
  /** A proxy, which resolves names; null: none. */
  readonly proxy: string | null
  /** Returns all addresses of a name. Default: the resolver of the system. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
  /** Connects to an address. Default: TCP or TLS. */
  readonly connect?: buildConnector.connector
}

export interface OutboundRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
  /** Time until the answer has arrived, ms. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

export interface OutboundAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** At most {@link maxAnswerBytes}; what came of a body that broke off. */
  readonly body: Buffer
}

/** The address may not be called. The text names the setting that would allow it. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError'
}

/** Largest part of an answer that is read. */
export const maxAnswerBytes = 65_536
const connectTimeoutMs = 10_000
const keepAliveMs = 10_000
/** Addresses of one name that are tried. */
const maxAddresses = 4

/**
 * Sends POST requests to public addresses only: http and https, without user information and
 * redirects. Names are resolved first; a name with any forbidden address is refused, and the
 * connection goes to a checked address.
 */
export class OutboundClient {
  readonly #dispatcher: Dispatcher
  /** In progress, by name. */
  readonly #lookUps = new Map<string, Promise<readonly string[]>>()

  constructor(private readonly options: OutboundOptions) {
    const { proxy } = options
    const limits = { keepAliveTimeout: keepAliveMs, keepAliveMaxTimeout: keepAliveMs }
    this.#dispatcher =
      proxy === null
        ? new Agent({ ...limits, connect: this.#connector() })
        : new ProxyAgent({ ...limits, uri: proxy })
  }

  /**
   * @throws ForbiddenAddressError
   * @throws Error of the network, or of the signal or the time limit
   */
  async post(request: OutboundRequest): Promise<OutboundAnswer> {
    const { headers, body, timeoutMs } = request
    const url = checkedUrl(request.url)
    this.#checkLiteral(literalOf(url))
    const time = AbortSignal.timeout(timeoutMs)
    const signal = request.signal ? AbortSignal.any([time, request.signal]) : time
    const answer = await this.#dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers,
      body,
      signal,
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: await beginningOf(answer.body),
    }
  }

  /** Ends all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispatcher.destroy()
  }

  /** Returns a connector that resolves names, checks all addresses, and connects to one of them. */
  #connector(): buildConnector.connector {
    const connect = this.options.connect ?? buildConnector({ timeout: connectTimeoutMs })
    return (target, callback) => {
      this.#connect(target, connect).then(
        (socket) => callback(null, socket),
        (error) => callback(error as Error, null),
      )
    }
  }

  async #connect(target: buildConnector.Options, connect: buildConnector.connector) {
    const name = unbracketed(target.hostname)
    const addresses = isIP(name) ? [name] : await this.#resolve(name)
    for (const address of addresses) this.#checkAddress(address, name)
    const checked = addresses.slice(0, maxAddresses)
    let failure: unknown = new Error(`${name} has no address`)
    for (const address of checked)
      try {
        const servername = target.servername || (isIP(name) ? undefined : name)
        const named = servername === undefined ? {} : { servername }
        const socket = await connected(connect, { ...target, ...named, hostname: address })
        if (isSameAddress(socket.remoteAddress ?? '', address)) return socket
        socket.destroy()
        throw new ForbiddenAddressError(`${name} was connected to another address than ${address}`)
      } catch (error) {
        failure = error
      }
    throw failure
  }

  /** Looks a name up; requests that need it at the same time share the answer. */
  #resolve(name: string): Promise<readonly string[]> {
    const { resolve = systemAddresses } = this.options
    const lookUp =
      this.#lookUps.get(name) ?? resolve(name).finally(() => this.#lookUps.delete(name))
    this.#lookUps.set(name, lookUp)
    return lookUp
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
 * @param allowed see {@link OutboundOptions}
 */
export function urlFault(
  text: string,
  { allowed, setting }: Pick<OutboundOptions, 'allowed' | 'setting'>,
): string | null {
  try {
    const address = literalOf(checkedUrl(text))
    const range = address === null ? null : forbiddenRange(address, allowed)
    return range === null ? null : `is no public address (${range}); ${setting} can allow it`
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

/** Returns the addresses of a name as the resolver of the system knows them. */
export async function systemAddresses(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

function connected(connect: buildConnector.connector, target: buildConnector.Options) {
  return new Promise<NonNullable<Parameters<buildConnector.Callback>[1]>>((resolve, reject) =>
    connect(target, (error, socket) => (error ? reject(error) : resolve(socket as never))),
  )
}

/** Reads the beginning of a body; one that breaks off ends there. */
async function beginningOf(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= maxAnswerBytes) break
    }
  } catch {
    // The status has arrived, and it is the answer.
  }
  body.destroy()
  return Buffer.concat(chunks).subarray(0, maxAnswerBytes)
}
