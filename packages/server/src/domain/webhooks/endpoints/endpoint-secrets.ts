import type { Database } from '../../../db/database.js'
import { boundedCache } from '../../../lib/limits/bounded-cache.js'
import { SealedTextError, type SecretBox } from '../../../lib/secrets/secret-box.js'
import type { SealedColumn } from '../../secrets/secret-service.js'
import {
  type Endpoint,
  type EndpointKey,
  type EndpointSecrets,
  endpointContext,
} from './endpoint-model.js'
import type { EndpointStore } from './endpoint-store.js'

/** A previous secret signs for so long after a change. */
const previousMs = 24 * 3_600_000

/** Opened secrets in memory. */
const maxOpened = 10_000

/**
 * The secrets of endpoints, encrypted at rest. Each request needs them, so opened ones are kept in
 * memory.
 */
export class EndpointSecretBox {
  /** By context and sealed text. */
  readonly #opened = boundedCache<string, EndpointSecrets>(maxOpened)

  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: EndpointStore
      readonly secretBox: SecretBox
    },
  ) {}

  seal(key: EndpointKey, secrets: EndpointSecrets): string {
    return this.options.secretBox.seal(JSON.stringify(secrets), endpointContext(key))
  }

  /** Returns null when no key decrypts the secrets. */
  open(endpoint: Endpoint): EndpointSecrets | null {
    const context = endpointContext(endpoint)
    const name = `${context.row} ${endpoint.sealed}`
    const known = this.#opened.get(name)
    if (known) return known
    try {
      const secrets: EndpointSecrets = JSON.parse(
        this.options.secretBox.open(endpoint.sealed, context),
      )
      this.#opened.set(name, secrets)
      return secrets
    } catch (error) {
      if (error instanceof SealedTextError) return null
      throw error
    }
  }

  /** Returns the secrets that sign at a time, the newest first; [] when no key decrypts them. */
  signing(endpoint: Endpoint, now: number): readonly string[] {
    const secrets = this.open(endpoint)
    if (secrets === null) return []
    const { secret, previous, previous_until = 0 } = secrets
    return previous !== undefined && now < previous_until ? [secret, previous] : [secret]
  }

  /**
   * Returns the secrets after a change.
   * @param canSign tests whether a secret suits the new format
   */
  changed(
    endpoint: Endpoint,
    secret: string,
    { now, canSign }: { readonly now: number; readonly canSign: (secret: string) => boolean },
  ): EndpointSecrets {
    const before = this.open(endpoint)
    if (before?.secret === secret) return before
    return before === null || !canSign(before.secret)
      ? { secret }
      : { secret, previous: before.secret, previous_until: now + previousMs }
  }

  /** The stored secrets of all endpoints. */
  get sealedSecrets(): SealedColumn {
    const { database, store } = this.options
    return {
      list: async (db) =>
        (await store.listAll(db)).map((endpoint) => ({
          appId: endpoint.appId,
          context: endpointContext(endpoint),
          sealed: endpoint.sealed,
        })),
      replace: ({ appId, sealed: before }, sealed) =>
        database.transaction((tx) => store.reseal(tx, appId, before, sealed)),
    }
  }
}
