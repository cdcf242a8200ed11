import { randomBytes } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { Child } from '../processes/child.js'
import { freePort } from '../processes/free-port.js'
import { TempFolder } from '../temp-folder.js'
import { waitFor } from '../wait.js'
import {
  account,
  confPath,
  daemons,
  ringProgram,
  type SwiftDaemon,
  type SwiftPorts,
  writeSwiftFiles,
} from './swift-files.js'

/** Folder of Debian's packages swift-proxy, swift-account, swift-container and swift-object. */
const binDir = '/usr/bin'
/** Swift is a module of the system's Python, not necessarily of the first one in PATH. */
const python = '/usr/bin/python3'
const maxTries = 3

/** Tests whether OpenStack Swift is installed on this machine. */
export function hasSwift(): boolean {
  try {
    for (const name of daemons) accessSync(program(name), constants.X_OK)
    accessSync(python, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * OpenStack Swift with its S3 interface: five processes in a temporary folder, on free loopback
 * ports.
 */
export class SwiftServer implements AsyncDisposable {
  readonly region = 'us-east-1'
  readonly accessKeyId = account.user
  readonly secretAccessKey = account.key
  readonly #folder = new TempFolder('swift')
  #daemons: readonly Child[] = []
  #url = ''
  #token = ''

  private constructor() {}

  static async start(): Promise<SwiftServer> {
    for (let tries = 1; ; tries++) {
      const server = new SwiftServer()
      try {
        await server.#launch()
        return server
      } catch (error) {
        await server[Symbol.asyncDispose]()
        // Another process may have taken one of the ports.
        if (tries === maxTries) throw error
      }
    }
  }

  /** The endpoint of S3. */
  get url(): string {
    return this.#url
  }

  /**
   * Creates an empty bucket.
   * @returns its name
   */
  async createBucket(): Promise<string> {
    const bucket = `test-${randomBytes(8).toString('hex')}`
    await this.#call('PUT', bucket)
    return bucket
  }

  /** Returns the sorted names of all objects in a bucket. */
  async names(bucket: string): Promise<string[]> {
    const text = await (await this.#call('GET', bucket)).text()
    return text.split('\n').filter((name) => name !== '')
  }

  /**
   * Stores an object through Swift's own interface.
   * @returns its ETag, without quotes
   */
  async store(
    bucket: string,
    name: string,
    { body, contentType }: { readonly body: Blob; readonly contentType: string },
  ): Promise<string> {
    const headers = { 'content-type': contentType }
    const { headers: answer } = await this.#call('PUT', `${bucket}/${name}`, { body, headers })
    return answer.get('etag') ?? ''
  }

  /** Output of the processes. */
  output(): string {
    return this.#daemons.map((daemon) => daemon.output()).join('')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const daemon of this.#daemons) daemon.killTree()
    await Promise.all(this.#daemons.map(({ exited }) => exited))
    this.#folder[Symbol.dispose]()
  }

  async #launch(): Promise<void> {
    const { path } = this.#folder
    const ports = await freePorts()
    writeSwiftFiles(path, ports)
    const rings = new Child([python, '-c', ringProgram(path, ports)])
    if ((await rings.exited).code !== 0) throw new Error(`no rings of Swift:\n${rings.output()}`)
    const env = { ...process.env, PYTHONPATH: path }
    this.#daemons = daemons.map(
      (name) => new Child([program(name), confPath(path, name), '-v'], { env, cwd: path }),
    )
    this.#url = `http://127.0.0.1:${ports.proxy}`
    this.#token = await waitFor(() => this.#logIn(), {
      what: 'an answer of Swift',
      timeoutMs: 60_000,
      everyMs: 50,
    })
  }

  /** @returns undefined: not yet */
  async #logIn(): Promise<string | undefined> {
    const ended = this.#daemons.find(({ exit }) => exit !== null)
    if (ended) throw new Error(`Swift ended:\n${ended.output()}`)
    const headers = { 'x-auth-user': account.user, 'x-auth-key': account.key }
    try {
      const answer = await fetch(`${this.#url}/auth/v1.0`, { headers })
      const token = answer.headers.get('x-auth-token') ?? undefined
      if (token === undefined) return undefined
      // The first write creates the account, once all daemons have started.
      const options = { method: 'PUT', headers: { 'x-auth-token': token } }
      const { ok } = await fetch(`${this.#url}${account.path}/start`, options)
      return ok ? token : undefined
    } catch {
      return undefined
    }
  }

  async #call(
    method: string,
    path: string,
    { body, headers }: { readonly body?: Blob; readonly headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const answer = await fetch(`${this.#url}${account.path}/${path}`, {
      method,
      headers: { ...headers, 'x-auth-token': this.#token },
      ...(body && { body }),
    })
    if (!answer.ok) throw new Error(`Swift: ${method} ${path}: ${answer.status}\n${this.output()}`)
    return answer
  }
}

function program(name: SwiftDaemon): string {
  return join(binDir, `swift-${name}-server`)
}

async function freePorts(): Promise<SwiftPorts> {
  const ports = await Promise.all(daemons.map(async (name) => [name, await freePort()] as const))
  return Object.fromEntries(ports) as Record<SwiftDaemon, number>
}
