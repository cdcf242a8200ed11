import { randomBytes } from 'node:crypto'
import { AppError, type Int64 } from '@hermod/protocol'
import { importViolation } from '../../login/password-hasher-formats.js'
import { nameViolation } from '../../names.js'
import {
  emailKey,
  emailViolation,
  type NameRules,
  passwordViolation,
  usernameKey,
  usernameViolation,
} from '../user-model.js'

/** Profile fields as they are stored and as they are named on the wire; absent ones are left as they are, or empty at first. */
export interface Profile {
  readonly nick_name?: string
  readonly avatar?: string
  readonly description?: string
  readonly mobile?: string
  readonly email?: string
  readonly public_info?: string
  readonly private_info?: string
}

/** A user as another system or the operator names it. */
export interface UserToImport {
  readonly username: string
  readonly password?: string
  /** As another system made it. Without either the user cannot log in. */
  readonly passwordHash?: string
  readonly profile: Profile
  /** 0 normal, 1 disabled */
  readonly status?: number
  /** 0 = now */
  readonly createdAt?: number
}

/** What became of a user who is there after the import. */
export interface ImportedAs {
  readonly result: 'created' | 'exists' | 'updated'
  readonly userId: Int64
}

/** What entries are held against. */
export interface EntryRules {
  readonly passwordMinLength: number
  /** Milliseconds since 1970. */
  readonly now: number
}

// Reserved prefixes keep users from choosing such names; the operator may.
const operatorNames: NameRules = { reservedPrefixes: [] }
/** How far the clock of the system that the users come from may be ahead of that of this service. */
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

/** A password for a user who was given none: 120 random bits. */
export function createPassword(): string {
  return randomBytes(15).toString('base64url')
}

/** Who has a name that is unique in an app. */
export interface NameOwner {
  readonly field: 'username_key' | 'mobile' | 'email_key'
  readonly value: string
  readonly userId: Int64
}

/** The names that are taken, and by whom. */
export class TakenNames {
  readonly #owners = {
    username_key: new Map<string, Int64>(),
    mobile: new Map<string, Int64>(),
    email_key: new Map<string, Int64>(),
  }

  constructor(owners: readonly NameOwner[]) {
    for (const { field, value, userId } of owners) this.#owners[field].set(value, userId)
  }

  /** Gives a user the names of an entry. */
  add(
    { username, profile: { mobile = '', email = '' } }: Pick<UserToImport, 'username' | 'profile'>,
    userId: Int64,
  ): void {
    this.#owners.username_key.set(usernameKey(username), userId)
    if (mobile !== '') this.#owners.mobile.set(mobile, userId)
    if (email !== '') this.#owners.email_key.set(emailKey(email), userId)
  }

  ownerOf(username: string): Int64 | undefined {
    return this.#owners.username_key.get(usernameKey(username))
  }

  /** @returns why a user, or a new one, cannot have the addresses of a profile; null when nothing speaks against it */
  conflict({ mobile = '', email = '' }: Profile, userId?: Int64): AppError | null {
    const isTaken = (owner: Int64 | undefined) => owner !== undefined && owner !== userId
    if (isTaken(this.#owners.mobile.get(mobile))) return new AppError('mobile_taken')
    return isTaken(this.#owners.email_key.get(emailKey(email))) ? new AppError('email_taken') : null
  }
}
