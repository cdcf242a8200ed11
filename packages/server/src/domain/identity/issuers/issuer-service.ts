import type { Database } from '../../../db/database.js'
import {
  confirmRefusal,
  type Freshness,
  type InvalidatedCache,
} from '../../../lib/invalidated-cache.js'
import { SealedTextError, type SecretBox } from '../../../lib/secrets/secret-box.js'
import type { SealedColumn } from '../../secrets/secret-service.js'
import { hmacRefusal, keySetOf, signatureRefusal } from '../assertions/signature.js'
import type { AppIssuers } from './issuer-cache.js'
import { type Issuer, type IssuerKey, issuerContext, type OpenIssuer } from './issuer-model.js'
import type { IssuerStore } from './issuer-store.js'
import type { FetchedKeySets } from './keys/fetched-key-sets.js'

interface IssuerServiceOptions {
  readonly database: Database
  readonly store: IssuerStore
  readonly cache: InvalidatedCache<string, AppIssuers>
  readonly secretBox: SecretBox
  readonly fetched: FetchedKeySets
}

/** The issuers of applications, for the check of assertions. */
export class IssuerService {
  constructor(private readonly options: IssuerServiceOptions) {}

  /** Finds an issuer by its exact name. Changes by other nodes show within a second. */
  async find(appId: string, issuer: string): Promise<OpenIssuer | null> {
    return confirmRefusal(
      (freshness) => this.#find(appId, issuer, freshness),
      (found) => found === null,
    )
  }

  /** Finds an issuer as it is stored now. */
  async findCurrent(appId: string, issuer: string): Promise<OpenIssuer | null> {
    return this.#find(appId, issuer, 'current')
  }

  async #find(appId: string, issuer: string, freshness: Freshness): Promise<OpenIssuer | null> {
    const { database, store, cache } = this.options
    const read = async () => {
      const all = await database.read((db) => store.list(db, appId))
      return new Map(all.map((each) => [each.issuer, this.#open(each)]))
    }
    return (await cache.load(appId, read, freshness))?.get(issuer) ?? null
  }

  /** The shared secrets, the current one first; null when no key decrypts them. */
  secretsOf(issuer: Issuer): readonly string[] | null {
    if (issuer.sealed === '') return []
    try {
      return JSON.parse(this.options.secretBox.open(issuer.sealed, issuerContext(issuer)))
    } catch (error) {
      if (error instanceof SealedTextError) return null
      throw error
    }
  }

  /** @returns '' for none */
  seal(key: IssuerKey, secrets: readonly string[]): string {
    return secrets.length === 0
      ? ''
      : this.options.secretBox.seal(JSON.stringify(secrets), issuerContext(key))
  }

  /** The stored secrets of all issuers. */
  get sealedSecrets(): SealedColumn {
    const { database, store } = this.options
    return {
      list: async (db) =>
        (await store.listAll(db))
          .filter(({ sealed }) => sealed !== '')
          .map((issuer) => ({
            appId: issuer.appId,
            context: issuerContext(issuer),
            sealed: issuer.sealed,
          })),
      replace: ({ appId, sealed: before }, sealed) =>
        database.transaction((tx) => store.reseal(tx, appId, before, sealed)),
    }
  }

  #open(issuer: Issuer): OpenIssuer {
    const { appId, settings, updatedAt } = issuer
    const row = { appId, issuer: issuer.issuer, settings, updatedAt }
    return { ...settings, ...row, ...this.#keysOf(issuer) }
  }

  #keysOf(issuer: Issuer): Pick<OpenIssuer, 'signatureRefusal' | 'keyProblem'> {
    const { keys, algorithms } = issuer.settings
    if (keys.kind === 'hmac_secret') {
      const secrets = this.secretsOf(issuer)
      return {
        signatureRefusal: async ({ text }) =>
          secrets === null ? 'no_keys' : hmacRefusal(text, secrets),
        keyProblem: () => (secrets === null ? 'no key decrypts the secret' : ''),
      }
    }
    if (keys.kind === 'jwks') {
      const set = keySetOf(keys.jwks)
      return {
        signatureRefusal: ({ text }) => signatureRefusal(text, set, algorithms),
        keyProblem: () => '',
      }
    }
    const address =
      keys.kind === 'jwks_url'
        ? { jwksUrl: keys.url }
        : { discovery: keys.url, issuer: issuer.issuer }
    const fetched = this.options.fetched.of(issuer, address)
    return {
      signatureRefusal: (assertion) => fetched.signatureRefusal(assertion, algorithms),
      keyProblem: () => fetched.problem,
    }
  }
}
