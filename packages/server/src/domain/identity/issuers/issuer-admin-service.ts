import { AppError } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { AppService } from '../../apps/app-service.js'
import type { IdentityStore } from '../identities/identity-store.js'
import {
  type Issuer,
  type IssuerKey,
  type IssuerSettings,
  type KeySource,
  maxIssuers,
} from './issuer-model.js'
import type { IssuerService } from './issuer-service.js'
import type { IssuerStore } from './issuer-store.js'
import { keysOfJwks, keysOfPem } from './keys/inline-keys.js'

interface IssuerAdminServiceOptions {
  readonly database: Database
  readonly store: IssuerStore
  readonly issuers: IssuerService
  readonly identities: Pick<IdentityStore, 'renameIssuer'>
  readonly apps: Pick<AppService, 'get' | 'lockForUpdate'>
  readonly clock: Clock
  /** Returns the reason why a URL cannot be called, to follow its name; null: it can. */
  readonly urlFault: (url: string) => string | null
}

/** The keys of an issuer as an operator gives them; the definition requires exactly one source. */
export interface GivenKeys {
  readonly discovery?: string | undefined
  readonly jwksUrl?: string | undefined
  readonly jwks?: Readonly<Record<string, unknown>> | undefined
  readonly pem?: string | undefined
  readonly hmacSecret?: string | undefined
  readonly previousHmacSecret?: string | undefined
}

/** An issuer for operators. */
export interface IssuerSummary {
  readonly issuer: Issuer
  readonly hasPreviousSecret: boolean
}

/** Operations of operators on issuers (rule C10). */
export class IssuerAdminService {
  constructor(private readonly options: IssuerAdminServiceOptions) {}

  /**
   * Makes an issuer, or replaces all of its settings.
   * @throws AppError app_not_found, issuer_limit_reached, invalid_parameter
   */
  async set(
    { appId, issuer }: IssuerKey,
    given: GivenKeys,
    others: Omit<IssuerSettings, 'keys'>,
  ): Promise<IssuerSummary> {
    const { database, store, issuers, apps, clock } = this.options
    await apps.get(appId)
    const settings = { ...others, keys: this.#sourceOf(given, others.algorithms) }
    const secrets = [given.hmacSecret, given.previousHmacSecret].filter(
      (each) => each !== undefined,
    )
    return database.transaction(async (tx) => {
      await apps.lockForUpdate(tx, appId)
      const all = await store.list(tx, appId)
      const before = all.find((each) => each.issuer === issuer)
      if (!before && all.length >= maxIssuers) throw new AppError('issuer_limit_reached')
      const now = clock.now()
      const set: Issuer = {
        ...{ appId, issuer, settings },
        sealed: issuers.seal({ appId, issuer }, secrets),
        createdAt: before?.createdAt ?? now,
        updatedAt: now,
      }
      await store.delete(tx, set)
      await store.insert(tx, set)
      return { issuer: set, hasPreviousSecret: secrets.length > 1 }
    })
  }

  /** Lists by name. @throws AppError app_not_found */
  async list(appId: string): Promise<IssuerSummary[]> {
    const { database, store, issuers, apps } = this.options
    await apps.get(appId)
    const all = await database.read((db) => store.list(db, appId))
    return all.map((issuer) => ({
      issuer,
      hasPreviousSecret: (issuers.secretsOf(issuer)?.length ?? 0) > 1,
    }))
  }

  /** Removes an issuer; its identities stay. @throws AppError app_not_found, issuer_not_found */
  async remove(key: IssuerKey): Promise<void> {
    const { database, store, apps } = this.options
    await database.transaction(async (tx) => {
      await apps.lockForUpdate(tx, key.appId)
      if (!(await store.delete(tx, key))) throw new AppError('issuer_not_found')
    })
  }

  /**
   * Gives an issuer another name, with its identities.
   * @throws AppError app_not_found, issuer_not_found, issuer_exists, invalid_parameter for a secret
   * that no key decrypts
   */
  async rename({ appId, issuer }: IssuerKey, name: string): Promise<void> {
    const { database, store, issuers, identities, apps, clock } = this.options
    await database.transaction(async (tx) => {
      await apps.lockForUpdate(tx, appId)
      const to = { appId, issuer: name }
      if ((await store.find(tx, to)) !== null) throw new AppError('issuer_exists')
      const before = await store.find(tx, { appId, issuer })
      const moved = await identities.renameIssuer(tx, { appId, from: issuer, to: name })
      if (moved === null) throw new AppError('issuer_exists')
      if (before === null) {
        if (moved === 0) throw new AppError('issuer_not_found')
        return
      }
      // Secrets are sealed for their row.
      const secrets = issuers.secretsOf(before)
      if (secrets === null)
        throw new AppError(
          'invalid_parameter',
          'issuer has a secret that no key decrypts; set the issuer with its secret first',
        )
      const sealed = issuers.seal(to, secrets)
      await store.delete(tx, before)
      await store.insert(tx, { ...before, ...to, sealed, updatedAt: clock.now() })
    })
  }

  /** @throws AppError invalid_parameter */
  #sourceOf(given: GivenKeys, algorithms: readonly string[]): KeySource {
    const { discovery, jwksUrl, jwks, pem } = given
    if (discovery !== undefined) return this.#address('discovery', discovery)
    if (jwksUrl !== undefined) return this.#address('jwks_url', jwksUrl)
    if (given.hmacSecret !== undefined) return { kind: 'hmac_secret' }
    const found =
      pem === undefined ? keysOfJwks(jwks ?? {}, algorithms) : keysOfPem(pem, algorithms)
    if ('fault' in found)
      throw new AppError(
        'invalid_parameter',
        `${pem === undefined ? 'jwks' : 'pem'} ${found.fault}`,
      )
    return { kind: 'jwks', jwks: found.jwks }
  }

  /** @throws AppError invalid_parameter */
  #address(kind: 'discovery' | 'jwks_url', url: string): KeySource {
    const fault = this.options.urlFault(url)
    if (fault !== null) throw new AppError('invalid_parameter', `${kind} ${fault}`)
    return { kind, url }
  }
}
