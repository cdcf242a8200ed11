import { AppError, callerRules, isWholeBody, missingScope, type Operation } from '@hermod/protocol'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import { invalid, type Parameters } from './parameters.js'
import type { AdminPrincipal, Principal, UserDirectory } from './principal.js'

/**
 * Checks the caller against the operation's declared callers, and the scopes (rule C8) and the
 * user_id header (rule C5) of an Admin token.
 * @throws AppError no_permission, which names a missing scope; invalid_parameter
 */
export function requireCaller(operation: Operation, principal: Principal): void {
  const rule = callerRules[operation.callers]
  const kind = principal.kind === 'anonymous' ? 'none' : principal.kind
  if (!rule.tokens.includes(kind)) throw new AppError('no_permission')
  if (principal.kind !== 'admin') return
  const missing = missingScope(operation.scopes, principal.scopes)
  if (missing !== null)
    throw new AppError('no_permission', `the Admin token lacks the scope ${missing}`)
  if (rule.subject === 'required' && principal.userId === null)
    throw invalid(['header user_id is required with an Admin token'])
}

/** @throws AppError no_permission, user_not_found, user_deleted */
export type RequireSubject = (
  users: UserDirectory,
  principal: Principal,
  params: Parameters,
) => MaybePromise<void>

/**
 * Compiles the check of parameters against the headers of an Admin token: the user of the call
 * exists, and the group is the one that the token may act on (rules C3 to C5). A parameter
 * `group_id` is the group of an operation; so is a conversation, for a token that is limited to a
 * group.
 */
export function compileSubject(operation: Operation): RequireSubject {
  const { claims, conversation, query, body } = operation
  const { subject, subjectExists } = callerRules[operation.callers]
  const isAboutGroup = 'group_id' in query || (!isWholeBody(body) && 'group_id' in body)
  const unclaimed =
    claims.length === 1
      ? `${claims[0]} is that of another user`
      : `neither ${claims.join(' nor ')} is the caller`
  const groupParam = isAboutGroup ? 'group_id' : conversation
  const requireUser = (users: UserDirectory, { appId, userId }: AdminPrincipal) =>
    subjectExists && userId !== null ? users.requireUser(appId, userId) : undefined
  const requireClaim = (principal: Principal, params: Parameters) => {
    if (claims.length === 0 || !('userId' in principal)) return
    const { kind, userId } = principal
    if (kind === 'admin' && subject !== 'required') return
    if (!claims.some((name) => params[name] === undefined || params[name] === userId))
      throw new AppError('no_permission', unclaimed)
  }
  const requireGroup = ({ adminOf }: AdminPrincipal, params: Parameters) => {
    if (groupParam === undefined || adminOf === null) return
    const groupId = params[groupParam]
    if (groupId !== undefined && adminOf !== groupId)
      throw new AppError('no_permission', 'header group_id names another group')
  }
  return (users, principal, params) => {
    requireClaim(principal, params)
    // The look-up of a user token has already checked its user.
    if (principal.kind !== 'admin') return undefined
    if (subject !== 'required') {
      requireGroup(principal, params)
      return requireUser(users, principal)
    }
    // An operation about a user reports a missing user first.
    return thenMaybe(requireUser(users, principal), () => requireGroup(principal, params))
  }
}
