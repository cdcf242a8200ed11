import {
  AppError,
  type AppSettings,
  authMode,
  contactRequestStatus,
  type Int64,
  relation,
  systemUserId,
} from '@hermod/protocol'

/** One of the two sides of a pair, or one user as seen by another. */
export interface ContactSide {
  readonly appId: string
  readonly userId: Int64
  readonly peerId: Int64
}

/** What one user has stored about another. */
export interface Contact {
  readonly state: number
  readonly isBlocked: boolean
  readonly alias: string
  readonly ext: string
  readonly isMuted: boolean
}

/** About most users nothing is stored. */
export const noContact: Contact = {
  state: relation.stranger,
  isBlocked: false,
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
    state: relation.stranger,
    isBlocked: false,
    alias: '',
    ext: '',
    isMuted: false,
  }
}

/** How a user answers contact requests. */
export interface AuthRule {
  readonly authMode: number
  readonly authAnswer: string
}

/** A request as the user who received it has it; times in ms. */
export interface ContactRequest {
  readonly applicantId: Int64
  /** What the applicant will call the user; '' leaves it as it is. */
  readonly alias: string
  readonly reason: string
  readonly status: number
  readonly createdAt: number
  readonly expiresAt: number
}

/** What is absent stays as it is. */
export interface ContactChanges {
  readonly alias?: string | undefined
  readonly ext?: string | undefined
  readonly isMuted?: boolean | undefined
}

/** The relation as callers see it: a block hides what was before. */
export function relationOf({ state, isBlocked }: Pick<Contact, 'state' | 'isBlocked'>): number {
  return isBlocked ? relation.blocked : state
}

/** @returns what becomes of a contact request: contacts at once, or a question to the user */
export function checkContactRequest(
  rule: AuthRule,
  answer: string | undefined,
): 'contacts' | 'ask' {
  if (rule.authMode === authMode.closed) throw new AppError('contact_requests_refused')
  // Without an answer that could be right, none is.
  const isRight = rule.authAnswer !== '' && answer === rule.authAnswer
  if (rule.authMode === authMode.question && !isRight) throw new AppError('wrong_auth_answer')
  return rule.authMode === authMode.consent ? 'ask' : 'contacts'
}

/** A request that can still be answered. @param now ms */
export function isRequestOpen({ status, expiresAt }: ContactRequest, now: number): boolean {
  return status === contactRequestStatus.waiting && expiresAt > now
}
