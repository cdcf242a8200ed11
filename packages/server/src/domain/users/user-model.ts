import { createHmac } from 'node:crypto'
import { domainToASCII, domainToUnicode } from 'node:url'
import type { Int64 } from '@hermod/protocol'
import { actorEvent, type Event } from '@hermod/protocol/events'
import type { Schema } from '../../db/schema.js'

/** Key of a user: app and user ID. */
export interface UserKey {
  readonly appId: string
  readonly userId: Int64
}

/** The row of a user; times in ms. */
export interface User {
  readonly appId: string
  readonly userId: Int64
  readonly username: string
  /** '' = the user has no password. */
  readonly passwordHash: string
  /** 0 normal, 1 disabled */
  readonly status: number
  readonly nickName: string
  readonly avatar: string
  readonly description: string
  readonly publicInfo: string
  readonly privateInfo: string
  readonly mobile: string
  readonly email: string
  readonly credentialEpoch: number
  readonly isDeleted: boolean
  readonly isBot: boolean
  /** Assertions of this instant or before are refused, ms; 0: none (rule C9). */
  readonly assertionsAfter: number
  /** The latest `iat` of the accepted assertions, ms; 0: none. */
  readonly newestAssertion: number
}

/**
 * Returns the `assertionsAfter` of a user whose assertions end. Clocks of issuers may be ahead, so
 * that an accepted assertion may be from after the end.
 */
export function endOfAssertions(
  { assertionsAfter, newestAssertion }: Pick<User, 'assertionsAfter' | 'newestAssertion'>,
  at: number,
): number {
  return Math.max(assertionsAfter, newestAssertion, at)
}

/** A user in the list of an app. */
export type ListedUser = Pick<User, 'userId' | 'username' | 'status'>

/** A user that a backend looked up. */
export type FoundUser = ListedUser & Pick<User, 'isBot'>

/** The state of a user that sends check. */
export interface UserState {
  readonly appId: string
  readonly userId: Int64
  readonly status: number
  readonly isDeleted: boolean
  readonly isBot: boolean
  /** 0 not set, 1 allow, 2 reject */
  readonly strangerChat: number
  /** The user blocks at least one other user. */
  readonly hasBlocks: boolean
  /** Another user has made the user a contact, who has not accepted it. */
  readonly hasUnasked: boolean
}

/** Settings for discovery, contact and notification; flags are 0 or 1. */
export type StoredSettings = Omit<Schema['user_settings'], 'app_id' | 'user_id'>

/** Settings of a new user (rule D7). */
export const defaultSettings: StoredSettings = {
  auth_answer: '',
  auth_mode: 0,
  auth_question: '',
  auto_download: 0,
  group_confirm: 0,
  no_push: 0,
  no_push_detail: 0,
  no_push_end_hour: 0,
  no_push_start_hour: 0,
  no_sounds: 0,
  push_nick_name: '',
  push_token: '',
  silence_end_time: 0,
  silence_start_time: 0,
  stranger_chat: 0,
  vibratory: 0,
}

const maxUsernameLength = 64
const usernameLetters = /^[\p{Script=Han}A-Za-z0-9_]+$/u
const maxPasswordLength = 128

/** Rules for usernames besides their characters and length. */
export interface NameRules {
  readonly reservedPrefixes: readonly string[]
}

/**
 * Normalized username for uniqueness and lookup: ignores case and compatibility forms (rule D1b).
 */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').toLowerCase()
}

// Besides letters and digits of any script: the full stops that separate labels (UTS #46).
const emailDomain = /^[\p{L}\p{M}\p{N}._\-\u3002]+$/u
/** An address literal in place of a domain (RFC 5321, section 4.1.3). */
const addressLiteral = /^\[[\p{L}\p{N}.:]+\]$/u

/**
 * Normalized e-mail address for uniqueness and lookup. The local part is normalized as usernames
 * are, the domain as in the DNS, so that all spellings of a domain are equal (rule D1a).
 */
export function emailKey(email: string): string {
  const folded = usernameKey(email)
  const at = folded.lastIndexOf('@') + 1
  return folded.slice(0, at) + (domainKey(folded.slice(at)) || folded.slice(at))
}

/**
 * @param domain case-folded
 * @returns '' when it is not a domain
 */
function domainKey(domain: string): string {
  if (addressLiteral.test(domain)) return domain
  if (!emailDomain.test(domain)) return ''
  const key = domainToASCII(domain).replace(/\.$/, '')
  return key.split('.').every(isSoundLabel) ? key : ''
}

/**
 * Refuses `xn--` labels that are not the ASCII form of a Unicode label. Node 24 lets them pass
 * where Node 20 does not.
 */
function isSoundLabel(label: string): boolean {
  if (!label.startsWith('xn--')) return true
  const unicode = domainToUnicode(label)
  return /\P{ASCII}/u.test(unicode) && !unicode.startsWith('xn--')
}

/** Digits of a domestic number follow the code of its country. */
const domesticCode = '+86'

/** The form in which mobile numbers are compared: that of E.164 (rules D1a, K13). */
export function mobileKey(mobile: string): string {
  return mobile === '' || mobile.startsWith('+') ? mobile : `${domesticCode}${mobile}`
}

/**
 * @returns the violation of an e-mail address apart from its syntax (rule D1a), or null; '' means
 * no address
 */
export function emailViolation(email: string): string | null {
  if (/[\p{Cc}\p{Cf}]/u.test(email)) return 'email must not contain characters that are not seen'
  const folded = usernameKey(email)
  const isSound = email === '' || domainKey(folded.slice(folded.indexOf('@') + 1)) !== ''
  return isSound ? null : 'email must have a domain of letters, digits, hyphens and full stops'
}

/** @returns the violation of a username (rule D1), or null */
export function usernameViolation(username: string, rules: NameRules): string | null {
  if (username === '' || [...username].length > maxUsernameLength)
    return `username must have 1 to ${maxUsernameLength} characters`
  if (!usernameLetters.test(username))
    return 'username must consist of letters, digits, underscores and CJK ideographs'
  if (/^\d+$/.test(username)) return 'username must contain a character that is not a digit'
  const reserved = rules.reservedPrefixes.find((prefix) =>
    usernameKey(username).startsWith(usernameKey(prefix)),
  )
  return reserved === undefined ? null : `username must not start with ${reserved}`
}

/** @returns the violation of a new password (rule D1), or null */
export function passwordViolation(
  password: string,
  minLength: number,
  name = 'password',
): string | null {
  const length = [...password].length
  return length >= minLength && length <= maxPasswordLength
    ? null
    : `${name} must have ${minLength} to ${maxPasswordLength} characters`
}

/**
 * Kind of a login name. A username contains neither `@` nor `+`, and is not all digits, as a mobile
 * number is.
 */
export function loginNameKind(name: string): 'email' | 'mobile' | 'username' {
  if (name.includes('@')) return 'email'
  return /^\+?\d+$/.test(name) ? 'mobile' : 'username'
}

/** The `sign` of /user/register/push when the app sets a registration secret (rule D8). */
export function registrationSign(
  registrationSecret: string,
  appId: string,
  username: string,
): string {
  return createHmac('sha256', registrationSecret).update(`${appId}\n${username}`).digest('hex')
}

/**
 * Returns the event of a changed profile.
 * @param changed new values by the names of the fields on the wire
 */
export function profileEvent(
  about: { readonly appId: string; readonly actorId: Int64; readonly userIds: readonly Int64[] },
  changed: Readonly<Record<string, string>>,
): Event {
  return actorEvent('user.info_updated', about, { properties: Object.keys(changed), changed })
}
