import {
  AppError,
  type AppSettings,
  authMode,
  contactRequestStatus,
  type Int64,
  relation,
  strangerChat,
  strangerChatDefault,
  systemUserId,
} from '@hermod/protocol'

/** One direction of a pair: a user as seen by another. */
export interface ContactSide {
  readonly appId: string
  readonly userId: Int64
  readonly peerId: Int64
}

/** The data that one user has stored about another. */
export interface Contact {
  readonly state: number
  readonly isBlocked: boolean
  /**
   * True for a contact that the other user alone has made: the user has not written to it, accepted
   * or edited it.
   */
  readonly isUnasked: boolean
  readonly alias: string
  readonly ext: string
  readonly isMuted: boolean
}

/** The relation without stored data, which most pairs have. */
export const noContact: Contact = {
  state: relation.stranger,
  isBlocked: false,
  isUnasked: false,
  alias: '',
  ext: '',
  isMuted: false,
}

/** A user as seen by another. */
export interface ContactEntry extends Contact {
  readonly userId: Int64
  readonly username: string
  readonly nickName: string
  readonly avatar: string
  readonly description: string
  readonly publicInfo: string
  readonly authMode: number
  readonly authQuestion: string
  readonly isBot: boolean
}

/** The system, user 0, which takes no contact requests (rule E11b). */
export function systemEntry({
  system_name: nickName,
  system_avatar: avatar,
}: Pick<AppSettings, 'system_name' | 'system_avatar'>): ContactEntry {
  return {
    userId: systemUserId,
    username: '',
    nickName,
    avatar,
    description: '',
    publicInfo: '',
    authMode: authMode.closed,
    authQuestion: '',
    isBot: false,
    state: relation.stranger,
    isBlocked: false,
    isUnasked: false,
    alias: '',
    ext: '',
    isMuted: false,
  }
}

/**
 * Tests whether a user refuses people who are not contacts (rule E11).
 * @param setting the user's stranger_chat
 */
export function refusesStrangers(
  setting: number,
  { stranger_chat_default: byDefault }: Pick<AppSettings, 'stranger_chat_default'>,
): boolean {
  if (setting !== strangerChat.unset) return setting === strangerChat.reject
  return byDefault === strangerChatDefault.reject
}

/**
 * Tests whether a user who takes messages and additions to groups from contacts only accepts the
 * other user (rules E11, F4b).
 */
export function isAcceptedContact({
  state,
  isUnasked,
}: Pick<Contact, 'state' | 'isUnasked'>): boolean {
  return state === relation.contact && !isUnasked
}

/** The settings by which a user answers contact requests. */
export interface AuthRule {
  readonly authMode: number
  readonly authAnswer: string
}

/** A request as its receiver sees it; times in ms. */
export interface ContactRequest {
  readonly applicantId: Int64
  /** The applicant's alias for the user; '' keeps the present one. */
  readonly alias: string
  readonly reason: string
  readonly status: number
  readonly createdAt: number
  readonly expiresAt: number
}

/** Changes of a relation; absent fields stay as they are. */
export interface ContactChanges {
  readonly alias?: string | undefined
  readonly ext?: string | undefined
  readonly isMuted?: boolean | undefined
}

/** The relation as callers see it: a block hides the relation before it. */
export function relationOf({ state, isBlocked }: Pick<Contact, 'state' | 'isBlocked'>): number {
  return isBlocked ? relation.blocked : state
}

/** @returns the outcome of a contact request: contacts at once, or an open request */
export function checkContactRequest(
  rule: AuthRule,
  answer: string | undefined,
): 'contacts' | 'ask' {
  if (rule.authMode === authMode.closed) throw new AppError('contact_requests_refused')
  // Without a configured answer every answer is wrong.
  const isRight = rule.authAnswer !== '' && answer === rule.authAnswer
  if (rule.authMode === authMode.question && !isRight) throw new AppError('wrong_auth_answer')
  return rule.authMode === authMode.consent ? 'ask' : 'contacts'
}

/** A request that can still be answered. @param now ms */
export function isRequestOpen({ status, expiresAt }: ContactRequest, now: number): boolean {
  return status === contactRequestStatus.waiting && expiresAt > now
}
