import type { CallOptions } from '../api.js'
import { ClientError, failureOf, type ServerErrorName } from '../errors.js'
import { checkId, checkOptionalText, checkText, checkUrl } from './arguments.js'

/** The service and the application. */
export interface ServiceAddress {
  /** Address of the service, for example `https://chat.example.org`. */
  readonly url: string
  /** The application. */
  readonly appId: string
}

/** The password and one of `username`, `login` and `userId`. */
export type Credentials = {
  readonly password: string
  /** Names the installation; with it the answer has `pushToken`. At most 128 characters. */
  readonly deviceGuid?: string
} & (
  | { readonly username: string }
  /** A mobile number, an e-mail address or a username. */
  | { readonly login: string }
  | { readonly userId: number }
)

/** The tokens of a login. */
export interface LogIn {
  readonly userId: number
  /** The access token. */
  readonly token: string
  /** When the token expires, milliseconds since 1970 by the server's clock. */
  readonly expiresAt: number
  /** For signed file addresses of native clients: docs/guides/files.md. */
  readonly storeToken: string
  /** The key of these signatures. */
  readonly accessKeySecret: string
  /** Binds pushes to the device; absent without `deviceGuid`. */
  readonly pushToken?: string
}

/** Time that the server has to answer, milliseconds. */
const limitMs = 30_000

/** Names of the failures that a page tells apart, by code; all others are `refused`. */
export const failureNames: Readonly<Record<number, ServerErrorName>> = {
  10000: 'user_not_found',
  10002: 'invalid_parameter',
  10004: 'user_exists',
  10013: 'password_incorrect',
  10014: 'user_disabled',
  10021: 'user_deleted',
  20000: 'storage_failed',
  40000: 'app_not_found',
  40001: 'registration_closed',
  40002: 'user_limit_reached',
  40003: 'app_inactive',
  42900: 'too_many_requests',
  50300: 'unavailable',
}
/** The same call may succeed later: the database fails, too many calls, maintenance or a restart. */
const retryable: ReadonlySet<number> = new Set([20000, 42900, 50300])

/**
 * Logs a user in by password.
 * @throws ClientError `user_not_found`, `password_incorrect`, `user_disabled`, `user_deleted`,
 *   `too_many_requests` … of the server; `not_connected` when no answer came
 */
export async function logIn(
  service: ServiceAddress,
  credentials: Credentials,
  options?: CallOptions,
): Promise<LogIn> {
  const { password, deviceGuid } = credentials
  checkText('password', password)
  checkOptionalText('deviceGuid', deviceGuid)
  const [path, who] = whoOf(credentials)
  const data = await post(
    service,
    path,
    { ...who, password, ...(deviceGuid && { device_guid: deviceGuid }) },
    options,
  )
  const { user_id: userId, token, push_token: pushToken } = data
  if (typeof userId !== 'number' || typeof token !== 'string')
    throw new ClientError(failureOf('bad_answer', 'the answer to the log-in has no token'))
  return {
    userId,
    token,
    expiresAt: Number(data.expire),
    storeToken: String(data.store_token),
    accessKeySecret: String(data.access_key_secret),
    ...(typeof pushToken === 'string' && { pushToken }),
  }
}

/**
 * Registers a user, where the application allows that to anyone.
 * @returns the ID of the user, who can log in now
 * @throws ClientError `user_exists`, `registration_closed`, `user_limit_reached` … of the server;
 *   `not_connected` when no answer came
 */
export async function register(
  service: ServiceAddress,
  { username, password }: { readonly username: string; readonly password: string },
  options?: CallOptions,
): Promise<number> {
  checkText('username', username)
  checkText('password', password)
  const data = await post(service, '/user/register/v2', { username, password }, options)
  if (typeof data.user_id !== 'number')
    throw new ClientError(failureOf('bad_answer', 'the answer to the registration has no user ID'))
  return data.user_id
}

function whoOf(who: Credentials): [path: string, body: object] {
  if ('userId' in who) {
    checkId('userId', who.userId)
    return ['/token/id', { user_id: who.userId }]
  }
  if ('login' in who) {
    checkText('login', who.login)
    return ['/token/login', { login_name: who.login }]
  }
  checkText('username', who.username)
  return ['/token/user', { name: who.username }]
}

async function post(
  { url, appId }: ServiceAddress,
  path: string,
  body: object,
  { signal }: CallOptions = {},
): Promise<Readonly<Record<string, unknown>>> {
  checkUrl('url', url)
  checkText('appId', appId)
  // AbortSignal.any is missing in browsers of 2023.
  const ending = new AbortController()
  const abort = () => ending.abort()
  const limit = setTimeout(abort, limitMs)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  let answer: { code?: unknown; data?: unknown; message?: unknown }
  try {
    const response = await fetch(url.replace(/\/+$/, '') + path, {
      method: 'POST',
      headers: { app_id: appId, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: ending.signal,
    })
    answer = (await response.json()) as typeof answer
  } catch (error) {
    if (signal?.aborted) throw new ClientError(failureOf('aborted', 'the signal was aborted'))
    const isAnswer = error instanceof SyntaxError
    const failure = isAnswer
      ? failureOf('bad_answer', 'the server answered no JSON', true)
      : failureOf('not_connected', 'the server cannot be reached', true)
    throw new ClientError(failure, { cause: error })
  } finally {
    clearTimeout(limit)
    signal?.removeEventListener('abort', abort)
  }
  const { code, data, message } = answer ?? {}
  if (code === 200 && typeof data === 'object' && data !== null) return data as never
  if (typeof code !== 'number' || code === 200)
    throw new ClientError(failureOf('bad_answer', 'the answer is no envelope'))
  throw new ClientError({
    code,
    name: failureNames[code] ?? 'refused',
    message: String(message),
    retry: retryable.has(code),
  })
}
