import { AppError } from '@hermod/protocol'
import type { Database, Queryable } from '../../db/database.js'
import { type Clock, hourMs } from '../../lib/clock.js'
import { definedOnly } from '../../lib/defined-only.js'
import type { TokenService } from '../login/token-service.js'
import type { UserKey } from '../users/user-model.js'
import type { StoredDevice } from './device-model.js'
import { type DeviceService, shortUserAgent } from './device-service.js'
import type { DeviceStore } from './device-store.js'

interface DeviceConnectionsOptions {
  readonly database: Database
  readonly store: Pick<DeviceStore, 'find' | 'findByGuid'>
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
  /** Absent: the device of the token. */
  readonly deviceGuid: string | undefined
  /** A value of `platform` of the protocol; absent: unchanged. */
  readonly platform: number | undefined
  /** Absent: unchanged. */
  readonly userAgent: string | undefined
}

/** Finds the devices of connections (rule D6). */
export class DeviceConnections {
  constructor(private readonly options: DeviceConnectionsOptions) {}

  /**
   * Returns the serial number of the device, which is created when it is new. Ties the token to it.
   * Writes nothing for a known device, except once an hour and when the client has changed.
   * @returns null when neither the client nor the token names a device
   * @throws AppError no_permission when the token is tied to another device, token_expired when a
   * concurrent call has ended it
   */
  async connect(token: ConnectingToken, client: ConnectingClient): Promise<number | null> {
    const { database, devices, tokens, clock } = this.options
    const { appId, userId, tokenHash } = token
    const known = await database.read((db) => this.#find(db, token, client))
    const deviceGuid = client.deviceGuid ?? known?.deviceGuid
    if (deviceGuid === undefined) return null
    if (token.deviceSn !== null && known?.deviceSn !== token.deviceSn) throw otherDevice()
    const now = clock.now()
    if (known && token.deviceSn !== null && isUpToDate(known, client, now)) return known.deviceSn
    return database.transaction(async (tx) => {
      const { userAgent = null, platform } = client
      const use = { appId, userId, deviceGuid, userAgent, ...definedOnly({ platform }) }
      const { deviceSn, displaced } = await devices.open(tx, use)
      await tokens.revokeOfDevices(tx, { appId, userId, deviceSns: displaced, at: now })
      const tied = await tokens.tieToDevice(tx, { appId, userId, deviceSn }, tokenHash)
      if (tied !== deviceSn) throw otherDevice()
      return deviceSn
    })
  }

  /** @throws AppError token_expired when the device of the token has been removed */
  async #find(
    db: Queryable,
    token: ConnectingToken,
    { deviceGuid }: ConnectingClient,
  ): Promise<StoredDevice | null> {
    const { store } = this.options
    const { deviceSn } = token
    if (deviceGuid !== undefined) return store.findByGuid(db, token, deviceGuid)
    if (deviceSn === null) return null
    const device = await store.find(db, { ...token, deviceSn })
    if (!device) throw new AppError('token_expired')
    return device
  }
}

function isUpToDate(
  device: StoredDevice,
  { platform = device.platform, userAgent = device.userAgent }: ConnectingClient,
  now: number,
): boolean {
  return (
    device.platform === platform &&
    device.userAgent === shortUserAgent(userAgent) &&
    now - device.lastUsedAt < hourMs
  )
}

function otherDevice(): AppError {
  return new AppError('no_permission', 'device_guid is not that of the device of the token')
}
