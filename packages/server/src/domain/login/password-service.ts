import { AppError, type Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { AccountService } from '../users/account-service.js'
import { systemUserId } from '../users/system-user.js'
import type { UserCredentials } from '../users/user-credentials.js'
import { passwordViolation, type User } from '../users/user-model.js'
import type { LoginGuard } from './login-guard.js'
import { sessionOrigin } from './login-origins.js'
import type { LoginQueue } from './login-queue.js'
import type { PasswordHasher } from './password-hasher.js'
import type { TokenService } from './token-service.js'

interface PasswordServiceOptions {
  readonly database: Database
  readonly store: UserCredentials
  readonly accounts: AccountService
  readonly tokens: TokenService
  readonly outbox: Outbox
  readonly guard: LoginGuard
  readonly hasher: PasswordHasher
  readonly changing: LoginQueue
  readonly clock: Clock
  readonly passwordMinLength: number
}

/** A new password for a user. */
export interface PasswordChange {
  readonly appId: string
  readonly userId: Int64
  readonly newPassword: string
  /** The name of the new password in the call. */
  readonly field: string
}

/** The proof of a user's identity. */
export interface PasswordProof {
  readonly password: string
  /** null when an app server passes the password on. */
  readonly address: string | null
  /** Hash of the token of the call; null when an app server calls. */
  readonly tokenHash: string | null
}

/**
 * Changes passwords (rule D3). A change ends the tokens and file credentials that the old password
 * gave.
 */
export class PasswordService {
  constructor(private readonly options: PasswordServiceOptions) {}

  /**
   * @param old.tokenHash of the token that stays; null: all end
   * @param old.actorId the user, or the system for an administrator
   * @throws AppError invalid_parameter, password_incorrect, too_many_requests, user_not_found,
   * user_deleted, unavailable
   */
  async change(
    change: PasswordChange,
    old: PasswordProof & { readonly actorId: Int64 },
  ): Promise<void> {
    this.#requireLength(change)
    const { credentialEpoch } = await this.verify(change.appId, change.userId, old)
    await this.#store(change, {
      address: old.address,
      verifiedEpoch: credentialEpoch,
      keptToken: old.tokenHash,
      actorId: old.actorId,
    })
  }

  /** @throws AppError invalid_parameter, user_not_found, user_deleted, unavailable */
  async reset(change: PasswordChange): Promise<void> {
    this.#requireLength(change)
    await this.#store(change, {
      address: null,
      verifiedEpoch: null,
      keptToken: null,
      actorId: systemUserId,
    })
  }

  /**
   * @returns the user that the password was checked for
   * @throws AppError password_incorrect, too_many_requests, user_not_found, user_deleted
   */
  async verify(
    appId: string,
    userId: Int64,
    { password, address, tokenHash }: PasswordProof,
  ): Promise<User> {
    const { accounts, guard, hasher } = this.options
    const user = await accounts.get(appId, userId)
    const knownOrigins = tokenHash === null ? [] : [sessionOrigin(tokenHash)]
    const isRight = await guard.verify({ appId, userId, address, knownOrigins }, () =>
      hasher.verify(user.passwordHash, password, { appId, address }),
    )
    if (!isRight) throw new AppError('password_incorrect')
    return user
  }

  #requireLength({ newPassword, field }: PasswordChange): void {
    const violation = passwordViolation(newPassword, this.options.passwordMinLength, field)
    if (violation !== null) throw new AppError('invalid_parameter', violation)
  }

  async #store(
    { appId, userId, newPassword }: PasswordChange,
    {
      address,
      verifiedEpoch,
      keptToken,
      actorId,
    }: {
      address: string | null
      verifiedEpoch: number | null
      keptToken: string | null
      actorId: Int64
    },
  ): Promise<void> {
    const { database, store, accounts, tokens, outbox, hasher, changing, clock } = this.options
    const request = { purpose: 'login', appId, address } as const
    const passwordHash = await hasher.hash(newPassword, request)
    const change = async (tx: Tx) => {
      const user = await accounts.lockForUpdate(tx, appId, userId)
      // Another call was faster: the verified password is no longer the current one.
      if (verifiedEpoch !== null && user.credentialEpoch !== verifiedEpoch)
        throw new AppError('password_incorrect')
      await store.update(tx, appId, userId, { password_hash: passwordHash })
      outbox.append(tx, actorEvent('user.password_changed', { appId, actorId, userIds: [userId] }))
      await tokens.endLogins(tx, {
        appId,
        userIds: [userId],
        at: clock.now(),
        keep: keptToken,
      })
    }
    await changing.run(request, () => database.transaction(change))
  }
}
