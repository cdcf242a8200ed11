import { randomBytes } from 'node:crypto'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { parseExactJson, stringifyExactJson } from './exact-json.js'

/** Data of an answer, in a shape known to the caller. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect; a wrong expectation fails them
export type Json = any

export interface Envelope<Data = Json> {
  readonly code: number
  readonly data: Data
  readonly message: string | null
  readonly [extra: string]: Json
}

/** One answer of any code; only a cut connection or a time-out throws. */
export class Answer<Data = Json> {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The unchanged body. */
  readonly text: string
  #envelope: Envelope<Data> | null = null

  constructor(status: number, headers: IncomingHttpHeaders, text: string) {
    this.status = status
    this.headers = headers
    this.text = text
  }

  /**
   * The parsed body; integers beyond 2^53 are bigints, all other numbers are numbers.
   * @throws Error when the body is not JSON
   */
  get envelope(): Envelope<Data> {
    this.#envelope ??= this.#parse()
    return this.#envelope
  }

  get code(): number {
    return this.envelope.code
  }

  get data(): Data {
    return this.envelope.data
  }

  #parse(): Envelope<Data> {
    try {
      return parseExactJson(this.text) as Envelope<Data>
    } catch (cause) {
      throw new Error(
        `HTTP ${this.status} with a body that is no JSON: ${this.text.slice(0, 200)}`,
        { cause },
      )
    }
  }
}

type Scalar = string | number | bigint | boolean

export interface CallOptions {
  /** Undefined members are left out; a list is sent as a repeated parameter. */
  readonly query?: Readonly<Record<string, Scalar | readonly Scalar[] | undefined>>
  /** Sent as JSON, bigints as integers. */
  readonly body?: unknown
  /** Sent unchanged, with the content-type application/json unless the headers name another. */
  readonly rawBody?: string | Uint8Array
  /** Undefined removes a header. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Null sends no access-token. */
  readonly token?: string | null
  readonly userId?: Scalar
  readonly groupId?: Scalar
  /** Null sends no app_id. */
  readonly appId?: string | null
}

/** A request to the service, whatever carries it. */
export interface ApiRequest {
  readonly method: string
  /** Path with its query. */
  readonly path: string
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string | Uint8Array | undefined
}

export interface ApiOptions {
  /** Such as http://127.0.0.1:8080. */
  readonly url: string
  /** Carries requests to a service in this process. HTTP carries those for which it returns undefined. */
  readonly exchange?: (request: ApiRequest) => Promise<Answer> | undefined
  readonly appId: string
  readonly adminToken: string
  /**
   * Lets tests create users without hashing their passwords, which takes longer than most tests.
   */
  readonly operatorToken?: string
  /** Writes an access token of a user into the service's database, instead of a login. */
  readonly issueToken?: (appId: string, userId: number) => Promise<string>
  /**
   * Time limit of an answer; default 100 000, for calls that wait behind hundreds of others on a
   * slow machine.
   */
  readonly timeoutMs?: number
}

export interface Account {
  readonly id: number
  readonly username: string
  readonly password: string
}

/** Password of all users that tests create without their own. */
export const sharedPassword = 'correct horse'
/** Has the service's parameters, so that no login replaces it. */
const sharedPasswordHash =
  '$argon2id$v=19$m=19456,t=2,p=1$I8ZPfSnUwaj6sih0EZE7OA$jBE5bo3rbAlzRj/AwE8VaeWcqEYItffrHUDtWqst0qM'
const longestImport = 500

export interface TokenData {
  readonly access_key_secret: string
  readonly encrypt_type: number
  readonly expire: number
  readonly public_key: string
  readonly push_token?: string
  readonly store_token: string
  readonly token: string
  readonly user_id: number
}

/** A user with an access token; `api` calls with it. */
export interface Session extends Account {
  readonly token: string
  readonly api: Api
}

/** A user who logged in by password. */
export interface LoginSession extends Session {
  /** The answer to the login. */
  readonly record: TokenData
}

type Identity = Pick<CallOptions, 'token' | 'userId' | 'groupId' | 'appId'>

/**
 * A caller of the HTTP API over kept-alive connections, without a token until `as` or `admin` give
 * it one.
 */
export class Api {
  readonly options: ApiOptions
  readonly #identity: Identity
  readonly #agent: Agent

  constructor(
    options: ApiOptions,
    identity: Identity = {},
    agent = new Agent({ keepAlive: true }),
  ) {
    this.options = options
    this.#identity = identity
    this.#agent = agent
  }

  async call<Data = Json>(
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<Answer<Data>> {
    const call = { ...this.#identity, ...options }
    const body = bodyOf(call)
    const outgoing = {
      method,
      path: pathWithQuery(path, call.query),
      headers: this.#headers(call, body),
      body,
    }
    return this.options.exchange?.(outgoing) ?? this.#send(outgoing)
  }

  /**
   * Returns the envelope of a call that must succeed.
   * @throws Error with the call and its answer when the code is not 200
   */
  async succeed<Data = Json>(
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<Envelope<Data>> {
    const answer = await this.call<Data>(method, path, options)
    if (answer.status === 200 && answer.code === 200) return answer.envelope
    throw new Error(
      `${method} ${path} answered HTTP ${answer.status}: ${answer.text.slice(0, 500)}`,
    )
  }

  /** Returns the same caller with another token. */
  as(token: string): Api {
    return this.#with({ token })
  }

  /** Calls with the application's Admin token, optionally for a user or as an admin of a group. */
  admin(onBehalf: { readonly userId?: Scalar; readonly groupId?: Scalar } = {}): Api {
    return this.#with({ token: this.options.adminToken, ...onBehalf })
  }

  /** Registers a user; the default name is unused. */
  async register(
    username = `user_${randomBytes(6).toString('hex')}`,
    password = sharedPassword,
    appId = this.options.appId,
  ): Promise<Account> {
    if (password === sharedPassword && this.options.operatorToken !== undefined)
      return (await this.addUsers([username], appId))[0] as Account
    const { data } = await this.succeed('POST', '/user/register/v2', {
      appId,
      body: { username, password },
    })
    return { id: data.user_id, username, password }
  }

  /** Creates many users through the operator. */
  async addUsers(usernames: readonly string[], appId = this.options.appId): Promise<Account[]> {
    const { operatorToken } = this.options
    if (operatorToken === undefined) throw new Error('only the operator adds users')
    const operator = this.as(operatorToken)
    const added: Account[] = []
    for (let start = 0; start < usernames.length; start += longestImport) {
      const users = usernames
        .slice(start, start + longestImport)
        .map((username) => ({ username, password_hash: sharedPasswordHash }))
      const { data } = await operator.succeed('POST', '/operator/v1/user/import', {
        body: { app_id: appId, users },
      })
      for (const { user_id: id, username, result } of data) {
        if (result !== 'created') throw new Error(`${username} was not added: ${result}`)
        added.push({ id, username, password: sharedPassword })
      }
    }
    return added
  }

  /** @param deviceGuid ties the token to a device */
  async login(user: Account, deviceGuid?: string): Promise<LoginSession> {
    const body = {
      user_id: user.id,
      password: user.password,
      ...(deviceGuid === undefined ? {} : { device_guid: deviceGuid }),
    }
    const { data: record } = await this.succeed<TokenData>('POST', '/token/id', { body })
    return { ...user, token: record.token, record, api: this.as(record.token) }
  }

  /** Registers a user who logs in by password. */
  async newLogin(username?: string): Promise<LoginSession> {
    return this.login(await this.register(username))
  }

  /** Registers a user with an access token, which `issueToken` writes if there is one. */
  async newSession(username?: string): Promise<Session> {
    return this.sessionOf(await this.register(username))
  }

  /** Gives a user one more access token, which `issueToken` writes if there is one. */
  async sessionOf(user: Account): Promise<Session> {
    const { issueToken, appId } = this.options
    if (!issueToken) return this.login(user)
    const token = await issueToken(appId, user.id)
    return { ...user, token, api: this.as(token) }
  }

  /** Closes the connections of this caller and of those derived from it. */
  close(): void {
    this.#agent.destroy()
  }

  #with(identity: Identity): Api {
    return new Api(this.options, identity, this.#agent)
  }

  #headers(
    call: CallOptions,
    body: string | Uint8Array | undefined,
  ): Record<string, string | string[]> {
    const headers = {
      app_id: call.appId === undefined ? this.options.appId : call.appId,
      'access-token': call.token,
      user_id: call.userId,
      group_id: call.groupId,
      'content-type': body === undefined ? undefined : 'application/json',
      'content-length': body === undefined ? undefined : Buffer.byteLength(body),
      ...call.headers,
    }
    const present = Object.entries(headers).filter(
      ([, value]) => value !== undefined && value !== null,
    )
    return Object.fromEntries(
      present.map(([name, value]) => [
        name,
        Array.isArray(value) ? value.map(String) : String(value),
      ]),
    )
  }

  #send({ method, path, headers, body }: ApiRequest): Promise<Answer> {
    const { hostname, port } = new URL(this.options.url)
    const timeoutMs = this.options.timeoutMs ?? 100_000
    return new Promise((resolve, reject) => {
      const outgoing = request(
        { agent: this.#agent, hostname, port, method, path, headers, timeout: timeoutMs },
        (response) => {
          const { statusCode = 0, headers } = response
          readText(response).then((text) => resolve(new Answer(statusCode, headers, text)), reject)
        },
      )
      outgoing.on('timeout', () =>
        outgoing.destroy(new Error(`${method} ${path}: no answer within ${timeoutMs} ms`)),
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }
}

function bodyOf({ body, rawBody }: CallOptions): string | Uint8Array | undefined {
  return rawBody ?? (body === undefined ? undefined : stringifyExactJson(body))
}

function pathWithQuery(path: string, query: CallOptions['query'] = {}): string {
  const parameters = Object.entries(query).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
    return values.map((one): [string, string] => [name, String(one)])
  })
  return parameters.length === 0 ? path : `${path}?${new URLSearchParams(parameters)}`
}
