/** Who may call an operation. Every operation names one of these; the pipeline checks it in one place (rule C7). */

/** What a token is: `none` stands for a call without one, `ticket` for the ticket of one upload. */
export type TokenKind = 'none' | 'user' | 'admin' | 'operator' | 'ticket'

/** One rule of who may call, and about whom an operation is. */
export interface Callers {
  /** Tokens that open the operation. `none`: it may be called without any. */
  readonly tokens: readonly TokenKind[]
  /** What an Admin token says about the user it acts for, with the user_id header (rules C3, C5). */
  readonly subject: 'unused' | 'optional' | 'required'
  /**
   * True when the user of an Admin token's user_id header must exist and not be deleted. Where it is false, the operation itself says what
   * becomes of such a user.
   */
  readonly subjectExists: boolean
  /** True when the contract lists the group_id header. It counts in every operation about a group, listed or not (rules C4, C5). */
  readonly groupHeader: boolean
  readonly description: string
}

const rules = {
  /** No token needed; a token that is sent is not checked, except an Admin token where registration is closed. */
  anyone: {
    tokens: ['none', 'user', 'admin'],
    subject: 'unused',
    subjectExists: false,
    groupHeader: false,
    description: 'Anyone who names the application; no token needed.',
  },
  /** A call about one user: the token's own user, or the user that an Admin token names in the user_id header. */
  user: {
    tokens: ['user', 'admin'],
    subject: 'required',
    subjectExists: true,
    groupHeader: false,
    description: 'A user token, or an Admin token with a user_id header.',
  },
  /**
   * A call about a conversation of one user, as `user`; where the conversation is a group, an Admin token needs no user, and may be that of
   * an admin of the group (rules C4, E7). The operation names its parameter as `conversation`.
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
  /** The parameters say which users the operation is about, and an Admin token may name any. */
  userOrAdmin: {
    tokens: ['user', 'admin'],
    subject: 'optional',
    subjectExists: false,
    groupHeader: false,
    description: 'A user token, or an Admin token, with or without a user_id header.',
  },
  /** Group operations that the contract lists with User headers. */
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
  /** Group operations with Std headers that are about the caller: an Admin token must say for whom. */
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
  /** The upload of a file: the parameter `ticket` says for which application and user it was made (rule J1). */
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

/** The rules with their literal types, from which the type of a handler's principal follows. */
export type CallerRules = typeof rules
/** The name of a rule; in the OpenAPI document as `x-hermod-callers`. */
export type CallerRule = keyof CallerRules

/** The one list of caller rules. */
export const callerRules: Readonly<Record<CallerRule, Callers>> = rules
