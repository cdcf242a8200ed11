import {
  AppError,
  type Caller,
  callerRules,
  type Int64,
  int64,
  type Operation,
} from '@hermod/protocol'
import type { Call } from './call.js'
import { compileDecoder } from './decode.js'
import { invalid } from './parameters.js'

/** At once when the answer is at hand, as it is for nearly every call. */
type Soon<T> = T | Promise<T>

/** What the pipeline needs to know about applications and tokens. */
export interface Authenticator {
  /** @throws AppError app_not_found, app_inactive */
  requireApp(appId: string): Soon<unknown>
  /** @returns null for a token that is malformed, unknown or of another application, `expired` for one that ended */
  findAdminToken(appId: string, token: string): Soon<'valid' | 'expired' | null>
  findUserToken(appId: string, token: string): Soon<UserSession | 'expired' | null>
  isOperatorToken(token: string): Promise<boolean>
}

export interface UserSession {
  readonly userId: Int64
  readonly deviceSn: number | null
  readonly tokenHash: string
}

const decodeId = compileDecoder(int64())

function idHeader(name: string, text: string | undefined, violations: string[]): Int64 | null {
  if (text === undefined || text === '') return null
  return (decodeId(text, `header ${name}`, violations) as Int64 | undefined) ?? null
}

/**
 * The one place that decides who is calling and whether the operation is open to them (decisions C1 to C7).
 * @throws AppError with the code of the first rule that is broken
 */
export async function authenticate(
  authenticator: Authenticator,
  operation: Operation,
  call: Call,
): Promise<Caller> {
  const rule = callerRules[operation.callers]
  const { appId, accessToken } = call.credentials
  if (operation.callers === 'operator') return requireOperator(authenticator, call)

  if (appId === undefined || appId === '') throw invalid(['header app_id is required'])
  const known = authenticator.requireApp(appId)
  if (known instanceof Promise) await known
  const violations: string[] = []
  const userId = idHeader('user_id', call.credentials.userId, violations)
  const groupId = idHeader('group_id', call.credentials.groupId, violations)
  if (violations.length > 0) throw invalid(violations)

  const isOpen = rule.tokens.some((kind) => kind === 'none')
  if (accessToken === undefined || accessToken === '') {
    if (isOpen) return { kind: 'anonymous', appId }
    throw new AppError('token_missing')
  }
  if (accessToken.startsWith('hma_')) {
    const found = await authenticator.findAdminToken(appId, accessToken)
    if (found === 'valid') return { kind: 'admin', appId, userId, groupId }
    if (!isOpen) throw new AppError(found === 'expired' ? 'token_expired' : 'token_invalid')
  }
  // A stale token must not keep anybody from logging in again, so open operations do not judge it.
  if (isOpen) return { kind: 'anonymous', appId }

  const found = accessToken.startsWith('hmu_')
    ? authenticator.findUserToken(appId, accessToken)
    : null
  const session = found instanceof Promise ? await found : found
  if (session === null) throw new AppError('token_invalid')
  if (session === 'expired') throw new AppError('token_expired')
  if (groupId !== null) throw new AppError('no_permission', 'header group_id needs an Admin token')
  if (userId !== null && userId !== session.userId)
    throw new AppError('no_permission', 'header user_id names another user')
  return { kind: 'user', appId, ...session }
}

/** The operation's declared callers; also what an Admin token must say about whom it acts for (decision C5). */
export function checkCaller(operation: Operation, caller: Caller): void {
  const rule = callerRules[operation.callers]
  const kind = caller.kind === 'anonymous' ? 'none' : caller.kind
  if (!rule.tokens.some((token) => token === kind)) throw new AppError('no_permission')
  if (caller.kind !== 'admin') return
  if (rule.subject === 'required' && caller.userId === null)
    throw invalid(['header user_id is required with an Admin token'])
}

async function requireOperator(authenticator: Authenticator, call: Call): Promise<Caller> {
  if (call.isOperator) return { kind: 'operator' }
  const { accessToken } = call.credentials
  if (accessToken === undefined || accessToken === '') throw new AppError('token_missing')
  if (!accessToken.startsWith('hmo_'))
    throw new AppError(/^hm[au]_/.test(accessToken) ? 'no_permission' : 'token_invalid')
  if (!(await authenticator.isOperatorToken(accessToken))) throw new AppError('token_invalid')
  return { kind: 'operator' }
}
