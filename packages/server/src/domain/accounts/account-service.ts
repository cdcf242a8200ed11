import { type AppCaller, AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { definedOnly } from '../../lib/defined-only.js'
import { FactCache } from '../../lib/fact-cache.js'
import type { IdGenerator } from '../../lib/ids.js'
import { equalSecrets } from '../../lib/tokens.js'
import type { ApplicationService } from '../applications/application-service.js'
import type { DeviceService } from '../devices/device-service.js'
import type { PasswordHasher } from './password-hasher.js'
import type { TokenService } from './token-service.js'
import {
  defaultSettings,
  type NameRules,
  passwordFault,
  registrationSign,
  type User,
  type UserSettings,
  type UserState,
  usernameFault,
  usernameKey,
} from './user-model.js'
import type { UserStore } from './user-store.js'

export interface AccountServiceOptions {
  readonly database: Database
  readonly store: UserStore
  readonly applications: ApplicationService
  readonly devices: DeviceService
  readonly tokens: TokenService
  readonly hasher: PasswordHasher
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly names: NameRules
  readonly passwordMinLength: number
}

export interface Registration {
  readonly username: string
  readonly password: string
}

export interface PushRegistration extends Registration {
  readonly alias?: string | undefined
  readonly deviceGuid?: string | undefined
  readonly pushToken?: string | undefined
  readonly sign?: string | undefined
  readonly userAgent: string
}

export interface ProfileChanges {
  readonly description?: string | undefined
  readonly nickName?: string | undefined
  readonly privateInfo?: string | undefined
  readonly publicInfo?: string | undefined
}

export type RegistrationResult =
  | { readonly username: string; readonly userId: Int64 }
  | { readonly username: string; readonly reason: string }

const stateAgeMs = 1_000
const maxPageSize = 200
const defaultPageSize = 50

/** Registration, profiles and the state of users (decisions D1, D4, D7). */
export class AccountService {
  readonly #options: AccountServiceOptions
  readonly #states = new FactCache<UserState>({ maxEntries: 100_000, maxAgeMs: stateAgeMs })

  constructor(options: AccountServiceOptions) {
    this.#options = options
  }

  /** @throws AppError user_not_found, user_deleted */
  async get(appId: string, userId: Int64): Promise<User> {
    const { database, store } = this.#options
    const user = await database.read((db) => store.find(db, appId, userId))
    if (!user) throw new AppError('user_not_found')
    if (user.isDeleted) throw new AppError('user_deleted')
    return user
  }

  /** The state of a user, at most a second old; null when no such user ever existed. */
  async findState(appId: string, userId: Int64): Promise<UserState | null> {
    const { database, store } = this.#options
    const key = stateKey(appId, userId)
    return this.#states.get(key) ?? this.#states.load(key, () => database.read((db) => store.findState(db, appId, userId)))
  }

  /** @throws AppError user_not_found, user_deleted */
  async requireUser(appId: string, userId: Int64): Promise<void> {
    const state = await this.findState(appId, userId)
    if (!state) throw new AppError('user_not_found')
    if (state.isDeleted) throw new AppError('user_deleted')
  }

  async getSettings(appId: string, userId: Int64): Promise<UserSettings> {
    const { database, store } = this.#options
    return (await database.read((db) => store.findSettings(db, appId, userId))) ?? defaultSettings
  }

  /**
   * @returns the new user's ID and settings
   * @throws AppError registration_closed, invalid_parameter, user_exists
   */
  async register(caller: AppCaller, registration: Registration): Promise<{ userId: Int64; settings: UserSettings }> {
    return this.#register(caller, registration, async () => defaultSettings)
  }

  /**
   * Registers together with what push needs: an alias, a device and its push token.
   * @throws AppError as {@link register}, registration_signature_invalid, push_alias_taken; then nothing is left of it
   */
  async registerForPush(caller: AppCaller, registration: PushRegistration): Promise<{ userId: Int64; settings: UserSettings }> {
    const { store, applications, devices } = this.#options
    const { appId } = caller
    const { registrationSecret } = await applications.get(appId)
    const isSigned = () => equalSecrets(registration.sign ?? '', registrationSign(registrationSecret, appId, registration.username))
    if (registrationSecret !== '' && caller.kind !== 'admin' && !isSigned()) throw new AppError('registration_signature_invalid')
    return this.#register(caller, registration, async (tx, userId) => {
      const { alias, deviceGuid, pushToken, userAgent } = registration
      if (alias !== undefined && alias !== '' && !(await store.bindAlias(tx, appId, alias, userId))) throw new AppError('push_alias_taken')
      const device = deviceGuid
        ? await devices.open(tx, { appId, userId, deviceGuid, userAgent, ...(pushToken ? { pushToken } : {}) })
        : null
      const token = device?.pushToken ?? pushToken ?? ''
      if (token === '') return defaultSettings
      await store.saveSettings(tx, appId, userId, { push_token: token })
      return { ...defaultSettings, push_token: token }
    })
  }

  /** Registers one by one; the order of the results is that of the registrations (decision D9). */
  async registerMany(appId: string, registrations: readonly Registration[]): Promise<RegistrationResult[]> {
    const { database, store, hasher, ids, clock } = this.#options
    const taken = await database.read((db) =>
      store.findTaken(
        db,
        appId,
        registrations.map((registration) => registration.username),
      ),
    )
    const prepared = await Promise.all(
      registrations.map(async (registration) => {
        const fault = this.#fault(registration)
        if (fault !== null) return { registration, reason: new AppError('invalid_parameter', fault).message }
        // Registering a name twice in one batch, or one that is taken, must not cost a hash.
        if (taken.has(usernameKey(registration.username))) return { registration, reason: new AppError('user_exists').message }
        taken.add(usernameKey(registration.username))
        return { registration, passwordHash: await hasher.hash(registration.password) }
      }),
    )
    // Taken when all hashes are ready, so that IDs grow in the order of the entries.
    const userIds = await ids.take(prepared.length)
    return database.transaction(async (tx) => {
      const results: RegistrationResult[] = []
      for (const [index, { registration, reason, passwordHash = '' }] of prepared.entries()) {
        const { username } = registration
        const userId = userIds[index] as number
        const row = { app_id: appId, user_id: userId, username, password_hash: passwordHash, created_at: clock.now() }
        if (reason !== undefined) results.push({ username, reason })
        else if (await store.insert(tx, row)) results.push({ username, userId })
        else results.push({ username, reason: new AppError('user_exists').message })
      }
      return results
    })
  }

  async updateProfile(appId: string, userId: Int64, changes: ProfileChanges): Promise<void> {
    const { database, store } = this.#options
    const { description, nickName: nick_name, privateInfo: private_info, publicInfo: public_info } = changes
    const row = definedOnly({ description, nick_name, private_info, public_info })
    const isKnown = Object.keys(row).length > 0 && (await database.transaction((tx) => store.updateProfile(tx, appId, userId, row)))
    // Says which of unknown and deleted it is, and accepts a change of nothing.
    if (!isKnown) await this.get(appId, userId)
  }

  /** @param page.number from 1; @param page.size clamped to 200 */
  async list(
    appId: string,
    page: { number?: number | undefined; size?: number | undefined },
  ): Promise<{ userId: Int64; username: string; status: number }[]> {
    const { database, store } = this.#options
    const limit = Math.min(page.size ?? defaultPageSize, maxPageSize)
    return database.read((db) => store.list(db, appId, { limit, offset: ((page.number ?? 1) - 1) * limit }))
  }

  /**
   * Disables users, which ends their tokens at once, or enables them again (decision D4).
   * @throws AppError user_not_found, user_deleted naming the users; then nothing is changed
   */
  async setEnabled(appId: string, userIds: readonly Int64[], isEnabled: boolean): Promise<void> {
    const { database, store, tokens, clock } = this.#options
    const distinct = [...new Set(userIds)]
    const revoked = await database.transaction(async (tx) => {
      const states = await Promise.all(distinct.map(async (userId) => ({ userId, state: await store.findState(tx, appId, userId) })))
      const unknown = states.filter(({ state }) => state === null)
      if (unknown.length > 0) throw new AppError('user_not_found', unknown.map(({ userId }) => userId).join(', '))
      const deleted = states.filter(({ state }) => state?.isDeleted)
      if (deleted.length > 0) throw new AppError('user_deleted', deleted.map(({ userId }) => userId).join(', '))
      await store.setStatus(tx, appId, distinct, isEnabled ? 0 : 1)
      return isEnabled ? [] : tokens.revokeOfUsers(tx, { appId, userIds: distinct, at: clock.now() })
    })
    tokens.forget(appId, revoked)
    for (const userId of distinct) this.#states.forget(stateKey(appId, userId))
  }

  #fault({ username, password }: Registration): string | null {
    const faults = [usernameFault(username, this.#options.names), passwordFault(password, this.#options.passwordMinLength)]
    return faults.filter((fault) => fault !== null).join('; ') || null
  }

  async #register(
    caller: AppCaller,
    registration: Registration,
    complete: (tx: Tx, userId: Int64) => Promise<UserSettings>,
  ): Promise<{ userId: Int64; settings: UserSettings }> {
    const { database, store, applications, hasher, ids, clock } = this.#options
    const { appId } = caller
    const { openRegistration } = await applications.get(appId)
    if (!openRegistration && caller.kind !== 'admin') throw new AppError('registration_closed')
    const fault = this.#fault(registration)
    if (fault !== null) throw new AppError('invalid_parameter', fault)
    // Before the hash, which costs more than all the rest; the insert below decides.
    const taken = await database.read((db) => store.findTaken(db, appId, [registration.username]))
    if (taken.size > 0) throw new AppError('user_exists')
    const passwordHash = await hasher.hash(registration.password)
    const userId = await ids.next()
    const settings = await database.transaction(async (tx) => {
      const row = { app_id: appId, user_id: userId, username: registration.username, password_hash: passwordHash, created_at: clock.now() }
      if (!(await store.insert(tx, row))) throw new AppError('user_exists')
      return complete(tx, userId)
    })
    return { userId, settings }
  }
}

function stateKey(appId: string, userId: Int64): string {
  return `${appId}/${userId}`
}
