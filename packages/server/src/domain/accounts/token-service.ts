import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { FactCache } from '../../lib/fact-cache.js'
import { createToken, hashToken } from '../../lib/tokens.js'
import type { DeviceService } from '../devices/device-service.js'
import type { PasswordHasher } from './password-hasher.js'
import type { TokenStore, UserToken } from './token-store.js'
import { fileCredentials, loginNameKind, type User } from './user-model.js'
import type { UserStore } from './user-store.js'

export interface TokenServiceOptions {
  readonly database: Database
  readonly store: TokenStore
  readonly users: UserStore
  readonly devices: DeviceService
  readonly hasher: PasswordHasher
  readonly clock: Clock
  readonly tokenLifeMs: number
  /** Derives the file credentials of users. */
  readonly secretKey: Buffer
}

/** Whom a login names, by which of the three ways. */
export type LoginName = { readonly userId: Int64 } | { readonly username: string } | { readonly loginName: string }

export interface Login {
  readonly appId: string
  readonly name: LoginName
  readonly password: string
  readonly deviceGuid?: string
  readonly userAgent: string
}

/** The Token record of the contract. */
export interface IssuedToken {
  readonly userId: Int64
  readonly token: string
  readonly expiresAt: number
  readonly storeToken: string
  readonly accessKeySecret: string
  /** Present when a device was named. */
  readonly pushToken?: string
}

const tokenAgeMs = 1_000
const purgeRows = 500
const purgeSteps = 20

/** Logs users in and judges their tokens (decision C6). A token stops working at once here, within a second on other nodes. */
export class TokenService {
  readonly #options: TokenServiceOptions
  readonly #tokens = new FactCache<UserToken>({ maxEntries: 100_000, maxAgeMs: tokenAgeMs })

  constructor(options: TokenServiceOptions) {
    this.#options = options
  }

  /** @throws AppError user_not_found, user_deleted, password_incorrect, user_disabled */
  async logIn({ appId, name, password, deviceGuid, userAgent }: Login): Promise<IssuedToken> {
    const { database, store, devices, hasher, clock, tokenLifeMs, secretKey } = this.#options
    const user = await this.#findUser(appId, name)
    if (!user) throw new AppError('user_not_found')
    if (user.isDeleted) throw new AppError('user_deleted')
    if (!(await hasher.verify(user.passwordHash, password))) throw new AppError('password_incorrect')
    if (user.status !== 0) throw new AppError('user_disabled')
    const token = createToken('hmu_')
    const createdAt = clock.now()
    const expiresAt = createdAt + tokenLifeMs
    const { userId } = user
    const { device, revoked } = await database.transaction(async (tx) => {
      // Read again under the transaction: the user may have been disabled while the password was being checked.
      const state = await this.#options.users.findState(tx, appId, userId)
      if (state?.status !== 0 || state.isDeleted) throw new AppError(state?.isDeleted ? 'user_deleted' : 'user_disabled')
      const device = deviceGuid ? await devices.open(tx, { appId, userId, deviceGuid, userAgent }) : null
      const revoked = device ? await this.#revokeOfDevices(tx, appId, userId, device.displaced) : []
      const row = { app_id: appId, user_id: userId, created_at: createdAt, expires_at: expiresAt, revoked_at: null }
      await store.insert(tx, { ...row, token_hash: hashToken(token), device_sn: device?.deviceSn ?? null })
      return { device, revoked }
    })
    this.forget(appId, revoked)
    return { userId, token, expiresAt, ...fileCredentials(secretKey, user), ...(device ? { pushToken: device.pushToken } : {}) }
  }

  /** @returns null for a token that nobody has, `expired` for one that ended or was revoked */
  find(appId: string, secret: string): UserToken | 'expired' | null | Promise<UserToken | 'expired' | null> {
    const { database, store } = this.#options
    const tokenHash = hashToken(secret)
    const key = cacheKey(appId, tokenHash)
    const known = this.#tokens.get(key)
    if (known) return this.#judge(known)
    return this.#tokens.load(key, () => database.read((db) => store.find(db, appId, tokenHash))).then((token) => this.#judge(token))
  }

  #judge(token: UserToken | null): UserToken | 'expired' | null {
    if (!token) return null
    return token.isRevoked || token.expiresAt <= this.#options.clock.now() ? 'expired' : token
  }

  /** Within a transaction; {@link forget} what it returns once that is committed. */
  async revokeOfUsers(tx: Tx, which: { appId: string; userIds: readonly Int64[]; at: number }): Promise<string[]> {
    return this.#options.store.revokeOfUsers(tx, which.appId, which.userIds, which.at)
  }

  forget(appId: string, tokenHashes: readonly string[]): void {
    for (const tokenHash of tokenHashes) this.#tokens.forget(cacheKey(appId, tokenHash))
  }

  /** Deletes tokens that ended; some at a time, so that no message waits for it. */
  async purge(): Promise<void> {
    const { database, store, clock } = this.#options
    for (let step = 0; step < purgeSteps; step++) {
      const deleted = await database.transaction((tx) => store.deleteExpired(tx, clock.now(), purgeRows))
      if (deleted < purgeRows) return
    }
  }

  async #findUser(appId: string, name: LoginName): Promise<User | null> {
    const { database, users } = this.#options
    return database.read(async (db) => {
      if ('userId' in name) return users.find(db, appId, name.userId)
      if ('username' in name) return users.findBy(db, appId, 'username', name.username)
      return users.findBy(db, appId, loginNameKind(name.loginName), name.loginName)
    })
  }

  async #revokeOfDevices(tx: Tx, appId: string, userId: Int64, deviceSns: readonly number[]): Promise<string[]> {
    const revoked: string[] = []
    for (const deviceSn of deviceSns)
      revoked.push(...(await this.#options.store.revokeOfDevice(tx, appId, userId, deviceSn, this.#options.clock.now())))
    return revoked
  }
}

function cacheKey(appId: string, tokenHash: string): string {
  return `${appId}/${tokenHash}`
}
