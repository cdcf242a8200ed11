/** The ways to the operator operations: the server that uses the data folder, this process, or a URL. */
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { join, relative } from 'node:path'
import { operationsById } from '@hermod/protocol'
import type { LoadedConfig } from '../../config/config.js'
import { options } from '../../config/options.js'

/** The answer of every operation; code 200 is success. */
export interface OperatorAnswer {
  readonly code: number
  readonly data: unknown
  readonly message: string | null
}

/** Parameters of an operation by name. */
export type OperatorParams = Readonly<Record<string, unknown>>

export interface OperatorCalls {
  /** The operations run in this process: there is no server. */
  readonly isLocal: boolean
  /** @param params by their names on the wire; undefined ones are left out */
  call(operationId: string, params: OperatorParams): Promise<OperatorAnswer>
  close(): Promise<void>
}

/** Opens the operator operations in this process, on the database itself. */
export type LocalCalls = (loaded: LoadedConfig) => Promise<OperatorCalls>

/** A command failed; the message says what to do. Exit code 1. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'

  /** @param code the code of the envelope, when an operation refused */
  constructor(
    message: string,
    readonly code?: number,
  ) {
    super(message)
  }
}

/** The service ended for its supervisor to start it again. Exit code 75. */
export class RestartNeeded extends Error {
  override readonly name = 'RestartNeeded'
}

/** Silence for longer than this ends a call; a check of a large database takes minutes. */
const maxSilenceMs = 600_000
const maxConnectMs = 5000

/**
 * The socket on which a running server serves the operator operations to callers that may open it.
 * Relative to the working folder when that is shorter, because a socket's path has room for about a
 * hundred bytes.
 */
export function controlSocketPath(dataDir: string): string {
  const absolute = join(dataDir, 'control.sock')
  const fromHere = relative(process.cwd(), absolute)
  return fromHere.length < absolute.length ? fromHere : absolute
}

/** The longest path of a socket that every system accepts, less its end. */
const maxSocketPathBytes = 103

/** Tells whether a server can listen at a path; some versions of Node cut longer ones, others refuse them. */
export function fitsSocketPath(path: string): boolean {
  return Buffer.byteLength(path) <= maxSocketPathBytes
}

/** @param url of a server elsewhere; undefined: the server or the database of this machine's configuration */
export async function openOperatorCalls(
  loaded: LoadedConfig,
  local: LocalCalls,
  url?: string,
): Promise<OperatorCalls> {
  if (url !== undefined) return remoteCalls(url, loaded.secrets.operatorToken)
  const socketPath = controlSocketPath(loaded.config.dataDir)
  return fitsSocketPath(socketPath) && (await accepts(socketPath))
    ? new HttpCalls({ socketPath }, '', 'the running server')
    : local(loaded)
}

function remoteCalls(input: string, operatorToken: string | null): OperatorCalls {
  const url = URL.canParse(input) ? new URL(input) : null
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(
      `--url must be an http or https URL, not ${input}; for example --url https://chat.example.org`,
    )
  }
  if (operatorToken === null)
    throw new CommandFailure(
      `--url needs the operator token of that server in ${options.operatorToken.name}`,
    )
  const target = {
    protocol: url.protocol,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    headers: { 'access-token': operatorToken },
  }
  return new HttpCalls(target, url.pathname.replace(/\/+$/, ''), url.origin)
}

/** No server listens: there is no socket, or it is left over from a server that was killed. */
const absentServerCodes: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED'])

/** False when no server listens; a server that cannot be reached is a failure, not an absent server. */
function accepts(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath)
    socket.setTimeout(maxConnectMs, () => socket.destroy(new Error('timeout')))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (absentServerCodes.has(error.code)) return resolve(false)
      const isForeign = error.code === 'EACCES' || error.code === 'EPERM'
      const reason = isForeign
        ? 'belongs to another user; run the command as the user of the server, or use --url'
        : `cannot be connected to: ${error.message || error.code}`
      reject(new CommandFailure(`${socketPath} ${reason}`))
    })
  })
}

class HttpCalls implements OperatorCalls {
  readonly isLocal = false

  /**
   * @param prefix comes before the path of every operation
   * @param server names the server in failures
   */
  constructor(
    private readonly target: RequestOptions,
    private readonly prefix: string,
    private readonly server: string,
  ) {}

  async call(operationId: string, params: OperatorParams): Promise<OperatorAnswer> {
    const operation = operationsById.get(operationId)
    const method = operation?.methods[0]
    if (operation === undefined || method === undefined)
      throw new Error(`unknown operation ${operationId}`)
    const inQuery = method === 'GET'
    const query = inQuery ? queryString(params) : ''
    return this.send(
      { method, path: `${this.prefix}${operation.path}${query}` },
      inQuery ? null : JSON.stringify(params),
    )
  }

  async close(): Promise<void> {}

  private async send(options: RequestOptions, body: string | null): Promise<OperatorAnswer> {
    const { status, text } = await requestText(this.target, options, body).catch(
      (error: NodeJS.ErrnoException) => {
        // A name with several addresses fails with an error that has a code and no text.
        throw new CommandFailure(`${this.server} cannot be reached: ${error.message || error.code}`)
      },
    )
    const envelope = parseAnswer(text)
    if (envelope === null)
      throw new CommandFailure(
        `${this.server} answered HTTP ${status} and no envelope; is it a Hermod server?`,
      )
    return envelope
  }
}

function queryString(params: OperatorParams): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}

function requestText(
  target: RequestOptions,
  options: RequestOptions,
  body: string | null,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const content =
      body === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const start = target.protocol === 'https:' ? httpsRequest : httpRequest
    const request = start(
      { ...target, ...options, agent: false, headers: { ...target.headers, ...content } },
      async (response) => {
        try {
          const text = Buffer.concat(await response.toArray()).toString('utf8')
          resolve({ status: response.statusCode ?? 0, text })
        } catch (error) {
          reject(error)
        }
      },
    )
    request.setTimeout(maxSilenceMs, () => request.destroy(new Error('no answer')))
    request.once('error', reject)
    request.end(body ?? undefined)
  })
}

function parseAnswer(text: string): OperatorAnswer | null {
  try {
    const parsed = JSON.parse(text) as Partial<OperatorAnswer> | null
    if (typeof parsed !== 'object' || parsed === null || typeof parsed.code !== 'number')
      return null
    return { code: parsed.code, data: parsed.data ?? null, message: parsed.message ?? null }
  } catch {
    return null
  }
}
