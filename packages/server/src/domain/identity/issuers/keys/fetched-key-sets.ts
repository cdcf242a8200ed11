import type { Clock } from '../../../../lib/clock.js'
import { boundedCache } from '../../../../lib/limits/bounded-cache.js'
import type { OutboundClient } from '../../../../lib/outbound/outbound-client.js'
import type { IssuerKey } from '../issuer-model.js'
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
/** Time until an answer begins. */
const timeoutMs = 5_000
const headers = { accept: 'application/json', 'user-agent': 'Hermod-Identity' }

/** The fetched keys of all issuers on this node. */
export class FetchedKeySets {
  /** By application, issuer and address: another address is another source. */
  readonly #sets = boundedCache<string, FetchedKeys>(maxSets)

  constructor(private readonly options: FetchedKeySetsOptions) {}

  of({ appId, issuer }: IssuerKey, address: KeyAddress): FetchedKeys {
    const { client, clock, failed } = this.options
    const id = JSON.stringify([appId, issuer, address])
    const known = this.#sets.get(id)
    if (known) return known
    const get = (url: string) => client.get({ url, headers, timeoutMs, share: appId })
    const keys = new FetchedKeys({
      fetch: () => fetchKeys(address, get),
      clock,
      failed: (error) => failed({ appId, issuer }, error),
    })
    this.#sets.set(id, keys)
    return keys
  }
}
