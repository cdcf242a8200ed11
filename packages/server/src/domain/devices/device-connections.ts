import { AppError } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { Selectable } from '../../db/kysely.js'
import type { DevicesTable } from '../../db/schema.js'
import { type Clock, hourMs } from '../../lib/clock.js'
import { definedOnly } from '../../lib/defined-only.js'
import type { TokenService } from '../login/token-service.js'
import type { UserKey } from '../users/user-model.js'
import { type DeviceService, shortUserAgent } from './device-service.js'
import type { DeviceStore } from './device-store.js'

export interface DeviceConnectionsOptions {
  readonly database: Database
  readonly store: Pick<DeviceStore, 'findByGuid'>
  readonly devices: Pick<DeviceService, 'open'>
  readonly tokens: Pick<TokenService, 'revokeOfDevices' | 'tieToDevice'>
  readonly clock: Clock
}

/** The token with which a device connects. */
export interface ConnectingToken extends UserKey {
  readonly tokenHash: string
  /** null when the token is tied to no device. */
  readonly deviceSn: number | null
}

/** The client on a device. */
export interface ConnectingClient {
  readonly deviceGuid: string
  /** A value of `platform` of the protocol; absent: unchanged. */
  readonly platform: number | undefined
  /** Absent: unchanged. */
  readonly userAgent: string | undefined
}

/** Finds the devices of connections (rule D6). */
export class DeviceConnections {
  constructor(private readonly options: DeviceConnectionsOptions) {}

  /**
   * Returns the serial number of the device, which is created when it is new. Ties the token to it. Writes nothing for a known device, except
   * once an hour and when the client has changed.
   * @throws AppError no_permission when the token is tied to another device, token_expired when a concurrent call has ended it
   */
  async connect(token: ConnectingToken, client: ConnectingClient): Promise<number> {
    const { database, store, devices, tokens, clock } = this.options
    const { appId, userId, tokenHash } = token
    const known = await database.read((db) => store.findByGuid(db, token, client.deviceGuid))
    if (token.deviceSn !== null && known?.device_sn !== token.deviceSn) throw otherDevice()
    const now = clock.now()
    if (known && token.deviceSn !== null && isUpToDate(known, client, now)) return known.device_sn
    return database.transaction(async (tx) => {
      const { deviceGuid, userAgent = known?.user_agent ?? '', platform } = client
      const use = { appId, userId, deviceGuid, userAgent, ...definedOnly({ platform }) }
      const { deviceSn, displaced } = await devices.open(tx, use)
      await tokens.revokeOfDevices(tx, { appId, userId, deviceSns: displaced, at: now })
      const tied = await tokens.tieToDevice(tx, { appId, userId, deviceSn }, tokenHash)
      if (tied !== deviceSn) throw otherDevice()
      return deviceSn
    })
  }
}

function isUpToDate(
  device: Selectable<DevicesTable>,
  { platform = device.platform, userAgent = device.user_agent }: ConnectingClient,
  now: number,
): boolean {
  return (
    device.platform === platform &&
    device.user_agent === shortUserAgent({ userAgent }) &&
    now - device.last_used_at < hourMs
  )
}

function otherDevice(): AppError {
  return new AppError('no_permission', 'device_guid is not that of the device of the token')
}
