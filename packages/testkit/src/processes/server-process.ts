import { randomBytes } from 'node:crypto'
import { get } from 'node:http'
import { resolve } from 'node:path'
import { Api } from '../api.js'
import { TempFolder } from '../temp-folder.js'
import { TokenIssuer } from '../token-issuer.js'
import { waitFor } from '../wait.js'
import { Child, type Exit, send } from './child.js'
import { cpuMs, descendants, rssBytes } from './proc.js'

const builtCommand = resolve(import.meta.dirname, '../../../server/bin/hermod.js')

/** The used part of a test runner's context; Vitest's fits. */
export interface TestContext {
  readonly task: { readonly result?: { readonly state: string } | undefined }
  onTestFinished(callback: () => Promise<void> | void): void
}

export interface ServerOptions {
  /** A postgres:// URL; omitted: the embedded database. */
  readonly databaseUrl?: string
  /** A database for this server, instead of `databaseUrl`; removed with the server's data. */
  readonly database?: { readonly url: string } & AsyncDisposable
  /** An existing folder, which stays; omitted: a new temporary one. */
  readonly dataDir?: string
  /**
   * 0, the default: any free port, read from the log, which must then be at level info or below.
   */
  readonly port?: number
  /** Further HERMOD_* settings, which override those of the other options. Undefined unsets one. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The `hermod` script of another build; omitted: this checkout's. */
  readonly command?: string
  /** A program that runs the server, such as ['strace', '-f', …]. */
  readonly wrapper?: readonly string[]
  /**
   * Keeps the temporary data folder. HERMOD_KEEP_TEST_DATA=1 and a crash of the server do so too.
   */
  readonly keepData?: boolean
  /** The server ends with this test, and its data stays when the test failed. */
  readonly test?: TestContext
  readonly appId?: string
  readonly adminToken?: string
  readonly operatorToken?: string
  /** Default 30 000. */
  readonly readyTimeoutMs?: number
  /**
   * Path that answers 200 once the server has started; /healthz if it is not expected to be ready.
   * Default /readyz.
   */
  readonly startedAt?: '/readyz' | '/healthz'
}

/** The server ended, or was not ready in time. */
export class ServerStartError extends Error {
  override readonly name = 'ServerStartError'
  /** Its complete output. */
  readonly output: string
  /** Null: it did not end on its own. */
  readonly exit: Exit | null

  constructor(what: string, child: Child) {
    super(`${what}\n${child.output()}`)
    this.output = child.output()
    this.exit = child.exit
  }
}

/**
 * Runs the built server as a separate process; resolves when /readyz, or `startedAt`, answers 200.
 * Rate limits are off, and failed logins cause no delay, unless `env` says otherwise.
 * @throws ServerStartError
 */
export async function startServer(options: ServerOptions = {}): Promise<ServerProcess> {
  const folder = options.dataDir === undefined ? new TempFolder('server') : null
  const belongings = { folder, database: options.database ?? null }
  try {
    return await launch(
      { appId: 'test', adminToken: newToken('hma_'), operatorToken: newToken('hmo_'), ...options },
      belongings,
    )
  } catch (error) {
    await discard(belongings)
    throw error
  }
}

function newToken(prefix: string): string {
  return prefix + randomBytes(24).toString('hex')
}

/** Resources that are removed with the last process that uses them. */
interface Belongings {
  readonly folder: TempFolder | null
  readonly database: AsyncDisposable | null
}

const nothing: Belongings = { folder: null, database: null }

async function discard({ folder, database }: Belongings): Promise<void> {
  folder?.[Symbol.dispose]()
  await database?.[Symbol.asyncDispose]()
}

type LaunchOptions = ServerOptions &
  Required<Pick<ServerOptions, 'appId' | 'adminToken' | 'operatorToken'>>

async function launch(options: LaunchOptions, belongings: Belongings): Promise<ServerProcess> {
  const dataDir = belongings.folder?.path ?? options.dataDir ?? ''
  const startedAt = performance.now()
  const [program = process.execPath, ...args] = [
    ...(options.wrapper ?? []),
    process.execPath,
    options.command ?? builtCommand,
    'serve',
  ]
  const child = new Child([program, ...args], { env: environment(options, dataDir) })
  try {
    const url = await becomesReady(child, options)
    return new ServerProcess({
      child,
      belongings,
      options,
      url,
      dataDir,
      startupMs: performance.now() - startedAt,
    })
  } catch (error) {
    child.killTree()
    await child.exited
    throw error instanceof ServerStartError
      ? error
      : new ServerStartError((error as Error).message, child)
  }
}

/**
 * Returns the environment of this process without HERMOD_* settings and the test runner's Node
 * options.
 */
function environment(options: LaunchOptions, dataDir: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('HERMOD_') && name !== 'NODE_OPTIONS',
  )
  return {
    ...Object.fromEntries(inherited),
    HERMOD_HOST: '127.0.0.1',
    HERMOD_PORT: String(options.port ?? 0),
    HERMOD_DATA_DIR: dataDir,
    HERMOD_DATABASE_URL: options.database?.url ?? options.databaseUrl,
    HERMOD_RATE_LIMIT: 'off',
    HERMOD_LOGIN_USER_FAILURES: '1000000',
    HERMOD_LOGIN_ADDRESS_FAILURES: '1000000',
    HERMOD_BOOTSTRAP_APP_ID: options.appId,
    HERMOD_BOOTSTRAP_ADMIN_TOKEN: options.adminToken,
    HERMOD_OPERATOR_TOKEN: options.operatorToken,
    ...options.env,
  }
}

async function becomesReady(
  child: Child,
  { port = 0, readyTimeoutMs = 30_000, startedAt = '/readyz' }: ServerOptions,
): Promise<string> {
  let url = port === 0 ? null : `http://127.0.0.1:${port}`
  const unwatch = child.watch((line) => {
    url ??= listeningUrl(line)
  })
  const patience = { what: 'readiness of the server', timeoutMs: readyTimeoutMs, everyMs: 2 }
  try {
    return await waitFor(async () => {
      if (child.exit)
        throw new ServerStartError(`The server ended with ${JSON.stringify(child.exit)}`, child)
      return url !== null && (await answers(`${url}${startedAt}`)) && url
    }, patience)
  } finally {
    unwatch()
  }
}

function listeningUrl(line: string): string | null {
  if (!line.startsWith('{') || !line.includes('"listening"')) return null
  const { url } = JSON.parse(line) as { url?: string }
  return url ?? null
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const outgoing = get(url, { agent: false, timeout: 5000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', () => resolve(false))
  })
}

interface Started {
  readonly child: Child
  readonly belongings: Belongings
  readonly options: LaunchOptions
  readonly url: string
  readonly dataDir: string
  readonly startupMs: number
}

/** A running server. Disposing kills it and removes its temporary data. */
export class ServerProcess implements AsyncDisposable {
  readonly url: string
  readonly dataDir: string
  readonly appId: string
  readonly adminToken: string
  readonly operatorToken: string
  /** undefined: the embedded database */
  readonly databaseUrl: string | undefined
  /** From the start of the process to the first 200 of /readyz. */
  readonly startupMs: number
  /** The server's own process, even inside a wrapper. */
  readonly pid: number
  /** Calls without a token; `api.admin()` and `api.newSession()` return callers with a token. */
  readonly api: Api
  readonly exited: Promise<Exit>
  /** Can be set at any time before disposal. */
  keepData: boolean
  readonly #child: Child
  readonly #options: LaunchOptions
  readonly #tokens: TokenIssuer
  #belongings: Belongings
  #endedByUs = false

  constructor({ child, belongings, options, url, dataDir, startupMs }: Started) {
    this.#child = child
    this.#belongings = belongings
    this.#options = options
    this.url = url
    this.dataDir = dataDir
    this.startupMs = startupMs
    this.appId = options.appId
    this.adminToken = options.adminToken
    this.operatorToken = options.operatorToken
    this.keepData = options.keepData ?? process.env.HERMOD_KEEP_TEST_DATA === '1'
    this.pid = options.wrapper?.length ? (descendants(child.pid).at(-1) ?? child.pid) : child.pid
    const { appId, adminToken, operatorToken } = options
    const databaseUrl = options.database?.url ?? options.databaseUrl
    this.databaseUrl = databaseUrl
    this.#tokens = new TokenIssuer({ dataDir, databaseUrl })
    const issueToken = this.#tokens.issue.bind(this.#tokens)
    this.api = new Api({ url, appId, adminToken, operatorToken, issueToken })
    this.exited = child.exited
    this.#endWith(options.test)
  }

  /** Its output so far. */
  output(): string {
    return this.#child.output()
  }

  signal(signal: NodeJS.Signals): void {
    this.#endedByUs = true
    if (this.#child.exit === null) send(this.pid, signal)
  }

  /** Kills it and waits for its end. */
  async kill9(): Promise<Exit> {
    this.#endedByUs = true
    this.signal('SIGKILL')
    this.#child.killTree()
    return this.exited
  }

  /** Sends SIGTERM and waits for its end. */
  async stop(): Promise<Exit> {
    this.signal('SIGTERM')
    return this.exited
  }

  /**
   * Starts another process on the same data with the same tokens, after this one has ended. The new
   * process owns temporary data and removes it.
   */
  async startAgain(changes: Omit<ServerOptions, 'dataDir'> = {}): Promise<ServerProcess> {
    if (this.#child.exit === null) throw new Error('the server still runs')
    await this.#release()
    const next = await launch(
      { ...this.#options, dataDir: this.dataDir, keepData: this.keepData, ...changes },
      this.#belongings,
    )
    this.#belongings = nothing
    return next
  }

  rssBytes(): number {
    return rssBytes(this.pid)
  }

  /** User and system time of all its threads since its start. */
  cpuMs(): number {
    return cpuMs(this.pid)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = this.#child.exit
    const failedByItself = exit !== null && exit.code !== 0 && !this.#endedByUs
    await this.#release()
    await this.kill9()
    const belongings = this.#belongings
    this.#belongings = nothing
    if (this.keepData) belongings.folder?.keep('asked to, or the test failed')
    else if (failedByItself)
      belongings.folder?.keep(`the server ended by itself with ${JSON.stringify(exit)}`)
    else await discard(belongings)
  }

  /** Ends its caller's connections, to the service and to the database. */
  async #release(): Promise<void> {
    this.api.close()
    await this.#tokens[Symbol.asyncDispose]()
  }

  #endWith(test: TestContext | undefined): void {
    test?.onTestFinished(async () => {
      if (test.task.result?.state === 'fail') this.keepData = true
      await this[Symbol.asyncDispose]()
    })
  }
}
