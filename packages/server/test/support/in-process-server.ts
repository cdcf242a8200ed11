/**
 * A service in the process of its tests: no start of a process, no HTTP and no sockets between a
 * call and its answer.
 */
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { isWholeBody, type Operation, operations } from '@hermod/protocol'
import {
  Answer,
  Api,
  type ApiRequest,
  type Backend,
  memoryDisk,
  TempFolder,
  TokenIssuer,
} from '@hermod/testkit'
import { pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import { loadConfig } from '../../dist/config/config.js'
import { type RunningServer, startService } from '../../dist/context/server/server.js'
import { jsonValue, textValue } from '../../dist/http/bodies/body-value.js'
import { failureAnswer } from '../../dist/http/failure.js'
import { parseQuery } from '../../dist/http/query.js'
import { credentialsOf } from '../../dist/http/routes/operations.js'
import type { Clock } from '../../dist/lib/clock.js'
import { asEnvelope } from '../../dist/pipeline/executor.js'
import { type DataPlace, openSql, type Sql } from './database/sql.js'
import { TestCoreChannel } from './push/core-channel.js'
import { Random } from './random.js'
import type { Watched } from './watched-server.js'

/** Runs as fast as the clock of the machine, from the time that the test sets, and can be stopped. */
export class TestClock implements Clock {
  #ahead = 0
  #stoppedAt: number | null = null

  /** @param time milliseconds since 1970 */
  set(time: number): void {
    this.#ahead = time - Date.now()
  }

  /** Stands still until {@link go}: what a rate allows does not grow with the time that a test takes. */
  stop(): void {
    this.#stoppedAt = this.now()
  }

  go(): void {
    this.#stoppedAt = null
  }

  now = (): number => this.#stoppedAt ?? Date.now() + this.#ahead
}

/** Calls that are made together arrive within so many turns of the event loop, in any order. */
const arrivalTurns = 3
const jsonHeaders = { 'content-type': 'application/json' }

/**
 * A running service, its devices, its clock and a connection to its database. Answers and
 * statements are checked.
 */
export class InProcessServer implements Watched, AsyncDisposable {
  readonly appId = 'test'
  readonly adminToken = `hma_${randomBytes(24).toString('hex')}`
  readonly operatorToken = `hmo_${randomBytes(24).toString('hex')}`
  readonly core = new TestCoreChannel()
  readonly clock = new TestClock()
  readonly #folder = new TempFolder('service', memoryDisk())
  readonly #random = new Random(1)
  readonly #settings: Readonly<Record<string, string>>
  readonly #parts: AsyncDisposable[] = []
  readonly #log: string[] = []
  #running: RunningServer | undefined
  #api: Api | undefined
  #http: Api | undefined
  #sql: Sql | undefined
  #place: DataPlace | undefined

  /** Its parts can be used after `open`. */
  constructor(
    private readonly backend: Backend,
    settings: Readonly<Record<string, string>> = {},
    private readonly connects: 'double' | 'gateway' = 'double',
  ) {
    this.#settings = settings
  }

  /**
   * @param settings further HERMOD_* settings
   * @param connects where connected devices are: `double`, those that the test connects with
   * `core`; `gateway`, those with an open session
   */
  static async start(
    backend: Backend,
    settings: Readonly<Record<string, string>> = {},
    connects: 'double' | 'gateway' = 'double',
  ): Promise<InProcessServer> {
    const server = new InProcessServer(backend, settings, connects)
    try {
      await server.open()
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
    return server
  }

  /** Calls without a token. Operations run without HTTP; files and pages come over HTTP. */
  get api(): Api {
    return present(this.#api)
  }

  /** Calls over HTTP, without a token. */
  get http(): Api {
    return present(this.#http)
  }

  get sql(): Sql {
    return present(this.#sql)
  }

  get place(): DataPlace {
    return present(this.#place)
  }

  get url(): string {
    return present(this.#running).url
  }

  get dataDir(): string {
    return this.#folder.path
  }

  /** For a `hermod` command that works on the same data. */
  get settings() {
    return { HERMOD_DATA_DIR: this.dataDir, HERMOD_DATABASE_URL: this.place.databaseUrl }
  }

  get server(): this {
    return this
  }

  /** Returns the log so far. */
  output(): string {
    return this.#log.join('')
  }

  /** Ends the service as SIGTERM does; its data stays. */
  async stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    await running?.stop()
  }

  /** Starts the service on the same data, after `stop`. */
  async startAgain(): Promise<void> {
    await this.#run(new URL(this.api.options.url).port)
  }

  async open(): Promise<void> {
    const database = await this.backend.createDatabase()
    this.#parts.push(database)
    const { appId, adminToken, operatorToken, dataDir } = this
    this.#place = { dataDir, databaseUrl: database.url }
    const { url } = await this.#run('0')
    this.#sql = await openSql(this.#place)
    const tokens = new TokenIssuer(this.#place)
    this.#parts.push(this.#sql, tokens)
    const issueToken = tokens.issue.bind(tokens)
    const exchange = (request: ApiRequest) => this.#exchange(request)
    const options = { url, appId, adminToken, operatorToken, issueToken }
    this.#http = new Api(options)
    this.#api = new Api({ ...options, exchange })
  }

  async #run(port: string): Promise<RunningServer> {
    const { databaseUrl } = this.place
    const loaded = loadConfig({
      HERMOD_HOST: '127.0.0.1',
      HERMOD_PORT: port,
      HERMOD_DATA_DIR: this.dataDir,
      ...(databaseUrl !== undefined && { HERMOD_DATABASE_URL: databaseUrl }),
      HERMOD_RATE_LIMIT: 'off',
      HERMOD_LOGIN_USER_FAILURES: '1000000',
      HERMOD_LOGIN_ADDRESS_FAILURES: '1000000',
      HERMOD_CHECK_ANSWERS: 'on',
      HERMOD_BOOTSTRAP_APP_ID: this.appId,
      HERMOD_BOOTSTRAP_ADMIN_TOKEN: this.adminToken,
      HERMOD_OPERATOR_TOKEN: this.operatorToken,
      ...this.#settings,
    })
    const { clock } = this
    const core = this.connects === 'double' ? this.core : undefined
    const log = pino(loaded.config.log, { write: (line) => this.#log.push(line) })
    this.#running = await startService(loaded, log, {
      core,
      clock,
      goesByClock: true,
    })
    return this.#running
  }

  /**
   * Returns undefined for a request that needs HTTP. The header x-forwarded-for sets the client's
   * address.
   */
  #exchange(request: ApiRequest): Promise<Answer> | undefined {
    const [path = '', query = ''] = request.path.split('?')
    const operation = operationsByAddress.get(`${request.method} ${path}`)
    return operation && this.#execute(operation, request, query)
  }

  async #execute(
    operation: Operation,
    { method, headers, body }: ApiRequest,
    queryText: string,
  ): Promise<Answer> {
    for (let turns = this.#random.integer(1, arrivalTurns); turns > 0; turns--) await setImmediate()
    const query = parseQuery(queryText)
    if (query === null) throw new Error(`${queryText} is no query`)
    const { executor } = present(this.#running)
    const reply = await executor.execute(
      operation,
      {
        requestId: 'test',
        address: headers['x-forwarded-for']?.toString() ?? '127.0.0.1',
        userAgent: headers['user-agent']?.toString() ?? '',
        baseUrl: this.url,
        query,
        body: () => (method === 'GET' ? undefined : bodyOf(operation, { headers, body })),
        credentials: credentialsOf({ headers }, operation, query),
      },
      asEnvelope,
    )
    if (reply.kind === 'payload') return new Answer(200, jsonHeaders, reply.encoded)
    const failure = failureAnswer(reply.error, 'envelope')
    const { retryAfterSeconds: wait } = failure
    const waits = wait === undefined ? {} : { 'retry-after': String(wait) }
    return new Answer(failure.status, { ...jsonHeaders, ...waits }, failure.body)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#api?.close()
    this.#http?.close()
    await this.stop()
    for (const part of this.#parts.splice(0).reverse()) await part[Symbol.asyncDispose]()
    this.#folder[Symbol.dispose]()
  }
}

const operationsByAddress: ReadonlyMap<string, Operation> = new Map(
  operations
    .filter(({ takesFile, answersFile }) => !takesFile && !answersFile)
    .flatMap((operation) =>
      operation.methods.map((method) => [`${method} ${operation.path}`, operation] as const),
    ),
)

function bodyOf(
  { body: rule }: Operation,
  { headers, body }: Pick<ApiRequest, 'headers' | 'body'>,
) {
  const text = (name: string) => headers[name]?.toString()
  const raw = {
    bytes: Buffer.from(body ?? ''),
    contentType: text('content-type'),
    contentEncoding: text('content-encoding'),
  }
  return isWholeBody(rule) && rule.schema.type === 'string' ? textValue(raw) : jsonValue(raw)
}

function present<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('the service does not run')
  return part
}

const sharedServers = new Map<
  Backend['name'],
  { server: InProcessServer; opened?: Promise<void> }
>()

/**
 * The server with default settings that the test files of a worker share, opened before the tests of
 * the suite. It ends with the worker. Its tests make their own users, and leave alone its clock, its
 * application and what the integrity check looks at.
 */
export function sharedServer(backend: Backend): InProcessServer {
  const shared = sharedServers.get(backend.name) ?? { server: new InProcessServer(backend) }
  sharedServers.set(backend.name, shared)
  beforeAll(() => (shared.opened ??= shared.server.open()))
  return shared.server
}

/** A server for the tests of the suite alone. For the parameters see {@link InProcessServer.start}. */
export function ownServer(
  ...parameters: ConstructorParameters<typeof InProcessServer>
): InProcessServer {
  const server = new InProcessServer(...parameters)
  beforeAll(() => server.open())
  afterAll(() => server[Symbol.asyncDispose]())
  return server
}
