import type { Scope } from './scopes.js'

/** Caller rules. Every operation names one; the pipeline checks it in one place (rule C7). */

/** Kind of a token: `none` for a call without one, `ticket` for the ticket of one upload. */
export type TokenKind = 'none' | 'user' | 'admin' | 'operator' | 'ticket'

/** A caller rule: the accepted tokens, and the user that the call acts for. */
export interface Callers {
  /** Accepted tokens. `none`: the call needs no token. */
  readonly tokens: readonly TokenKind[]
  /** Use of the user_id header with an Admin token (rules C3, C5). */
  readonly subject: 'unused' | 'optional' | 'required'
  /**
   * True when the user in an Admin token's user_id header must exist and not be deleted. Otherwise
   * the operation decides.
   */
  readonly subjectExists: boolean
  /**
   * True when the contract lists the group_id header. It counts in every operation about a group,
   * listed or not (rules C4, C5).
   */
  readonly groupHeader: boolean
  readonly description: string
}

const rules = {
  /** Needs no token. A token is not checked, except an Admin token where registration is closed. */
  anyone: {
    tokens: ['none', 'user', 'admin'],
    subject: 'unused',
    subjectExists: false,
    groupHeader: false,
    description: 'Anyone who names the application; no token needed.',
  },
  /** Concerns one user: the token's own user, or the user in an Admin token's user_id header. */
  user: {
    tokens: ['user', 'admin'],
    subject: 'required',
    subjectExists: true,
    groupHeader: false,
    description: 'A user token, or an Admin token with a user_id header.',
  },
  /** Concerns the device of the token, which an Admin token does not have. */
  device: {
    tokens: ['user'],
    subject: 'unused',
    subjectExists: false,
    groupHeader: false,
    description: 'A user token of a login with device_guid.',
  },
  /**
   * Concerns a conversation of one user, as `user`. If the conversation is a group, an Admin token
   * needs no user, and may belong to an admin of the group (rules C4, E7). The operation names its
   * parameter as `conversation`.
   */
  party: {
    tokens: ['user', 'admin'],
    subject: 'optional',
    subjectExists: true,
    groupHeader: true,
    description:
      'A user token, or an Admin token with a user_id header, or with a group_id header where the conversation is that group.',
  },
  /** The sender is from_user_id, else the user_id header, else 0, the system (rule C5). */
  sender: {
    tokens: ['user', 'admin'],
    subject: 'optional',
    subjectExists: false,
    groupHeader: false,
    description: 'A user token, or an Admin token for any sender or the system.',
  },
  /** Concerns the users in the parameters; an Admin token may name any user. */
  userOrAdmin: {
    tokens: ['user', 'admin'],
    subject: 'optional',
    subjectExists: false,
    groupHeader: false,
    description: 'A user token, or an Admin token, with or without a user_id header.',
  },
  /** Operations that the contract lists with User headers, and that an Admin token may call for no user. */
  member: {
    tokens: ['user', 'admin'],
    subject: 'optional',
    subjectExists: true,
    groupHeader: false,
    description: 'A user token, or an Admin token, with or without a user_id header.',
  },
  /** Group operations that the contract lists with Std headers. */
  groupMember: {
    tokens: ['user', 'admin'],
    subject: 'optional',
    subjectExists: true,
    groupHeader: true,
    description: 'A user token, or an Admin token, with or without a user_id or group_id header.',
  },
  /** Group operations with Std headers that concern the caller: an Admin token must name a user. */
  groupUser: {
    tokens: ['user', 'admin'],
    subject: 'required',
    subjectExists: true,
    groupHeader: true,
    description: 'A user token, or an Admin token with a user_id header.',
  },
  admin: {
    tokens: ['admin'],
    subject: 'optional',
    subjectExists: false,
    groupHeader: false,
    description: 'An Admin token.',
  },
  adminForUser: {
    tokens: ['admin'],
    subject: 'required',
    subjectExists: true,
    groupHeader: false,
    description: 'An Admin token with a user_id header.',
  },
  /** The upload of a file; the parameter `ticket` determines application and user (rule J1). */
  ticket: {
    tokens: ['ticket'],
    subject: 'unused',
    subjectExists: false,
    groupHeader: false,
    description: 'Anyone who has the upload ticket; no header needed.',
  },
  operator: {
    tokens: ['operator'],
    subject: 'unused',
    subjectExists: false,
    groupHeader: false,
    description: 'An operator token.',
  },
} as const satisfies Record<string, Callers>

/** The rules with their literal types, which determine the type of a handler's principal. */
export type CallerRules = typeof rules
/** The name of a rule; in the OpenAPI document as `x-hermod-callers`. */
export type CallerRule = keyof CallerRules

/** The one list of caller rules. */
export const callerRules: Readonly<Record<CallerRule, Callers>> = rules

/** The callers of an operation for its readers, with the scopes that an Admin token needs. */
export function describeCallers(callers: CallerRule, scopes: readonly Scope[]): string {
  const { description } = rules[callers]
  if (scopes.length === 0) return description
  const words = scopes.length === 1 ? 'the scope' : 'the scopes'
  return `${description} An Admin token needs ${words} ${scopes.join(' and ')}.`
}
