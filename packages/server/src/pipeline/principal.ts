import { type CallerRules, type Int64, type Scopes, systemUserId } from '@hermod/protocol'
import type { MaybePromise } from '../lib/maybe-promise.js'

/**
 * The caller of a call, the user it acts for, and its rights: resolved once for each call. Services
 * take what they need of it; no other code reads tokens or headers.
 */
export type Principal = AppPrincipal | OperatorPrincipal

/** A principal within an app. */
export type AppPrincipal = AnonymousPrincipal | UserPrincipal | AdminPrincipal | TicketPrincipal

/** A caller without a token, for operations that need none. */
export interface AnonymousPrincipal {
  readonly kind: 'anonymous'
  readonly appId: string
}

/** The bearer of the ticket of an upload. */
export interface TicketPrincipal {
  readonly kind: 'ticket'
  readonly appId: string
  /** The user whose limits the upload counts for; 0: none, as for an Admin token. */
  readonly payerId: Int64
  /** The ticket as `Authenticator.findTicket` has found it; only the handlers of files know its type. */
  readonly ticket: unknown
}

/** A user, with the user's own token. */
export interface UserPrincipal {
  readonly kind: 'user'
  readonly appId: string
  readonly userId: Int64
  /** null when the token is tied to no device. */
  readonly deviceSn: number | null
  readonly tokenHash: string
  /** True: the limits of bots apply. */
  readonly isBot: boolean
  readonly isAdminToken: false
  readonly adminOf: null
  /** The acting user in the events of groups. */
  readonly actorId: Int64
  /** The owner of the token, recorded in accounts that it changes. */
  readonly tokenOwnerId: Int64
}

/** An Admin token, alone or for a user. */
export interface AdminPrincipal<UserId extends Int64 | null = Int64 | null> {
  readonly kind: 'admin'
  readonly appId: string
  /** The user that the call is made for, from the user_id header. */
  readonly userId: UserId
  readonly deviceSn: null
  readonly isAdminToken: true
  /** The group that the call is made as an admin of, and that it is limited to, from the group_id header. */
  readonly adminOf: Int64 | null
  readonly scopes: Scopes
  /** The user that the call is made for, else the system. */
  readonly actorId: Int64
  /** The system. */
  readonly tokenOwnerId: Int64
}

/** The operator, who is in no app. */
export interface OperatorPrincipal {
  readonly kind: 'operator'
}

/** The principal that an operation with this rule of callers can have. */
export type PrincipalOf<Rule extends keyof CallerRules> = Rule extends unknown
  ? PrincipalFor<CallerRules[Rule]['tokens'][number], CallerRules[Rule]['subject']>
  : never

type PrincipalFor<Token, Subject> =
  | (Token extends 'none' ? AnonymousPrincipal : never)
  | (Token extends 'user' ? UserPrincipal : never)
  | (Token extends 'admin'
      ? AdminPrincipal<Subject extends 'required' ? Int64 : Int64 | null>
      : never)
  | (Token extends 'ticket' ? TicketPrincipal : never)
  | (Token extends 'operator' ? OperatorPrincipal : never)

export const operatorPrincipal: OperatorPrincipal = { kind: 'operator' }

export function userPrincipal(
  appId: string,
  session: Pick<UserPrincipal, 'userId' | 'deviceSn' | 'tokenHash' | 'isBot'>,
): UserPrincipal {
  const { userId, deviceSn, tokenHash, isBot } = session
  return {
    kind: 'user',
    appId,
    userId,
    deviceSn,
    tokenHash,
    isBot,
    isAdminToken: false,
    adminOf: null,
    actorId: userId,
    tokenOwnerId: userId,
  }
}

/** @param adminOf from the group_id header */
export function adminPrincipal(
  appId: string,
  userId: Int64 | null,
  adminOf: Int64 | null,
  scopes: Scopes,
): AdminPrincipal {
  return {
    kind: 'admin',
    appId,
    userId,
    deviceSn: null,
    isAdminToken: true,
    adminOf,
    scopes,
    actorId: userId ?? systemUserId,
    tokenOwnerId: systemUserId,
  }
}

/** The users, as far as the pipeline checks them. */
export interface UserDirectory {
  /** @throws AppError user_not_found, user_deleted */
  requireUser(appId: string, userId: Int64): MaybePromise<void>
}
