import { randomBytes } from 'node:crypto'
import { AppError, type Int64 } from '@hermod/protocol'
import { importViolation } from '../../login/password-hasher-formats.js'
import { nameViolation } from '../../names.js'
import {
  emailKey,
  mobileKey,
  emailViolation,
  type NameRules,
  passwordViolation,
  usernameKey,
  usernameViolation,
} from '../user-model.js'

/** Profile fields by their names on the wire; omitted ones stay unchanged, or start empty. */
export interface Profile {
  readonly nick_name?: string
  readonly avatar?: string
  readonly description?: string
  readonly mobile?: string
  readonly email?: string
  readonly public_info?: string
  readonly private_info?: string
}

/** A user to import, as named by the operator or another system. */
export interface UserToImport {
  readonly username: string
  readonly password?: string
  /** Hash of another system. Without a hash and a password the user has none. */
  readonly passwordHash?: string
  readonly profile: Profile
  /** 0 normal, 1 disabled */
  readonly status?: number
  /** 0 = now */
  readonly createdAt?: number
  readonly isBot?: boolean
  readonly identities?: readonly ImportedIdentity[]
}

/** A subject of an issuer. */
export interface ImportedIdentity {
  readonly issuer: string
  readonly subject: string
}

/** The imported user. */
export interface ImportedAs {
  readonly result: 'created' | 'exists' | 'updated'
  readonly userId: Int64
}

/** Rules for import entries. */
export interface EntryRules {
  readonly passwordMinLength: number
  /** Milliseconds since 1970. */
  readonly now: number
}

// Reserved prefixes apply to names that users choose, not to the operator's.
const operatorNames: NameRules = { reservedPrefixes: [] }
/** Maximum lead of the other system's clock over this one's. */
const maxClockDifferenceMs = 60_000

/** @throws AppError invalid_parameter */
export function requireGoodEntry(user: UserToImport, { passwordMinLength, now }: EntryRules): void {
  const { username, password, passwordHash = '', profile, createdAt = 0, identities = [] } = user
  const violations = [
    usernameViolation(username, operatorNames),
    password === undefined ? null : passwordViolation(password, passwordMinLength),
    password !== undefined && passwordHash !== '' ? 'give either password or password_hash' : null,
    passwordHash === '' ? null : importViolation(passwordHash),
    createdAt > now + maxClockDifferenceMs ? 'created_at must not lie in the future' : null,
    emailViolation(profile.email ?? ''),
    nameViolation(profile.nick_name ?? '', 'nick_name'),
    new Set(identities.map(subjectKey)).size < identities.length
      ? 'identities must not have one twice'
      : null,
  ].filter((violation) => violation !== null)
  if (violations.length > 0) throw new AppError('invalid_parameter', violations.join('; '))
}

/** Creates a random password of 120 bits. */
export function createPassword(): string {
  return randomBytes(15).toString('base64url')
}

/** Owner of a name that is unique in an app. */
export interface NameOwner {
  readonly field: 'username_key' | 'mobile_key' | 'email_key'
  readonly value: string
  readonly userId: Int64
}

/** Owner of a subject. */
interface SubjectOwner extends ImportedIdentity {
  readonly userId: Int64
}

/** Taken names and subjects, and their owners. */
export class TakenNames {
  readonly #owners = {
    username_key: new Map<string, Int64>(),
    mobile_key: new Map<string, Int64>(),
    email_key: new Map<string, Int64>(),
  }
  readonly #subjects = new Map<string, Int64>()

  constructor(owners: readonly NameOwner[], subjects: readonly SubjectOwner[] = []) {
    for (const { field, value, userId } of owners) this.#owners[field].set(value, userId)
    for (const owner of subjects) this.#subjects.set(subjectKey(owner), owner.userId)
  }

  /** Records the names of an entry as a user's. */
  add(
    {
      username,
      profile: { mobile = '', email = '' },
      identities = [],
    }: Pick<UserToImport, 'username' | 'profile' | 'identities'>,
    userId: Int64,
  ): void {
    for (const identity of identities) this.#subjects.set(subjectKey(identity), userId)
    this.#owners.username_key.set(usernameKey(username), userId)
    if (mobile !== '') this.#owners.mobile_key.set(mobileKey(mobile), userId)
    if (email !== '') this.#owners.email_key.set(emailKey(email), userId)
  }

  ownerOf(username: string): Int64 | undefined {
    return this.#owners.username_key.get(usernameKey(username))
  }

  /**
   * @returns the conflict of the identities of a new user, or of one who has to have them already;
   * null without a conflict
   */
  identityConflict(
    { identities = [] }: Pick<UserToImport, 'identities'>,
    userId?: Int64,
  ): AppError | null {
    const owners = identities.map((identity) => this.#subjects.get(subjectKey(identity)))
    if (owners.some((owner) => owner !== undefined && owner !== userId))
      return new AppError('user_already_bound', 'an identity is that of another user')
    return userId !== undefined && owners.includes(undefined)
      ? new AppError('user_exists', 'without this identity; link it with /user/identity/link')
      : null
  }

  /**
   * @returns the conflict of a profile's addresses for a user, or for a new one; null without a
   * conflict
   */
  conflict({ mobile = '', email = '' }: Profile, userId?: Int64): AppError | null {
    const isTaken = (owner: Int64 | undefined) => owner !== undefined && owner !== userId
    if (isTaken(this.#owners.mobile_key.get(mobileKey(mobile)))) return new AppError('mobile_taken')
    return isTaken(this.#owners.email_key.get(emailKey(email))) ? new AppError('email_taken') : null
  }
}

/** Neither text contains a control character. */
function subjectKey({ issuer, subject }: ImportedIdentity): string {
  return `${issuer}\n${subject}`
}
