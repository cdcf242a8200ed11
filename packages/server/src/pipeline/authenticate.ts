import {
  AppError,
  callerRules,
  type Int64,
  int64,
  type Operation,
  type Scope,
  type Scopes,
} from '@hermod/protocol'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import type { Credentials, SignedFileRequest } from './call.js'
import { compileDecoder } from './decode.js'
import { invalid } from './parameters.js'
import {
  type AppPrincipal,
  adminPrincipal,
  operatorPrincipal,
  type Principal,
  type TicketPrincipal,
  userPrincipal,
} from './principal.js'

/** Looks up apps and tokens. */
export interface Authenticator {
  /** @throws AppError app_not_found, app_inactive */
  requireApp(appId: string): MaybePromise<unknown>
  /**
   * @param scopes those that the call needs
   * @returns null for a token that is malformed, unknown or of another app, `expired` for one that ended
   */
  findAdminToken(
    appId: string,
    token: string,
    scopes: readonly Scope[],
  ): MaybePromise<{ readonly scopes: Scopes } | 'expired' | 'revoked' | null>
  findUserToken(appId: string, token: string): MaybePromise<UserSession | 'expired' | null>
  /**
   * @returns the user who signed a request for a file, null when the signature or the store_token
   * is not valid
   */
  findSigner(appId: string, signed: SignedFileRequest): Promise<Int64 | null>
  /** @returns null when the ticket of an upload is no longer valid */
  findTicket(ticket: string): Promise<Pick<TicketPrincipal, 'appId' | 'payerId'> | null>
  /** @throws AppError too_many_requests for an address that guesses */
  isOperatorToken(token: string, address: string): Promise<boolean>
}

interface UserSession {
  readonly userId: Int64
  readonly deviceSn: number | null
  readonly tokenHash: string
  readonly isBot: boolean
}

/** The user and the group that the headers name. */
interface Named {
  readonly userId: Int64 | null
  readonly groupId: Int64 | null
}

const decodeId = compileDecoder(int64())
const noneNamed: Named = { userId: null, groupId: null }

/**
 * Resolves the caller; the only place that checks credentials (rules C1 to C7).
 * {@link requireCaller} checks whether the operation is open to the caller.
 * @throws AppError with the code of the first rule that is broken
 */
export function authenticate(
  authenticator: Authenticator,
  operation: Operation,
  { credentials, address }: { readonly credentials: Credentials; readonly address: string },
): MaybePromise<Principal> {
  if (operation.callers === 'operator')
    return operatorTokenPrincipal(authenticator, credentials, address)
  if (operation.credentials === 'ticket') return ticketPrincipal(authenticator, credentials)
  const { appId } = credentials
  if (appId === undefined || appId === '') throw appIdMissing(credentials.appIdHint)
  const isOpen = callerRules[operation.callers].tokens.includes('none')
  return thenMaybe(authenticator.requireApp(appId), () =>
    principalIn(authenticator, appId, credentials, { isOpen, scopes: operation.scopes }),
  )
}

function appIdMissing(hint: string | null = null): AppError {
  const reason = 'header app_id is required'
  return invalid([hint === null ? reason : `${reason} (${hint})`])
}

function principalIn(
  authenticator: Authenticator,
  appId: string,
  credentials: Credentials,
  { isOpen, scopes }: { readonly isOpen: boolean; readonly scopes: readonly Scope[] },
): MaybePromise<AppPrincipal> {
  const named = namedBy(credentials)
  const { accessToken: token } = credentials
  if (token === undefined || token === '') {
    if (isOpen) return { kind: 'anonymous', appId }
    if (credentials.signed) return signerPrincipal(authenticator, appId, credentials.signed)
    throw new AppError('token_missing')
  }
  if (token.startsWith('hma_'))
    return adminTokenPrincipal(authenticator, appId, { token, named, isOpen, scopes })
  // A stale token must not keep its user from logging in again, so open operations do not check it.
  if (isOpen) return { kind: 'anonymous', appId }
  const found = token.startsWith('hmu_') ? authenticator.findUserToken(appId, token) : null
  return thenMaybe(found, (session) => sessionPrincipal(appId, session, named))
}

/** @throws AppError invalid_parameter */
function namedBy({ userId, groupId }: Credentials): Named {
  if (userId === undefined && groupId === undefined) return noneNamed
  const violations: string[] = []
  const named = {
    userId: idHeader('user_id', userId, violations),
    groupId: idHeader('group_id', groupId, violations),
  }
  if (violations.length > 0) throw invalid(violations)
  return named
}

function idHeader(name: string, text: string | undefined, violations: string[]): Int64 | null {
  if (text === undefined || text === '') return null
  return (decodeId(text, `header ${name}`, violations) as Int64 | undefined) ?? null
}

function sessionPrincipal(
  appId: string,
  session: UserSession | 'expired' | null,
  { userId, groupId }: Named,
): AppPrincipal {
  if (session === null) throw new AppError('token_invalid')
  if (session === 'expired') throw new AppError('token_expired')
  if (groupId !== null) throw new AppError('no_permission', 'header group_id needs an Admin token')
  if (userId !== null && userId !== session.userId)
    throw new AppError('no_permission', 'header user_id names another user')
  return userPrincipal(appId, session)
}

async function adminTokenPrincipal(
  authenticator: Authenticator,
  appId: string,
  {
    token,
    named,
    isOpen,
    scopes,
  }: { token: string; named: Named; isOpen: boolean; scopes: readonly Scope[] },
): Promise<AppPrincipal> {
  const found = await authenticator.findAdminToken(appId, token, scopes)
  if (typeof found === 'object' && found !== null)
    return adminPrincipal(appId, named.userId, named.groupId, found.scopes)
  if (!isOpen) throw new AppError(found === null ? 'token_invalid' : 'token_expired')
  return { kind: 'anonymous', appId }
}

/** @throws AppError token_invalid */
async function signerPrincipal(
  authenticator: Authenticator,
  appId: string,
  signed: SignedFileRequest,
): Promise<AppPrincipal> {
  const userId = await authenticator.findSigner(appId, signed)
  if (userId === null) throw new AppError('token_invalid')
  return userPrincipal(appId, { userId, deviceSn: null, tokenHash: '', isBot: false })
}

/** @throws AppError upload_ticket_invalid, app_not_found, app_inactive */
async function ticketPrincipal(
  authenticator: Authenticator,
  { ticket = '' }: Credentials,
): Promise<AppPrincipal> {
  const found = await authenticator.findTicket(ticket)
  if (found === null) throw new AppError('upload_ticket_invalid')
  const { appId, payerId } = found
  await authenticator.requireApp(appId)
  return { kind: 'ticket', appId, payerId, ticket: found }
}

async function operatorTokenPrincipal(
  authenticator: Authenticator,
  { accessToken }: Credentials,
  address: string,
): Promise<Principal> {
  if (accessToken === undefined || accessToken === '') throw new AppError('token_missing')
  if (!accessToken.startsWith('hmo_'))
    throw new AppError(/^hm[au]_/.test(accessToken) ? 'no_permission' : 'token_invalid')
  if (!(await authenticator.isOperatorToken(accessToken, address)))
    throw new AppError('token_invalid')
  return operatorPrincipal
}
