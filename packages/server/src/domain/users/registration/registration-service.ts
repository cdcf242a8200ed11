import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { compare } from '../../../lib/compare.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import { equalSecrets } from '../../../lib/secrets/tokens.js'
import type { App } from '../../apps/app-model.js'
import type { AppService } from '../../apps/app-service.js'
import type { DeviceService } from '../../devices/device-service.js'
import { type ItemOutcome, valuesOf } from '../../item-outcome.js'
import type { LoginCaller, LoginQueue } from '../../login/login-queue.js'
import type { PasswordHasher } from '../../login/password-hasher.js'
import type { PushTokenOwners } from '../settings/settings-service.js'
import type { SettingsStore } from '../settings/settings-store.js'
import {
  defaultSettings,
  type NameRules,
  passwordViolation,
  registrationSign,
  type StoredSettings,
  type UserKey,
  usernameKey,
  usernameViolation,
} from '../user-model.js'
import type { UserStore } from '../user-store.js'
import { generatedUsername } from './generated-username.js'
import { countNewUsers } from './new-users.js'
import type { RegistrationLimit } from './registration-limit.js'
import type { UserCountStore } from './user-count-store.js'
import { userRoom } from './user-room.js'

interface RegistrationServiceOptions {
  readonly database: Database
  readonly users: UserStore
  readonly counts: UserCountStore
  readonly aliases: AliasBinder
  readonly pushTokens: PushTokenOwners
  readonly settings: SettingsStore
  readonly apps: AppService
  readonly contacts: ContactConnector
  readonly devices: DeviceService
  readonly hasher: PasswordHasher
  /** Queue of the transactions that store single registrations. */
  readonly storing: LoginQueue
  readonly limit: Pick<RegistrationLimit, 'take'>
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly names: NameRules
  readonly passwordMinLength: number
}

/** Makes a new user and another user contacts of each other. */
export interface ContactConnector {
  /**
   * Connects without a request.
   * @throws AppError user_not_found, user_deleted, contact_limit_reached
   */
  connect(tx: Tx, appId: string, userId: Int64, peerId: Int64): Promise<void>
  /**
   * Follows the peer's setting: connects at once, or sends a contact request.
   * @throws AppError user_not_found, user_deleted, contact_limit_reached, contact_requests_refused,
   * wrong_auth_answer
   */
  request(tx: Tx, appId: string, userId: Int64, peerId: Int64): Promise<void>
}

/** Binds a push alias to a new user. */
export interface AliasBinder {
  /** @returns false when the alias belongs to another user */
  bindAlias(tx: Tx, user: UserKey, alias: string): Promise<boolean>
}

/** A user to register. */
export interface Registration {
  readonly username: string
  readonly password: string
}

/** A registration with push data; omitted fields are not set. */
export interface PushRegistration extends Registration {
  readonly alias?: string | undefined
  readonly deviceGuid?: string | undefined
  readonly pushToken?: string | undefined
  readonly sign?: string | undefined
  readonly userAgent: string
}

/** A registration under a generated name. */
export interface AnonymousRegistration {
  /** Prefix of the username. */
  readonly prefix: string
  readonly password: string
  /** A user to connect with; 0: none. */
  readonly contactId?: Int64 | undefined
}

interface PreparedUser {
  readonly registration: Registration
  readonly passwordHash: string
}

/** Caller of a registration; an Admin token may register users even when registration is closed. */
export interface Registrar {
  readonly kind: 'anonymous' | 'user' | 'admin'
  readonly appId: string
  /** The client's network address. No limit applies to an Admin token. */
  readonly address: string
}

/** Registers users (rules C2, D1, D8, D9). */
export class RegistrationService {
  constructor(private readonly options: RegistrationServiceOptions) {}

  /**
   * @returns the new user's ID and settings
   * @throws AppError registration_closed, invalid_parameter, user_exists, user_limit_reached,
   * address_limited, unavailable
   */
  async register(
    registrar: Registrar,
    registration: Registration,
  ): Promise<{ userId: Int64; settings: StoredSettings }> {
    return this.#registerOne(registrar, registration, async (_, userId) => ({
      userId,
      settings: defaultSettings,
    }))
  }

  /**
   * Registers a user with an alias, a device and its push token.
   * The push token of another user is left out: a device then gets one of its own.
   * @throws AppError as {@link register}, registration_signature_invalid, push_alias_taken; then
   * nothing is stored
   */
  async registerForPush(
    registrar: Registrar,
    registration: PushRegistration,
  ): Promise<{ userId: Int64; settings: StoredSettings }> {
    const { aliases, settings, apps, devices, pushTokens } = this.options
    const { appId } = registrar
    const registrationSecret = await apps.registrationSecret(appId)
    const isSigned = () =>
      equalSecrets(
        registration.sign ?? '',
        registrationSign(registrationSecret, appId, registration.username),
      )
    if (registrationSecret !== '' && registrar.kind !== 'admin' && !isSigned())
      throw new AppError('registration_signature_invalid')
    return this.#registerOne(registrar, registration, async (tx, userId) => {
      const { alias, deviceGuid, pushToken: brought, userAgent } = registration
      if (alias && !(await aliases.bindAlias(tx, { appId, userId }, alias)))
        throw new AppError('push_alias_taken')
      const isForeign =
        brought && (await pushTokens.isPushTokenOfOther(tx, { appId, userId }, brought))
      const pushToken = isForeign ? '' : brought
      const device = deviceGuid
        ? await devices.open(tx, {
            appId,
            userId,
            deviceGuid,
            userAgent,
            ...(pushToken ? { pushToken } : {}),
          })
        : null
      const push_token = device?.pushToken ?? pushToken ?? ''
      if (push_token !== '') await settings.save(tx, appId, userId, { push_token })
      return { userId, settings: { ...defaultSettings, push_token } }
    })
  }

  /**
   * Registers under a free name with the given prefix. Only an administrator connects the user with
   * a contact without a request.
   * @throws AppError as {@link register} and {@link ContactConnector}; then nothing is stored
   */
  async registerAnonymous(
    registrar: Registrar,
    { prefix, password, contactId }: AnonymousRegistration,
  ): Promise<Registered> {
    const { contacts } = this.options
    const username = generatedUsername(prefix)
    return this.#registerOne(registrar, { username, password }, async (tx, userId) => {
      const { appId } = registrar
      if (contactId && registrar.kind === 'admin')
        await contacts.connect(tx, appId, userId, contactId)
      else if (contactId) await contacts.request(tx, appId, userId, contactId)
      return { userId, username }
    })
  }

  /**
   * Registers each user separately (rule D9).
   * @returns the IDs of the new users; invalid_parameter, user_exists, user_limit_reached
   * @throws AppError app_not_found
   */
  async registerMany(
    appId: string,
    registrations: readonly Registration[],
  ): Promise<ItemOutcome<Int64>[]> {
    const checked = await this.#checked(appId, registrations)
    const passwords = valuesOf(checked).map(({ password }) => password)
    const hashes = (await this.options.hasher.hashMany(appId, passwords)).values()
    const prepared = checked.map((each) =>
      each instanceof AppError
        ? each
        : { registration: each, passwordHash: hashes.next().value as string },
    )
    const app = await this.options.apps.get(appId)
    // Taken after all hashes are ready, so that IDs grow in the order of the entries.
    const userIds = await this.options.ids.take(prepared.length)
    return this.options.database.transaction((tx) =>
      this.#insert(tx, app, prepared, userIds, async (outcomes) => outcomes),
    )
  }

  /** @throws AppError invalid_parameter when the name is not allowed */
  async isFree(appId: string, username: string): Promise<boolean> {
    const { database, users, names } = this.options
    const violation = usernameViolation(username, names)
    if (violation !== null) throw new AppError('invalid_parameter', violation)
    return (await database.read((db) => users.findTaken(db, appId, [username]))).size === 0
  }

  async #registerOne<T>(
    registrar: Registrar,
    registration: Registration,
    complete: (tx: Tx, userId: Int64) => Promise<T>,
  ): Promise<T> {
    const { database, apps, ids, hasher, storing } = this.options
    const { appId } = registrar
    const app = await apps.get(appId, 'current')
    if (!app.openRegistration && registrar.kind !== 'admin')
      throw new AppError('registration_closed')
    const [refusal] = await this.#checked(appId, [registration])
    if (refusal instanceof AppError) throw refusal
    return this.#counted(registrar, app, async (caller) => {
      const request = { purpose: 'registration', ...caller } as const
      const passwordHash = await hasher.hash(registration.password, request)
      const prepared = { registration, passwordHash }
      const userIds = [await ids.next()]
      const store = (tx: Tx) =>
        this.#insert(tx, app, [prepared], userIds, async ([outcome]) => {
          if (outcome === undefined || outcome instanceof AppError) throw outcome
          return complete(tx, outcome)
        })
      return storing.run(request, () => database.transaction(store))
    })
  }

  /** Counts a single registration, unless the queue was full. */
  async #counted<T>(
    { kind, appId, address: from }: Registrar,
    app: App,
    work: (caller: LoginCaller) => Promise<T>,
  ): Promise<T> {
    const address = kind === 'admin' ? null : from
    const undo = address === null ? null : this.options.limit.take(app, address)
    try {
      return await work({ appId, address })
    } catch (error) {
      // Any other refusal came after a password had been hashed.
      if (!(error instanceof AppError) || error.errorName === 'unavailable') undo?.()
      throw error
    }
  }

  /**
   * Checks all rules before the hashes, which cost more than everything else; the insert decides.
   */
  async #checked(
    appId: string,
    registrations: readonly Registration[],
  ): Promise<ItemOutcome<Registration>[]> {
    const { database, users } = this.options
    const usernames = registrations.map(({ username }) => username)
    const taken = await database.read((db) => users.findTaken(db, appId, usernames))
    return registrations.map((registration) => {
      const violation = this.#violation(registration)
      if (violation !== null) return new AppError('invalid_parameter', violation)
      if (taken.has(usernameKey(registration.username))) return new AppError('user_exists')
      taken.add(usernameKey(registration.username))
      return registration
    })
  }

  /**
   * @param userIds one per user
   * @param complete stores further data of the users before they are counted
   */
  async #insert<T>(
    tx: Tx,
    app: App,
    prepared: readonly ItemOutcome<PreparedUser>[],
    userIds: readonly number[],
    complete: (outcomes: ItemOutcome<Int64>[]) => Promise<T>,
  ): Promise<T> {
    const { users, counts, clock } = this.options
    const { appId } = app
    const { lastBroadcastId: seen } = await counts.find(tx, appId)
    const room = await userRoom(tx, app, this.options)
    const outcomes = prepared.map(
      (each): ItemOutcome<Int64> =>
        each instanceof AppError ? each : new AppError('user_limit_reached'),
    )
    const admitted = prepared
      .flatMap((user, index) => (user instanceof AppError ? [] : [{ user, index }]))
      .slice(0, Math.max(room, 0))
    // All transactions insert names in one order, so that none waits for another that waits for it.
    admitted.sort((a, b) => compare(usernameKeyOf(a.user), usernameKeyOf(b.user)))
    for (const { user, index } of admitted) {
      const userId = userIds[index] as number
      const isInserted = await users.insert(tx, {
        app_id: appId,
        user_id: userId,
        username: user.registration.username,
        password_hash: user.passwordHash,
        created_at: clock.now(),
        broadcasts_after: seen,
      })
      outcomes[index] = isInserted ? userId : new AppError('user_exists')
    }
    const result = await complete(outcomes)
    await countNewUsers(tx, this.options, { appId, userIds: valuesOf(outcomes), seen })
    return result
  }

  #violation({ username, password }: Registration): string | null {
    const violations = [
      usernameViolation(username, this.options.names),
      passwordViolation(password, this.options.passwordMinLength),
    ]
    return violations.filter((violation) => violation !== null).join('; ') || null
  }
}

function usernameKeyOf({ registration }: PreparedUser): string {
  return usernameKey(registration.username)
}

/** The user of an anonymous registration. */
export interface Registered {
  readonly userId: Int64
  readonly username: string
}
