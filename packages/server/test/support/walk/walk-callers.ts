/** The ways of calling that the walk tries, and what the declared callers and rules C1 to C7 make of each. */
import {
  callerRules,
  type ErrorName,
  groupRights,
  isWholeBody,
  type Operation,
  updateSettings,
} from '@hermod/protocol'
import type { Account, Identity, Params, Tenant } from './walk-world.js'

type TokenState = 'valid' | 'expired' | 'revoked' | 'unknown' | 'foreign'
type Whose = 'nobody' | 'own' | 'other' | 'foreign' | 'malformed'

/** What a call says about itself, from the point of view of the application that it names. */
export interface Credentials {
  readonly token:
    | 'none'
    | 'malformed'
    | `${'user' | 'admin'} ${TokenState}`
    | `operator ${'valid' | 'unknown'}`
  /** Default: the first application. */
  readonly app?: 'here' | 'missing' | 'unknown' | 'disabled'
  /** The user_id header; `own`: the user whom the call is about. */
  readonly user?: Whose
  /** The group_id header; `own`: the group whom the call is about. */
  readonly group?: Exclude<Whose, 'malformed'>
}

/**
 * Refused by the rules of callers, or handed to the operation, which may have a reason of its own
 * to answer with an error.
 */
export type Verdict =
  | { readonly refused: ErrorName; readonly header?: 'app_id' | 'user_id' }
  | { readonly reaches: true; readonly error?: ErrorName }

const reaches: Verdict = { reaches: true }

/** @returns null where neither the rules nor the decisions say what becomes of such a call */
export function verdictOn(operation: Operation, credentials: Credentials): Verdict | null {
  const rule = callerRules[operation.callers]
  const opens = (kind: string) => rule.tokens.some((each) => each === kind)
  const { token, app = 'here', user = 'nobody', group = 'nobody' } = credentials
  const [kind, state] = token.split(' ')
  if (opens('operator')) return verdictOfOperator(token)
  // No other credential takes the place of a ticket, and that of the fixtures is forged.
  if (opens('ticket')) return { refused: 'upload_ticket_invalid' }
  if (app === 'missing') return { refused: 'invalid_parameter', header: 'app_id' }
  if (app === 'unknown') return { refused: 'app_not_found' }
  if (app === 'disabled') return { refused: 'app_inactive' }
  if (user === 'malformed') return { refused: 'invalid_parameter', header: 'user_id' }
  if (opens('none')) return reaches
  if (token === 'none') return { refused: 'token_missing' }
  if (state === 'expired' || state === 'revoked') return { refused: 'token_expired' }
  if (state !== 'valid' || kind === 'operator') return { refused: 'token_invalid' }
  if (kind === 'user') {
    const namesOthers = group !== 'nobody' || !['nobody', 'own'].includes(user)
    return namesOthers || !opens('user') ? { refused: 'no_permission' } : reaches
  }
  if (!opens('admin')) return { refused: 'no_permission' }
  // The conversation of the fixtures is that with a friend.
  const isAboutFriend = operation.callers === 'party'
  if (isAboutFriend && group !== 'nobody') return { reaches: true, error: 'no_permission' }
  if ((rule.subject === 'required' || isAboutFriend) && user === 'nobody')
    return { refused: 'invalid_parameter', header: 'user_id' }
  if (user === 'foreign') {
    if (rule.subject !== 'required') return null
    return {
      reaches: true,
      error: claimOf(operation) === null ? 'user_not_found' : 'no_permission',
    }
  }
  if (group === 'nobody') return reaches
  // The header cannot be made out for a group that only a code names.
  if (group === 'own' && names(operation, 'qr_info')) return null
  if (group === 'own') return user === 'nobody' ? verdictOnAdminOfGroup(operation) : reaches
  if (names(operation, 'group_id') || names(operation, 'qr_info'))
    return { reaches: true, error: 'no_permission' }
  return operation.right === undefined ? reaches : null
}

/** The principal that a caller who is let through becomes, in words: equal words are equal principals. */
export function principalOf(
  { callers }: Operation,
  { token, user = 'nobody', group = 'nobody' }: Credentials,
): string {
  const isOpen = callerRules[callers].tokens.some((each) => each === 'none')
  if (isOpen && token !== 'admin valid') return 'anonymous'
  const [kind = ''] = token.split(' ')
  return kind === 'admin' ? `admin, user ${user}, group ${group}` : kind
}

/** An Admin token as an admin of the group that the call is about. */
function verdictOnAdminOfGroup({ right }: Operation): Verdict {
  return right !== undefined && groupRights[right].from === 'owner'
    ? { reaches: true, error: 'group_owner_required' }
    : reaches
}

/**
 * An operator operation is about no application, so tokens of applications are checked by their
 * kind alone.
 */
function verdictOfOperator(token: Credentials['token']): Verdict {
  if (token === 'operator valid') return reaches
  if (token === 'none') return { refused: 'token_missing' }
  return {
    refused:
      token === 'malformed' || token === 'operator unknown' ? 'token_invalid' : 'no_permission',
  }
}

/**
 * @returns the name of the parameter that says who is calling (rule C5), null for an operation
 * without one
 */
export function claimOf({ id, body }: Operation): string | null {
  if (id === updateSettings.id) return 'user_id'
  return !isWholeBody(body) && 'from_user_id' in body ? 'from_user_id' : null
}

function names({ query, body }: Operation, parameter: 'group_id' | 'qr_info'): boolean {
  return parameter in query || (!isWholeBody(body) && parameter in body)
}

const admin = { token: 'admin valid' } as const
const user = { token: 'user valid' } as const

export const callers: Readonly<Record<string, Credentials>> = {
  nobody: { token: 'none' },
  'nobody, naming the user': { token: 'none', user: 'own' },
  'a malformed token': { token: 'malformed' },
  'an unknown user token': { token: 'user unknown' },
  'an unknown Admin token': { token: 'admin unknown', user: 'own' },
  'an expired user token': { token: 'user expired' },
  'a revoked user token': { token: 'user revoked' },
  'an expired Admin token': { token: 'admin expired', user: 'own' },
  'a revoked Admin token': { token: 'admin revoked', user: 'own' },
  'the user': user,
  'the user, naming itself': { ...user, user: 'own' },
  'another user, naming the user': { ...user, user: 'other' },
  'a user, naming one of another application': { ...user, user: 'foreign' },
  'a user, naming no number': { ...user, user: 'malformed' },
  'a user, naming the group': { ...user, group: 'own' },
  'a user, naming another group': { ...user, group: 'other' },
  'a user, naming no application': { ...user, app: 'missing' },
  'a user, naming an unknown application': { ...user, app: 'unknown' },
  'a user of a disabled application': { ...user, app: 'disabled' },
  'a user of another application': { token: 'user foreign' },
  'a user of another application, naming the user': { token: 'user foreign', user: 'own' },
  'the Admin': admin,
  'the Admin for the user': { ...admin, user: 'own' },
  'the Admin for a user of another application': { ...admin, user: 'foreign' },
  'the Admin, naming no number': { ...admin, user: 'malformed' },
  'the Admin as an admin of the group': { ...admin, group: 'own' },
  'the Admin as an admin of another group': { ...admin, group: 'other' },
  'the Admin as an admin of a group of another application': { ...admin, group: 'foreign' },
  'the Admin for the user as an admin of the group': { ...admin, user: 'own', group: 'own' },
  'the Admin for the user as an admin of another group': { ...admin, user: 'own', group: 'other' },
  'the Admin for the user as an admin of a group of another application': {
    ...admin,
    user: 'own',
    group: 'foreign',
  },
  'the Admin, naming no application': { ...admin, user: 'own', app: 'missing' },
  'the Admin, naming an unknown application': { ...admin, user: 'own', app: 'unknown' },
  'the Admin of a disabled application': { ...admin, user: 'own', app: 'disabled' },
  'the Admin of another application': { token: 'admin foreign' },
  'the Admin of another application, naming the user': { token: 'admin foreign', user: 'own' },
  'the Admin of another application, naming user and group': {
    token: 'admin foreign',
    user: 'own',
    group: 'own',
  },
  'the operator': { token: 'operator valid' },
  'the operator, naming the user': { token: 'operator valid', user: 'own' },
  'an unknown operator token': { token: 'operator unknown' },
}

/** Values that the words of {@link Credentials} stand for. */
export interface CallerIdentities {
  readonly here: Tenant
  readonly disabled: Tenant
  readonly foreigner: Account
  readonly other: Account
  readonly inDisabled: Account
  readonly tokens: Readonly<Record<Exclude<Credentials['token'], 'none' | 'user valid'>, string>>
  readonly groups: Readonly<Record<'own' | 'other' | 'foreign', number>>
}

/** The headers that say what the credentials say, about a subject and parameters. */
export function identityOf(
  credentials: Credentials,
  identities: CallerIdentities,
  { subject, params }: { subject: Account; params: Params },
): Identity {
  const { app = 'here', user = 'nobody', group = 'nobody' } = credentials
  const users = {
    nobody: undefined,
    own: subject.id,
    other: subject.id,
    foreign: identities.foreigner.id,
    malformed: 'somebody',
  }
  const ownGroup = typeof params.group_id === 'number' ? params.group_id : identities.groups.own
  const groups = { nobody: undefined, ...identities.groups, own: ownGroup }
  const apps = {
    here: identities.here.appId,
    missing: null,
    unknown: 'nowhere',
    disabled: identities.disabled.appId,
  }
  const userId = users[user]
  const groupId = groups[group]
  return {
    token: tokenFor(credentials, identities, user === 'other' ? identities.other : subject),
    appId: apps[app],
    ...(userId === undefined ? {} : { userId }),
    ...(groupId === undefined ? {} : { groupId }),
  }
}

function tokenFor(
  { token, app }: Credentials,
  identities: CallerIdentities,
  holder: Account,
): string | null {
  if (token === 'none') return null
  if (app === 'disabled')
    return token.startsWith('admin') ? identities.disabled.adminToken : identities.inDisabled.token
  return token === 'user valid' ? holder.token : identities.tokens[token]
}
