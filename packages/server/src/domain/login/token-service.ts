import { AppError, type Int64, userStatus } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import { type Clock, dayMs } from '../../lib/clock.js'
import type { InvalidatedCache } from '../../lib/invalidated-cache.js'
import type { MaybePromise } from '../../lib/maybe-promise.js'
import { createToken, hashToken } from '../../lib/secrets/tokens.js'
import type { DeviceKey } from '../devices/device-model.js'
import type { DeviceService, OpenedDevice } from '../devices/device-service.js'
import type { FileCredentialService } from '../files/credentials/file-credential-service.js'
import type { FileCredentials } from '../files/credentials/file-credentials.js'
import type { UserCredentials } from '../users/user-credentials.js'
import { loginNameKind, type User, type UserKey } from '../users/user-model.js'
import type { LoginGuard } from './login-guard.js'
import type { LoginOrigins } from './login-origins.js'
import type { LoginQueue } from './login-queue.js'
import type { PasswordHasher } from './password-hasher.js'
import type { TokenKey, TokenStore, UserToken } from './token-store.js'

interface TokenServiceOptions {
  readonly database: Database
  readonly store: TokenStore
  readonly users: UserCredentials
  readonly devices: DeviceService
  readonly hasher: PasswordHasher
  /** The queue of transactions that store tokens. */
  readonly storing: LoginQueue
  readonly guard: LoginGuard
  readonly origins: LoginOrigins
  readonly fileCredentials: FileCredentialService
  readonly clock: Clock
  readonly tokenLifeMs: number
  readonly tokenCache: InvalidatedCache<TokenKey, UserToken>
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

/** The Token record of the contract. */
export interface IssuedToken extends FileCredentials {
  readonly userId: Int64
  readonly token: string
  readonly expiresAt: number
  /** Present when the login named a device. */
  readonly pushToken?: string
}

/** A token to store. */
interface NewToken {
  /** The hash that the password was checked against. */
  readonly user: User
  /** null when the stored hash is up to date. */
  readonly upgradedHash: string | null
  readonly token: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** Valid tokens of a user without a device; the oldest one is revoked first. */
const maxTokensWithoutDevice = 100
/** Stored tokens of a user, ended ones included. */
const maxTokensOfUser = 1_000
const purgeRows = 500
const purgeSteps = 20
/** The time for which an expired token answers that it has expired, and not that it is unknown. */
const keptAfterExpiryMs = 30 * dayMs

/**
 * Logs users in and checks their tokens (rule C6). A token stops working at once here, within a
 * second on other nodes.
 */
export class TokenService {
  #unknownUserHash: Promise<string> | undefined

  constructor(private readonly options: TokenServiceOptions) {}

  /** @throws AppError user_not_found, user_deleted, password_incorrect, user_disabled, too_many_requests */
  async logIn(login: Login): Promise<IssuedToken> {
    const { appId, password, address } = login
    const { database, hasher, storing, clock, tokenLifeMs } = this.options
    const user = await this.#prove(login)
    if (user.status !== userStatus.normal) throw new AppError('user_disabled')
    const upgradedHash = hasher.needsRehash(user.passwordHash)
      ? await hasher.hash(password, { purpose: 'login', appId, address })
      : null
    const token = createToken('hmu_')
    const createdAt = clock.now()
    const expiresAt = createdAt + tokenLifeMs
    const { userId } = user
    const store = (tx: Tx) =>
      this.#store(tx, login, { user, upgradedHash, token, createdAt, expiresAt })
    const stored = await storing.run({ purpose: 'login', appId, address }, () =>
      database.transaction(store),
    )
    if (!stored) return this.logIn(login)
    const { device, credentials } = stored
    return {
      userId,
      token,
      expiresAt,
      ...credentials,
      ...(device ? { pushToken: device.pushToken } : {}),
    }
  }

  /**
   * @returns null when the password has been rehashed in the meantime and must be checked again
   * @throws AppError user_deleted, user_disabled, password_incorrect
   */
  async #store(
    tx: Tx,
    { appId, deviceGuid, userAgent, address }: Login,
    { user: { userId, passwordHash }, upgradedHash, token, createdAt, expiresAt }: NewToken,
  ): Promise<{ device: OpenedDevice | null; credentials: FileCredentials } | null> {
    const { store, users, devices, origins, fileCredentials } = this.options
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
    const device = deviceGuid
      ? await devices.open(tx, { appId, userId, deviceGuid, userAgent })
      : null
    if (device)
      await this.revokeOfDevices(tx, {
        appId,
        userId,
        deviceSns: device.displaced,
        at: createdAt,
      })
    await store.insert(tx, {
      ...{ appId, userId, createdAt, expiresAt },
      revokedAt: null,
      tokenHash: hashToken(token),
      deviceSn: device?.deviceSn ?? null,
    })
    if (address !== null) await origins.remember(tx, { appId, userId }, address, createdAt)
    await this.#makeRoom(tx, { appId, userId }, createdAt)
    return { device, credentials: fileCredentials.of(current, device) }
  }

  /** @returns null for an unknown token, `expired` for one that ended or was revoked */
  find(appId: string, secret: string): MaybePromise<UserToken | 'expired' | null> {
    const { database, store, tokenCache } = this.options
    const tokenHash = hashToken(secret)
    const key = { appId, tokenHash }
    const known = tokenCache.get(key)
    if (known) return this.#check(known)
    return tokenCache
      .load(key, () => database.read((db) => store.find(db, appId, tokenHash)))
      .then((token) => this.#check(token))
  }

  /** @returns when the token ends, milliseconds since 1970; null for an unknown token */
  async findExpiry(key: TokenKey): Promise<number | null> {
    const { database, store, tokenCache } = this.options
    const read = () => database.read((db) => store.find(db, key.appId, key.tokenHash))
    const token = tokenCache.get(key) ?? (await tokenCache.load(key, read))
    return token?.expiresAt ?? null
  }

  #check(token: UserToken | null): UserToken | 'expired' | null {
    if (!token) return null
    return token.isRevoked || token.expiresAt <= this.options.clock.now() ? 'expired' : token
  }

  /**
   * Ends the tokens and the file credentials of the users, within a transaction. It locks the
   * users, so that a concurrent login is either ended with the others or comes after.
   * @param which.keep hash of a token that stays
   */
  async revokeOfUsers(
    tx: Tx,
    which: { appId: string; userIds: readonly Int64[]; at: number; keep?: string | null },
  ): Promise<void> {
    const { appId, userIds, at: revokedAt, keep = null } = which
    const { store, users } = this.options
    await users.raiseCredentialEpoch(tx, await users.lockForUpdate(tx, appId, userIds))
    await store.revokeOfUsers(tx, appId, userIds, { revokedAt, keep })
  }

  /**
   * Does what {@link revokeOfUsers} does, and silences the push bindings of the devices (rule D6a).
   * @param which.keep hash of a token that stays, and with it the bindings of its device
   */
  async endLogins(
    tx: Tx,
    which: { appId: string; userIds: readonly Int64[]; at: number; keep?: string | null },
  ): Promise<void> {
    const { appId, userIds, at, keep = null } = which
    const { store, devices } = this.options
    await this.revokeOfUsers(tx, which)
    const kept = keep === null ? null : await store.find(tx, appId, keep)
    await devices.silence(tx, { appId, userIds, keptDeviceSn: kept?.deviceSn ?? null }, at)
  }

  /**
   * Ties the token to the device, unless it has one. Holds the token until the transaction ends, so
   * that a call that ends it comes before or after.
   * @returns the serial number of the token's device
   * @throws AppError token_expired when a concurrent call has ended it
   */
  async tieToDevice(tx: Tx, { appId, deviceSn }: DeviceKey, tokenHash: string): Promise<number> {
    const { store } = this.options
    const token = await store.lockNoKeyUpdate(tx, appId, tokenHash)
    if (!token || token.isRevoked) throw new AppError('token_expired')
    if (token.deviceSn !== null) return token.deviceSn
    await store.setDevice(tx, appId, tokenHash, deviceSn)
    return deviceSn
  }

  async revokeOfDevices(
    tx: Tx,
    which: UserKey & { deviceSns: readonly number[]; at: number },
  ): Promise<void> {
    const { appId, userId, deviceSns, at } = which
    for (const deviceSn of deviceSns)
      await this.options.store.revokeOfDevice(tx, appId, userId, deviceSn, at)
  }

  /** Bounds the tokens that repeated logins leave. */
  async #makeRoom(tx: Tx, user: UserKey, at: number): Promise<void> {
    const { store } = this.options
    // Most users have few tokens, and finding the oldest ones reads all of them.
    const tokens = await store.count(tx, user)
    if (tokens > maxTokensWithoutDevice)
      await store.revokeOldest(tx, user, { keep: maxTokensWithoutDevice, revokedAt: at })
    if (tokens > maxTokensOfUser)
      await store.deleteOldest(tx, user, { keep: maxTokensOfUser, limit: purgeRows })
  }

  /** Deletes tokens that expired long ago, in small steps, so that no message waits for it. */
  async purge(): Promise<void> {
    const { database, store, clock } = this.options
    for (let step = 0; step < purgeSteps; step++) {
      const deleted = await database.transaction((tx) =>
        store.deleteExpired(tx, clock.now() - keptAfterExpiryMs, purgeRows),
      )
      if (deleted < purgeRows) return
    }
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
    const passwordHash = isThere ? user.passwordHash : await this.#hashOfUnknownUser(appId)
    const attempt = { appId, userId, address, knownOrigins }
    const isRight = await guard.verify(attempt, () =>
      hasher.verify(passwordHash, password, { appId, address }),
    )
    if (!user) throw new AppError('user_not_found')
    if (user.isDeleted) throw new AppError('user_deleted')
    if (!isRight) throw new AppError('password_incorrect')
    return user
  }

  #hashOfUnknownUser(appId: string): Promise<string> {
    this.#unknownUserHash ??= this.options.hasher
      .hash(createToken('hmu_'), { purpose: 'login', appId, address: null, isUnbounded: true })
      .catch((error: unknown) => {
        this.#unknownUserHash = undefined
        throw error
      })
    return this.#unknownUserHash
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
