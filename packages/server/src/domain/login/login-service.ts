import { AppError, type Int64, userStatus } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { UserCredentials } from '../users/user-credentials.js'
import { loginNameKind, type User } from '../users/user-model.js'
import type { LoginGuard } from './login-guard.js'
import type { LoginOrigins } from './login-origins.js'
import type { LoginQueue } from './login-queue.js'
import type { PasswordHasher } from './password-hasher.js'
import type { IssuedToken, TokenService } from './token-service.js'

interface LoginServiceOptions {
  readonly database: Database
  readonly users: UserCredentials
  readonly tokens: Pick<TokenService, 'give'>
  readonly hasher: PasswordHasher
  /** The queue of transactions that store tokens. */
  readonly storing: LoginQueue
  readonly guard: LoginGuard
  readonly origins: LoginOrigins
  readonly clock: Clock
  readonly tokenLifeMs: number
}

/** The user of a login, by one of three names. */
export type LoginName =
  | { readonly userId: Int64 }
  | { readonly username: string }
  | { readonly loginName: string }

/** The credentials and the source of a login. */
export interface Login {
  readonly appId: string
  readonly name: LoginName
  readonly password: string
  readonly deviceGuid?: string
  readonly userAgent: string
  /** null when an app server logs its users in. */
  readonly address: string | null
}

/** A user whose password was right. */
interface ProvedUser {
  /** Has the hash that the password was checked against. */
  readonly user: User
  /** null when the stored hash is up to date. */
  readonly upgradedHash: string | null
}

/** Gives tokens for passwords. */
export class LoginService {
  constructor(private readonly options: LoginServiceOptions) {}

  /** @throws AppError user_not_found, user_deleted, password_incorrect, user_disabled, too_many_requests */
  async logIn(login: Login): Promise<IssuedToken> {
    const { appId, password, address } = login
    const { database, hasher, storing } = this.options
    const user = await this.#prove(login)
    if (user.status !== userStatus.normal) throw new AppError('user_disabled')
    const upgradedHash = hasher.needsRehash(user.passwordHash)
      ? await hasher.hash(password, { purpose: 'login', appId, address })
      : null
    const store = (tx: Tx) => this.#store(tx, login, { user, upgradedHash })
    const token = await storing.run({ purpose: 'login', appId, address }, () =>
      database.transaction(store),
    )
    return token ?? this.logIn(login)
  }

  /**
   * @returns null when the password has been rehashed in the meantime and must be checked again
   * @throws AppError user_deleted, user_disabled, password_incorrect
   */
  async #store(
    tx: Tx,
    { appId, deviceGuid, userAgent, address }: Login,
    { user: { userId, passwordHash }, upgradedHash }: ProvedUser,
  ): Promise<IssuedToken | null> {
    const { users, tokens, origins, clock, tokenLifeMs } = this.options
    // During the password check the user may have been deleted or disabled, or have changed the
    // password.
    const current = await users.lockKeyShare(tx, appId, userId)
    if (!current || current.isDeleted) throw new AppError('user_deleted')
    if (current.status !== userStatus.normal) throw new AppError('user_disabled')
    if (current.passwordHash !== passwordHash) {
      // Another first login may have upgraded the hash of the same password.
      if (upgradedHash !== null) return null
      throw new AppError('password_incorrect')
    }
    if (upgradedHash !== null)
      await users.replacePasswordHash(tx, appId, userId, { from: passwordHash, to: upgradedHash })
    const createdAt = clock.now()
    const token = await tokens.give(tx, current, {
      createdAt,
      expiresAt: createdAt + tokenLifeMs,
      device: deviceGuid ? { deviceGuid, userAgent } : undefined,
      isIssued: false,
    })
    if (address !== null) await origins.remember(tx, { appId, userId }, address, createdAt)
    return token
  }

  /**
   * The user that the name and the password prove. An unknown name costs as much as a wrong
   * password.
   */
  async #prove(login: Login): Promise<User> {
    const { appId, name, password, address } = login
    const { hasher, guard, origins } = this.options
    const user = await this.#findUser(appId, name)
    const isThere = user !== null && !user.isDeleted
    const userId = isThere ? user.userId : null
    const knownOrigins = userId === null ? [] : await origins.findKnown({ appId, userId }, login)
    const passwordHash = isThere ? user.passwordHash : ''
    const attempt = { appId, userId, address, knownOrigins }
    const isRight = await guard.verify(attempt, () =>
      hasher.verify(passwordHash, password, { appId, address }),
    )
    if (!user) throw new AppError('user_not_found')
    if (user.isDeleted) throw new AppError('user_deleted')
    if (!isRight) throw new AppError('password_incorrect')
    return user
  }

  async #findUser(appId: string, name: LoginName): Promise<User | null> {
    const { database, users } = this.options
    return database.read(async (db) => {
      if ('userId' in name) return users.find(db, appId, name.userId)
      if ('username' in name) return users.findBy(db, appId, 'username', name.username)
      return users.findBy(db, appId, loginNameKind(name.loginName), name.loginName)
    })
  }
}
