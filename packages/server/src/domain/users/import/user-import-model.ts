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
  /** Hash of another system. Without a hash and a password the user cannot log in. */
  readonly passwordHash?: string
  readonly profile: Profile
  /** 0 normal, 1 disabled */
  readonly status?: number
  /** 0 = now */
  readonly createdAt?: number
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
  const { username, password, passwordHash = '', profile, createdAt = 0 } = user
  const violations = [
    usernameViolation(username, operatorNames),
    password === undefined ? null : passwordViolation(password, passwordMinLength),
    password !== undefined && passwordHash !== '' ? 'give either password or password_hash' : null,
    passwordHash === '' ? null : importViolation(passwordHash),
    createdAt > now + maxClockDifferenceMs ? 'created_at must not lie in the future' : null,
    emailViolation(profile.email ?? ''),
    nameViolation(profile.nick_name ?? '', 'nick_name'),
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

/** Taken names and their owners. */
export class TakenNames {
  readonly #owners = {
    username_key: new Map<string, Int64>(),
    mobile_key: new Map<string, Int64>(),
    email_key: new Map<string, Int64>(),
  }

  constructor(owners: readonly NameOwner[]) {
    for (const { field, value, userId } of owners) this.#owners[field].set(value, userId)
  }

  /** Records the names of an entry as a user's. */
  add(
    { username, profile: { mobile = '', email = '' } }: Pick<UserToImport, 'username' | 'profile'>,
    userId: Int64,
  ): void {
    this.#owners.username_key.set(usernameKey(username), userId)
    if (mobile !== '') this.#owners.mobile_key.set(mobileKey(mobile), userId)
    if (email !== '') this.#owners.email_key.set(emailKey(email), userId)
  }

  ownerOf(username: string): Int64 | undefined {
    return this.#owners.username_key.get(usernameKey(username))
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
