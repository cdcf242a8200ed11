import {
  AppError,
  type AppSettings,
  appStatus,
  type Int64,
  missingScope,
  type Scope,
  type Scopes,
  systemUserId,
} from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { definedOnly } from '../../lib/defined-only.js'
import type { IdGenerator } from '../../lib/ids/ids.js'
import {
  confirmRefusal,
  type Freshness,
  type InvalidatedCache,
} from '../../lib/invalidated-cache.js'
import type { MaybePromise } from '../../lib/maybe-promise.js'
import { createToken, equalSecrets, hashToken } from '../../lib/secrets/tokens.js'
import type { Outbox } from '../../outbox/outbox.js'
import { profileEvent } from '../users/user-model.js'
import {
  type App,
  appIdPattern,
  type StoredAdminToken,
  settingsViolation,
  storedSettings,
} from './app-model.js'
import type { AppSecrets } from './app-secrets.js'
import type { AppStore } from './app-store.js'

interface AppServiceOptions {
  readonly database: Database
  readonly store: AppStore
  readonly histories: {
    /** Begins the first history of a new app. */
    addHistory(tx: Tx, appId: string): Promise<void>
  }
  readonly outbox: Outbox
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly secrets: AppSecrets
  /** The token from the configuration; null when only tokens of the database are valid. */
  readonly operatorToken: string | null
  readonly appCache: InvalidatedCache<string, App>
  readonly adminTokenCache: InvalidatedCache<string, StoredAdminToken>
}

/** The settings of the app that a start creates. */
interface StartSettings {
  /** null: {@link defaultAppId} */
  readonly appId: string | null
  readonly adminToken: string | null
  /** The scopes of the Admin token; undefined: all for a new one. */
  readonly scopes: Scopes | undefined
  /** True when a new app gets tokens that the settings do not name. */
  readonly makesTokens: boolean
}

/** An app that a start has created, with the tokens that were made for it in clear. */
export interface NewApp {
  readonly appId: string
  readonly adminToken: string | null
  readonly operatorToken: string | null
}

/** Absent fields stay as they are. */
export interface AppChanges {
  readonly name?: string | undefined
  readonly status?: number | undefined
  readonly openRegistration?: boolean | undefined
  /** The key in clear; '' when no `sign` is needed. */
  readonly registrationSecret?: string | undefined
  /** Absent fields stay as they are. */
  readonly settings?: Partial<AppSettings> | undefined
}

const defaultAppId = 'hermod'
/** The properties of the system user, by the settings that hold them. */
const systemProperties = { system_name: 'nick_name', system_avatar: 'avatar' } as const

/** Apps, their Admin tokens and the operator tokens (rule C6). */
export class AppService {
  constructor(private readonly options: AppServiceOptions) {}

  /**
   * @param freshness `current` where the settings of the app may refuse the call
   * @throws AppError app_not_found
   */
  async get(appId: string, freshness: Freshness = 'cached'): Promise<App> {
    const { database, store, appCache } = this.options
    const read = async () =>
      appIdPattern.test(appId) ? database.read((db) => store.find(db, appId)) : null
    const known = await appCache.load(appId, read, freshness)
    if (!known) throw new AppError('app_not_found')
    return known
  }

  /** @throws AppError app_not_found, app_inactive */
  requireActive(appId: string): MaybePromise<App> {
    const known = this.options.appCache.get(appId)
    return known && isActive(known) ? known : this.#requireActive(appId)
  }

  async #requireActive(appId: string): Promise<App> {
    const app = await confirmRefusal(
      (freshness) => this.get(appId, freshness),
      (found) => !isActive(found),
    )
    if (!isActive(app)) throw new AppError('app_inactive')
    return app
  }

  /** Serializes the transactions that observe a limit of the app. @throws AppError app_not_found */
  async lockForUpdate(tx: Tx, appId: string): Promise<App> {
    const app = await this.options.store.lockForUpdate(tx, appId)
    if (!app) throw new AppError('app_not_found')
    return app
  }

  async list(): Promise<App[]> {
    const { database, store } = this.options
    return database.read((db) => store.list(db))
  }

  /**
   * Creates an app with a first Admin token.
   * @returns the token in clear, the only time it is shown
   * @throws AppError app_exists
   */
  async create(
    appId: string | undefined,
    name: string | undefined,
  ): Promise<{ app: App; adminToken: string }> {
    const chosen = appId ?? `app-${createToken('hma_').slice(4, 14).toLowerCase()}`
    const adminToken = createToken('hma_')
    await this.#createWithToken(chosen, name ?? chosen, adminToken)
    return { app: await this.get(chosen), adminToken }
  }

  /** @throws AppError app_not_found, invalid_parameter */
  async update(appId: string, { settings = {}, ...changes }: AppChanges): Promise<void> {
    const { database, store, secrets } = this.options
    const violation = settingsViolation(settings)
    if (violation !== null) throw new AppError('invalid_parameter', violation)
    const { name, status, openRegistration, registrationSecret } = changes
    const open_registration = openRegistration === undefined ? undefined : Number(openRegistration)
    await database.transaction(async (tx) => {
      const app = await this.lockForUpdate(tx, appId)
      this.#recordSystemChange(tx, app, settings)
      const registration_secret =
        registrationSecret === undefined
          ? undefined
          : secrets.sealRegistrationSecret(appId, registrationSecret)
      const merged = storedSettings({ ...app.settings, ...settings })
      await store.update(
        tx,
        appId,
        definedOnly({ name, status, open_registration, registration_secret, settings: merged }),
      )
    })
  }

  /** @returns the key of `sign` at /user/register/push in clear; '' when none is needed */
  async registrationSecret(appId: string): Promise<string> {
    return this.options.secrets.openRegistrationSecret(await this.get(appId, 'current'))
  }

  /**
   * The key that signs the addresses of files.
   * @returns the key as this node knows it; another node may have renewed it within the last second
   * @throws AppError app_not_found
   */
  async fileLinkKey(appId: string): Promise<Buffer> {
    return this.options.secrets.openFileLinkKey(await this.get(appId))
  }

  /** {@link fileLinkKey} as it is stored at this moment. */
  async storedFileLinkKey(appId: string): Promise<Buffer> {
    const { database, store, secrets } = this.options
    const app = await database.read((db) => store.find(db, appId))
    if (!app) throw new AppError('app_not_found')
    return secrets.openFileLinkKey(app)
  }

  /**
   * Ends all addresses of files of the app: here at once, on other nodes within a second.
   * @throws AppError app_not_found
   */
  async renewFileLinkKey(appId: string): Promise<void> {
    const { database, store, secrets } = this.options
    await database.transaction(async (tx) => {
      await this.lockForUpdate(tx, appId)
      await store.update(tx, appId, { file_link_key: secrets.newFileLinkKey(appId) })
    })
  }

  /** @param expiresAt milliseconds since 1970; null = never */
  async createAdminToken(
    appId: string,
    { name, expiresAt, scopes }: Pick<StoredAdminToken, 'name' | 'expiresAt' | 'scopes'>,
  ): Promise<{ token: StoredAdminToken; secret: string }> {
    const { database, store } = this.options
    await this.get(appId)
    const secret = createToken('hma_')
    const token = { ...(await this.#newToken(appId, name, scopes)), expiresAt }
    await database.transaction((tx) => store.insertAdminToken(tx, token, hashToken(secret)))
    return { token, secret }
  }

  async listAdminTokens(appId: string): Promise<StoredAdminToken[]> {
    const { database, store } = this.options
    await this.get(appId)
    return database.read((db) => store.listAdminTokens(db, appId))
  }

  /** @throws AppError app_not_found, token_not_found */
  async revokeAdminToken(appId: string, tokenId: Int64): Promise<void> {
    const { database, store, clock } = this.options
    await this.get(appId)
    const isRevoked = await database.transaction((tx) =>
      store.revokeAdminToken(tx, appId, tokenId, clock.now()),
    )
    if (!isRevoked) throw new AppError('token_not_found')
  }

  /** @throws AppError app_not_found, token_not_found, also for a revoked token */
  async setAdminTokenScopes(
    appId: string,
    tokenId: Int64,
    scopes: Scopes,
  ): Promise<StoredAdminToken> {
    const { database, store } = this.options
    await this.get(appId)
    const token = await database.transaction((tx) =>
      store.setAdminTokenScopes(tx, appId, tokenId, scopes),
    )
    if (token === null) throw new AppError('token_not_found', 'it is unknown or revoked')
    return token
  }

  /** @param needed the scopes that the call needs */
  async findAdminToken(
    appId: string,
    secret: string,
    needed: readonly Scope[],
  ): Promise<StoredAdminToken | 'expired' | 'revoked' | null> {
    const { database, store, clock, adminTokenCache } = this.options
    const tokenHash = hashToken(secret)
    const read = () => database.read((db) => store.findAdminToken(db, tokenHash))
    const token = await confirmRefusal(
      (freshness) => adminTokenCache.load(tokenHash, read, freshness),
      // An ended token is never valid again, but a token gets other scopes.
      (found) => found !== null && missingScope(needed, found.scopes) !== null,
    )
    if (token?.appId !== appId) return null
    if (token.revokedAt !== null) return 'revoked'
    return token.expiresAt !== null && token.expiresAt <= clock.now() ? 'expired' : token
  }

  /**
   * Finds which apps are disabled, and which Admin tokens have ended or have a list of scopes, past
   * all caches.
   * @returns adminTokens: how they ended, or the list
   */
  async findEndedAccess(of: {
    readonly apps: readonly string[]
    readonly adminTokens: readonly string[]
  }): Promise<{
    readonly apps: ReadonlySet<string>
    readonly adminTokens: ReadonlyMap<string, 'expired' | 'revoked' | ReadonlySet<string>>
  }> {
    const { database, store, clock } = this.options
    const tokens = new Map(of.adminTokens.map((secret) => [hashToken(secret), secret]))
    const found = await database.read((db) =>
      store.listEnded(db, { appIds: of.apps, tokenHashes: [...tokens.keys()], at: clock.now() }),
    )
    const apps = new Set<string>()
    const adminTokens = new Map<string, 'expired' | 'revoked' | ReadonlySet<string>>()
    for (const { kind, id, scopes } of found)
      if (kind === 'disabled') apps.add(id)
      else if (kind !== 'limited') adminTokens.set(tokens.get(id) ?? '', kind)
      else if (scopes !== null) adminTokens.set(tokens.get(id) ?? '', scopes)
    return { apps, adminTokens }
  }

  async isOperatorToken(secret: string): Promise<boolean> {
    const { database, store, operatorToken } = this.options
    if (operatorToken !== null && equalSecrets(secret, operatorToken)) return true
    return database.read((db) => store.hasOperatorToken(db, hashToken(secret)))
  }

  /**
   * Creates what the settings of a start name and the store lacks: the app with its tokens, or the
   * token alone, whose scopes are set when it is known. Without an app_id and a token in the settings,
   * creates the first app of a store.
   * @returns the new app; null: none was created
   */
  async prepareStart({
    appId: named,
    adminToken,
    scopes,
    makesTokens,
  }: StartSettings): Promise<NewApp | null> {
    const { database, store } = this.options
    const appId = named ?? defaultAppId
    const isFirst = named === null && adminToken === null
    const isThere = await database.read(async (db) =>
      isFirst ? (await store.count(db)) > 0 : (await store.find(db, appId)) !== null,
    )
    if (!isThere) {
      const made = {
        appId,
        adminToken: adminToken === null && makesTokens ? createToken('hma_') : null,
        operatorToken: isFirst && makesTokens ? this.#newOperatorToken() : null,
      }
      // Another node may be faster; its operator has seen the tokens.
      const stored = { ...made, adminToken: adminToken ?? made.adminToken, scopes: scopes ?? null }
      if (await this.#createUnlessThere(stored)) return made
    }
    if (adminToken !== null) await this.#ensureAdminToken(appId, adminToken, scopes)
    return null
  }

  /** @returns null: one is configured */
  #newOperatorToken(): string | null {
    return this.options.operatorToken === null ? createToken('hmo_') : null
  }

  /** The system is a user with a name and an avatar from the settings (rule E11b). */
  #recordSystemChange(tx: Tx, { appId, settings: before }: App, after: Partial<AppSettings>): void {
    const changed = Object.entries(systemProperties).flatMap(([setting, property]) => {
      const name = setting as keyof typeof systemProperties
      const value = after[name]
      return value === undefined || value === before[name] ? [] : [[property, value] as const]
    })
    if (changed.length === 0) return
    const about = { appId, actorId: systemUserId, userIds: [systemUserId] }
    this.options.outbox.append(tx, profileEvent(about, Object.fromEntries(changed)))
  }

  async #ensureAdminToken(
    appId: string,
    secret: string,
    scopes: Scopes | undefined,
  ): Promise<void> {
    const { database, store } = this.options
    const tokenHash = hashToken(secret)
    const known = await database.read((db) => store.findAdminToken(db, tokenHash))
    if (known === null) {
      const token = await this.#newToken(appId, 'bootstrap', scopes ?? null)
      await database.transaction((tx) => store.insertAdminToken(tx, token, tokenHash))
    } else if (known.revokedAt === null && scopes !== undefined && !areSame(known.scopes, scopes))
      await this.setAdminTokenScopes(known.appId, known.tokenId, scopes)
  }

  async #createUnlessThere({
    appId,
    adminToken,
    ...more
  }: NewApp & { readonly scopes: Scopes }): Promise<boolean> {
    try {
      await this.#createWithToken(appId, appId, adminToken, more)
      return true
    } catch (error) {
      if (error instanceof AppError && error.errorName === 'app_exists') return false
      throw error
    }
  }

  async #newToken(appId: string, name: string, scopes: Scopes): Promise<StoredAdminToken> {
    const { ids, clock } = this.options
    return {
      tokenId: await ids.next(),
      appId,
      name,
      scopes,
      createdAt: clock.now(),
      expiresAt: null,
      revokedAt: null,
    }
  }

  /**
   * Creates all of them or none.
   * @param secret null: the app has no token
   */
  async #createWithToken(
    appId: string,
    name: string,
    secret: string | null,
    {
      scopes = null,
      operatorToken = null,
    }: { readonly scopes?: Scopes; readonly operatorToken?: string | null } = {},
  ): Promise<void> {
    const { database, store, histories, secrets, clock } = this.options
    const token = secret === null ? null : await this.#newToken(appId, 'first', scopes)
    const createdAt = token?.createdAt ?? clock.now()
    await database.transaction(async (tx) => {
      const row = {
        app_id: appId,
        name,
        status: appStatus.normal,
        open_registration: 1,
        registration_secret: '',
        file_link_key: secrets.newFileLinkKey(appId),
        settings: '{}',
        created_at: createdAt,
      }
      if (!(await store.insert(tx, row))) throw new AppError('app_exists')
      await histories.addHistory(tx, appId)
      if (token !== null && secret !== null)
        await store.insertAdminToken(tx, token, hashToken(secret))
      if (operatorToken !== null)
        await store.insertOperatorToken(tx, hashToken(operatorToken), createdAt)
    })
  }
}

function areSame(a: Scopes, b: Scopes): boolean {
  return (a && [...a].join()) === (b && [...b].join())
}

function isActive({ status }: App): boolean {
  return status === appStatus.normal
}
