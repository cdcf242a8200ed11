import { randomBytes } from 'node:crypto'
import { AppError, type Int64 } from '@hermod/protocol'
import { importFault } from './password-hasher-formats.js'
import { type NameRules, passwordFault, requireName, usernameFault, usernameKey } from './user-model.js'

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

export interface NewUser {
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

export type ImportResult =
  | { readonly username: string; readonly result: 'created' | 'exists' | 'updated'; readonly userId: Int64 }
  | { readonly username: string; readonly result: 'failed'; readonly error: AppError }

export interface EntryRules {
  readonly passwordMinLength: number
  /** Milliseconds since 1970. */
  readonly now: number
}

// Reserved prefixes keep users from choosing such names; the operator may.
const operatorNames: NameRules = { reservedPrefixes: [] }
/** How far the clock of the system that the users come from may be ahead of ours. */
const maxClockDifferenceMs = 60_000

/** @throws AppError invalid_parameter */
export function requireGoodEntry(user: NewUser, { passwordMinLength, now }: EntryRules): void {
  const { username, password, passwordHash = '', profile, createdAt = 0 } = user
  const faults = [
    usernameFault(username, operatorNames),
    password === undefined ? null : passwordFault(password, passwordMinLength),
    password !== undefined && passwordHash !== '' ? 'give either password or password_hash' : null,
    passwordHash === '' ? null : importFault(passwordHash),
    createdAt > now + maxClockDifferenceMs ? 'created_at must not lie in the future' : null,
  ].filter((fault) => fault !== null)
  if (faults.length > 0) throw new AppError('invalid_parameter', faults.join('; '))
  requireName(profile.nick_name ?? '', 'nick_name')
}

/** A password for a user who was given none: 120 random bits. */
export function createPassword(): string {
  return randomBytes(15).toString('base64url')
}

export interface KnownUser {
  readonly userId: Int64
  /** See {@link usernameKey}. */
  readonly usernameKey: string
  readonly mobile: string
  readonly email: string
}

/** Who has which of the names that are unique in an application. */
export class TakenNames {
  readonly #usernames = new Map<string, Int64>()
  readonly #mobiles = new Map<string, Int64>()
  readonly #emails = new Map<string, Int64>()

  constructor(users: readonly KnownUser[]) {
    for (const user of users) this.add(user)
  }

  add({ userId, usernameKey: key, mobile, email }: KnownUser): void {
    this.#usernames.set(key, userId)
    if (mobile !== '') this.#mobiles.set(mobile, userId)
    if (email !== '') this.#emails.set(email, userId)
  }

  ownerOf(username: string): Int64 | undefined {
    return this.#usernames.get(usernameKey(username))
  }

  /** @returns why a user, or a new one, cannot have the addresses of a profile; null when nothing speaks against it */
  conflict({ mobile = '', email = '' }: Profile, userId?: Int64): AppError | null {
    const isTaken = (owner: Int64 | undefined) => owner !== undefined && owner !== userId
    if (isTaken(this.#mobiles.get(mobile))) return new AppError('mobile_taken')
    return isTaken(this.#emails.get(email)) ? new AppError('email_taken') : null
  }
}
