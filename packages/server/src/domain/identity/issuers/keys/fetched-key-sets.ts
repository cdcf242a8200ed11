import type { Clock } from '../../../../lib/clock.js'
import { boundedCache } from '../../../../lib/limits/bounded-cache.js'
import type { OutboundClient } from '../../../../lib/outbound/outbound-client.js'
import type { Issuer, IssuerKey } from '../issuer-model.js'
import { FetchedKeys } from './fetched-keys.js'
import { fetchKeys, type KeyAddress } from './key-address.js'

interface FetchedKeySetsOptions {
  readonly client: Pick<OutboundClient, 'get'>
  readonly clock: Clock
  /** Gets each failed fetch of the keys of an issuer. */
  readonly failed: (issuer: IssuerKey, error: unknown) => void
}

/** Sets in memory; each has at most 64 KiB of JSON. */
const maxSets = 1_000
/** Time of a fetch, with the document that names the address of the keys. */
const timeoutMs = 5_000
const headers = { accept: 'application/json', 'user-agent': 'Hermod-Identity' }

/** The fetched keys of all issuers on this node. */
export class FetchedKeySets {
  /** By application and issuer, for one state of its settings. */
  readonly #sets = boundedCache<string, { readonly updatedAt: number; readonly keys: FetchedKeys }>(
    maxSets,
  )

  constructor(private readonly options: FetchedKeySetsOptions) {}

  /** Keys that were fetched before the last change of the issuer are dropped. */
  of(
    { appId, issuer, updatedAt }: Pick<Issuer, 'appId' | 'issuer' | 'updatedAt'>,
    address: KeyAddress,
  ): FetchedKeys {
    const { client, clock, failed } = this.options
    const id = JSON.stringify([appId, issuer])
    const known = this.#sets.get(id)
    if (known?.updatedAt === updatedAt) return known.keys
    const keys = new FetchedKeys({
      fetch: () => {
        const end = performance.now() + timeoutMs
        return fetchKeys(address, (url) => {
          const left = Math.max(1, end - performance.now())
          return client.get({ url, headers, timeoutMs: left, share: appId })
        })
      },
      clock,
      failed: (error) => failed({ appId, issuer }, error),
    })
    this.#sets.set(id, { updatedAt, keys })
    return keys
  }
}
