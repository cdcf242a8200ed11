import type { Int64 } from './schema.js'

/** Who may call an operation. Every operation names one of these; the pipeline checks it in one place (rule C7). */

/** What a token is: `none` stands for a call without one. */
export type TokenKind = 'none' | 'user' | 'admin' | 'operator'

/** A caller rule: who may call, and what the headers user_id and group_id mean. */
export interface Callers {
  /** Tokens that open the operation. `none`: it may be called without any. */
  readonly tokens: readonly TokenKind[]
  /** What an Admin token says about the user it acts for, with the user_id header (rules C3, C5). */
  readonly subject: 'unused' | 'optional' | 'required'
  /** True when the contract lists the group_id header. It counts in every operation about a group, listed or not (rules C4, C5). */
  readonly groupHeader: boolean
  readonly description: string
}

function callers(
  tokens: readonly TokenKind[],
  subject: Callers['subject'],
  groupHeader: boolean,
  description: string,
): Callers {
  return { tokens, subject, groupHeader, description }
}

/** The one list of caller rules; the keys appear in the OpenAPI document as `x-hermod-callers`. */
export const callerRules = {
  /** No token needed; a token that is sent is not checked, except an Admin token where registration is closed. */
  anyone: callers(
    ['none', 'user', 'admin'],
    'unused',
    false,
    'Anyone who names the application; no token needed.',
  ),
  /** A call about one user: the token's own user, or the user that an Admin token names in the user_id header. */
  user: callers(
    ['user', 'admin'],
    'required',
    false,
    'A user token, or an Admin token with a user_id header.',
  ),
  /** The sender is from_user_id, else the user_id header, else 0, the system (rule C5). */
  sender: callers(
    ['user', 'admin'],
    'optional',
    false,
    'A user token, or an Admin token for any sender or the system.',
  ),
  /** Group operations that the contract lists with User headers. */
  member: callers(
    ['user', 'admin'],
    'optional',
    false,
    'A user token, or an Admin token, with or without a user_id header.',
  ),
  /** Group operations that the contract lists with Std headers. */
  groupMember: callers(
    ['user', 'admin'],
    'optional',
    true,
    'A user token, or an Admin token, with or without a user_id or group_id header.',
  ),
  /** Group operations with Std headers that are about the caller: an Admin token must say for whom. */
  groupUser: callers(
    ['user', 'admin'],
    'required',
    true,
    'A user token, or an Admin token with a user_id header.',
  ),
  admin: callers(['admin'], 'optional', false, 'An Admin token.'),
  adminForUser: callers(['admin'], 'required', false, 'An Admin token with a user_id header.'),
  operator: callers(['operator'], 'unused', false, 'An operator token.'),
} as const satisfies Record<string, Callers>

/** The key of one of {@link callerRules}; every operation names one. */
export type CallerRule = keyof typeof callerRules

/** Who is calling, once the pipeline has checked the credentials. */
export type Caller =
  | { readonly kind: 'anonymous'; readonly appId: string }
  | {
      readonly kind: 'user'
      readonly appId: string
      readonly userId: Int64
      /** null when the token is tied to no device. */
      readonly deviceSn: number | null
      readonly tokenHash: string
    }
  | {
      readonly kind: 'admin'
      readonly appId: string
      /** The user that the call is made for, from the user_id header. */
      readonly userId: Int64 | null
      /** The group that the call is made as an admin of, and that it is limited to, from the group_id header. */
      readonly groupId: Int64 | null
    }
  | { readonly kind: 'operator' }

/** A caller within an application. */
export type AppCaller = Exclude<Caller, { kind: 'operator' }>
