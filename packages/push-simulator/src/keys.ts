import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto'
import type { SimulatedChannel } from './model.js'

const rsaBits = 2048
const pairs = new Map<SimulatedChannel, KeyPairKeyObjectResult>()

/** Returns the RSA keys of a gateway, generated once in a process. */
export function rsaKeysOf(channel: SimulatedChannel): KeyPairKeyObjectResult {
  const keys = pairs.get(channel) ?? generateKeyPairSync('rsa', { modulusLength: rsaBits })
  pairs.set(channel, keys)
  return keys
}
