import type { ServerConfig } from '../../config/config.js'
import { options } from '../../config/options.js'
import { KeyedSlots } from '../../lib/concurrency/slots.js'
import { parseAddressRange } from '../../lib/outbound/address.js'
import { OutboundClient, urlFault } from '../../lib/outbound/outbound-client.js'

/** Calls to addresses that operators and applications have set. */
export interface Outbound {
  readonly client: OutboundClient
  /** Returns the reason why a URL cannot be called, to follow its name; null: it can. */
  readonly urlFault: (url: string) => string | null
}

/** Names of one share that are looked up at once. */
const maxLookUps = 4

export function createOutbound(config: Pick<ServerConfig, 'outbound'>): Outbound {
  const bounds = {
    allowed: config.outbound.allow.map(parseAddressRange),
    setting: options.outboundAllow.name,
    proxy: config.outbound.proxy,
  }
  const client = new OutboundClient({
    ...bounds,
    lookUpShares: new KeyedSlots(() => ({
      parallel: maxLookUps,
      maxWaiting: Number.POSITIVE_INFINITY,
      full: () => new Error('too many names are looked up'),
    })),
  })
  return { client, urlFault: (url) => urlFault(url, bounds) }
}
