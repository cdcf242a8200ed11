import type { Database, Tx } from '../../db/database.js'
import { dayMs } from '../../lib/clock.js'
import { networkOf } from '../../lib/limits/network.js'
import type { DeviceService } from '../devices/device-service.js'
import type { UserKey } from '../users/user-model.js'
import type { LoginNetworkStore } from './login-network-store.js'

interface LoginOriginsOptions {
  readonly database: Database
  readonly networks: LoginNetworkStore
  readonly devices: Pick<DeviceService, 'has'>
}

/** Networks that are kept of one user. */
const maxNetworks = 20

/**
 * The devices and networks from which users have logged in (rule D2). They are in the database, so
 * that all nodes know them after a restart too; only a login that succeeded writes them.
 */
export class LoginOrigins {
  constructor(private readonly options: LoginOriginsOptions) {}

  /** Returns the names of those origins of a login that the user has logged in from. */
  async findKnown(
    user: UserKey,
    { deviceGuid, address }: { readonly deviceGuid?: string; readonly address: string | null },
  ): Promise<string[]> {
    const { database, networks, devices } = this.options
    const network = address === null ? null : networkOf(address)
    return database.read(async (db) => {
      const [hasDevice, loginAt] = await Promise.all([
        deviceGuid ? devices.has(db, user, deviceGuid) : false,
        network === null ? null : networks.findLoginAt(db, user, network),
      ])
      const known: string[] = []
      if (hasDevice) known.push(`device ${deviceGuid}`)
      if (network !== null && loginAt !== null) known.push(network)
      return known
    })
  }

  /** Records the network of a login that succeeded, at most once a day. The device has its own row. */
  async remember(tx: Tx, user: UserKey, address: string, at: number): Promise<void> {
    const { networks } = this.options
    const network = networkOf(address)
    const loginAt = await networks.findLoginAt(tx, user, network)
    if (loginAt === null || at - loginAt >= dayMs)
      await networks.put(tx, user, { network, at, keep: maxNetworks })
  }
}

/** The origin of a call with a token of the user. */
export function sessionOrigin(tokenHash: string): string {
  return `session ${tokenHash}`
}
