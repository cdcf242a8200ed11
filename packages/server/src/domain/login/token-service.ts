import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import { type Clock, dayMs } from '../../lib/clock.js'
import { keyText } from '../../lib/ids/key-text.js'
import type { InvalidatedCache } from '../../lib/invalidated-cache.js'
import type { MaybePromise } from '../../lib/maybe-promise.js'
import { createToken, hashToken } from '../../lib/secrets/tokens.js'
import type { DeviceKey } from '../devices/device-model.js'
import type { DeviceService, DeviceUse } from '../devices/device-service.js'
import type { FileCredentialService } from '../files/credentials/file-credential-service.js'
import type { FileCredentials } from '../files/credentials/file-credentials.js'
import type { UserCredentials } from '../users/user-credentials.js'
import { endOfAssertions, type User, type UserKey } from '../users/user-model.js'
import type { CallerToken, TokenKey, TokenStore } from './token-store.js'

interface TokenServiceOptions {
  readonly database: Database
  readonly store: TokenStore
  readonly users: Pick<UserCredentials, 'endCredentials' | 'lockForUpdate' | 'update'>
  readonly devices: DeviceService
  readonly fileCredentials: FileCredentialService
  readonly clock: Clock
  readonly tokenCache: InvalidatedCache<TokenKey, CallerToken>
}

/** A token to give to a user. */
export interface NewToken {
  readonly createdAt: number
  readonly expiresAt: number
  /** Absent: the token is tied to no device. */
  readonly device?: Omit<DeviceUse, keyof UserKey | 'pushToken'> | undefined
  /** False: a password was proved. */
  readonly isIssued: boolean
}

/** A token and the device that it is to have. */
export type TokenTie = TokenKey & Pick<DeviceKey, 'deviceSn'>

/** The Token record of the contract. */
export interface IssuedToken extends FileCredentials {
  readonly userId: Int64
  readonly token: string
  readonly expiresAt: number
  /** Present when the call named a device. */
  readonly pushToken?: string
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
 * Gives users their tokens and checks them (rule C6). A token stops working at once here, within a
 * second on other nodes.
 */
export class TokenService {
  constructor(private readonly options: TokenServiceOptions) {}

  /**
   * Gives a user a new token. Tokens that were issued for its device before end with it.
   * @param user locked, and neither deleted nor disabled
   */
  async give(
    tx: Tx,
    user: Pick<User, 'appId' | 'userId' | 'credentialEpoch'>,
    { createdAt, expiresAt, device: use, isIssued }: NewToken,
  ): Promise<IssuedToken> {
    const { store, devices, fileCredentials } = this.options
    const { appId, userId } = user
    const device = use ? await devices.open(tx, { ...use, appId, userId }) : null
    if (device) {
      const { deviceSn, displaced: deviceSns } = device
      await this.revokeOfDevices(tx, { appId, userId, deviceSns, at: createdAt })
      const key = { appId, userId, deviceSn }
      if (isIssued) await store.revokeOfDevice(tx, key, { revokedAt: createdAt, onlyIssued: true })
    }
    const token = createToken('hmu_')
    await store.insert(tx, {
      ...{ appId, userId, createdAt, expiresAt },
      revokedAt: null,
      tokenHash: hashToken(token),
      deviceSn: device?.deviceSn ?? null,
      issued: isIssued ? 1 : 0,
    })
    await this.#makeRoom(tx, { appId, userId }, createdAt)
    return {
      userId,
      token,
      expiresAt,
      ...fileCredentials.of(user, device),
      ...(device ? { pushToken: device.pushToken } : {}),
    }
  }

  /** @returns null for an unknown token, `expired` for one that ended or was revoked */
  find(appId: string, secret: string): MaybePromise<CallerToken | 'expired' | null> {
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

  #check(token: CallerToken | null): CallerToken | 'expired' | null {
    if (!token) return null
    return token.isRevoked || token.expiresAt <= this.options.clock.now() ? 'expired' : token
  }

  /**
   * Ends the tokens, the file credentials and the assertions of the users, within a transaction. It
   * locks the users, so that a concurrent login is either ended with the others or comes after.
   * @param which.keep hash of a token that stays
   */
  async revokeOfUsers(
    tx: Tx,
    which: { appId: string; userIds: readonly Int64[]; at: number; keep?: string | null },
  ): Promise<void> {
    const { appId, userIds, at: revokedAt, keep = null } = which
    const { store, users } = this.options
    await users.endCredentials(tx, await users.lockForUpdate(tx, appId, userIds), revokedAt)
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
   * Ties each token to its device, unless it has one. Holds the tokens until the transaction ends, so
   * that a call that ends one comes before or after.
   * @returns the serial number of each token's device
   * @throws AppError token_expired when a concurrent call has ended one
   */
  async tieToDevices(tx: Tx, ties: readonly TokenTie[]): Promise<number[]> {
    const { store } = this.options
    const found = await store.lockNoKeyUpdate(tx, ties)
    const tokens = new Map(found.map((token) => [keyText(token.appId, token.tokenHash), token]))
    const tied = ties.map(({ appId, tokenHash }) => {
      const token = tokens.get(keyText(appId, tokenHash))
      if (!token || token.isRevoked) throw new AppError('token_expired')
      return token.deviceSn
    })
    await store.setDevices(
      tx,
      ties.filter((_, index) => tied[index] === null),
    )
    return ties.map(({ deviceSn }, index) => tied[index] ?? deviceSn)
  }

  /** Refuses assertions of the user that were issued or accepted until now (rule C9). Locks the user. */
  async endAssertions(tx: Tx, { appId, userId }: UserKey, at: number): Promise<void> {
    const { users } = this.options
    const [user] = await users.lockForUpdate(tx, appId, [userId])
    if (user) await users.update(tx, appId, userId, { assertions_after: endOfAssertions(user, at) })
  }

  async revokeOfDevices(
    tx: Tx,
    which: UserKey & { deviceSns: readonly number[]; at: number },
  ): Promise<void> {
    const { appId, userId, deviceSns, at } = which
    for (const deviceSn of deviceSns)
      await this.options.store.revokeOfDevice(
        tx,
        { appId, userId, deviceSn },
        { revokedAt: at, onlyIssued: false },
      )
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
}
