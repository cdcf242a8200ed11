import { AppError, type Int64, platform } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Selectable } from '../../db/kysely.js'
import type { DevicesTable } from '../../db/schema.js'
import type { Clock } from '../../lib/clock.js'
import { createToken } from '../../lib/secrets/tokens.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { UserKey } from '../users/user-model.js'
import type { UserDevices } from '../users/user-row.js'
import { type Device, type DeviceKey, deviceEvent, type PushBinding } from './device-model.js'
import type { DeviceStore } from './device-store.js'
import type { PushBindingStore } from './push-binding-store.js'

export interface DeviceServiceOptions {
  readonly database: Database
  readonly store: DeviceStore
  readonly users: UserDevices
  readonly bindings: PushBindingStore
  readonly outbox: Outbox
  readonly clock: Clock
  readonly devicesPerUser: number
}

/** A device that a login or a registration uses. */
export interface OpenedDevice {
  readonly deviceSn: number
  readonly pushToken: string
  /** Serial numbers of devices that this one replaced; the caller ends their tokens. */
  readonly displaced: readonly number[]
}

interface DeviceUse {
  readonly appId: string
  readonly userId: Int64
  readonly deviceGuid: string
  readonly userAgent: string
  /** The push token to bind; without it the device keeps its own token or gets a new one. */
  readonly pushToken?: string
}

const maxUserAgentLength = 512

/** Installations of an app, and the push tokens that are bound to them (rule D6). */
export class DeviceService {
  constructor(private readonly options: DeviceServiceOptions) {}

  /**
   * Returns the device with this GUID. Creates a new one, and removes the longest unused one beyond
   * the maximum.
   */
  async open(tx: Tx, use: DeviceUse): Promise<OpenedDevice> {
    const { store, users, outbox, clock } = this.options
    const { appId, userId, deviceGuid } = use
    const now = clock.now()
    const known = await store.findByGuid(tx, use, deviceGuid)
    const reopened = known && (await this.#reopen(tx, known, use, now))
    if (reopened) return reopened
    // Taking the serial number serializes concurrent logins of one user, so it comes first. An
    // unused number only leaves a gap.
    const deviceSn = await users.takeDeviceSerial(tx, use, now)
    const made = await store.findByGuid(tx, use, deviceGuid)
    const joined = made && (await this.#reopen(tx, made, use, now))
    if (joined) return joined
    const pushToken = use.pushToken ?? createToken('hmp_')
    const row = {
      app_id: appId,
      user_id: userId,
      device_guid: deviceGuid,
      created_at: now,
      last_used_at: now,
      platform: platform.unknown,
    }
    await store.insert(tx, {
      ...row,
      device_sn: deviceSn,
      user_agent: shortUserAgent(use),
      push_token: pushToken,
    })
    outbox.append(tx, deviceEvent('user.device_added', userId, { ...use, deviceSn }))
    return { deviceSn, pushToken, displaced: await this.#displace(tx, { appId, userId, deviceSn }) }
  }

  /** @returns the devices by serial number, and the time of the list's last change */
  async list(user: UserKey): Promise<{ devices: Device[]; changedAt: number }> {
    const { database, store, users } = this.options
    return database.read(async (db) => {
      // Read first, so that the time never includes a change that the list does not show.
      const changedAt = await users.findDevicesChangedAt(db, user)
      const rows = await store.list(db, user)
      return {
        devices: rows.map((row) => ({
          deviceSn: row.device_sn,
          platform: row.platform,
          userAgent: row.user_agent,
        })),
        changedAt,
      }
    })
  }

  /**
   * Removes a device within a transaction; the caller ends the device's tokens.
   * @throws AppError device_not_found
   */
  async remove(tx: Tx, device: DeviceKey, actorId: Int64): Promise<void> {
    const { store, users, bindings, outbox, clock } = this.options
    await users.touchDevices(tx, device, clock.now())
    if (!(await store.delete(tx, device))) throw new AppError('device_not_found')
    await bindings.unbind(tx, device)
    outbox.append(tx, deviceEvent('user.device_removed', actorId, device))
  }

  /**
   * Prevents the removal of the device until the transaction ends.
   * @throws AppError device_not_found
   */
  async require(tx: Tx, device: DeviceKey): Promise<void> {
    if (!(await this.options.store.lockForUpdate(tx, device)))
      throw new AppError('device_not_found')
  }

  /**
   * Binds a token to the device and unbinds it from any other device.
   * @throws AppError device_not_found
   */
  async bindPushToken(device: DeviceKey, binding: PushBinding): Promise<void> {
    const { database, bindings, clock } = this.options
    await database.transaction(async (tx) => {
      await this.require(tx, device)
      await bindings.bind(tx, device, binding, clock.now())
    })
  }

  /** @throws AppError device_not_found */
  async unbindPushTokens(device: DeviceKey): Promise<void> {
    const { database, bindings } = this.options
    await database.transaction(async (tx) => {
      await this.require(tx, device)
      await bindings.unbind(tx, device)
    })
  }

  /** @returns null when a concurrent call removed the device */
  async #reopen(
    tx: Tx,
    device: Selectable<DevicesTable>,
    use: DeviceUse,
    now: number,
  ): Promise<OpenedDevice | null> {
    const { store, users } = this.options
    const userAgent = shortUserAgent(use)
    const pushToken = use.pushToken ?? device.push_token
    // Before the device, since the user is always locked first.
    if (userAgent !== device.user_agent) await users.touchDevices(tx, use, now)
    const isThere = await store.update(tx, {
      ...device,
      user_agent: userAgent,
      push_token: pushToken,
      last_used_at: now,
    })
    return isThere ? { deviceSn: device.device_sn, pushToken, displaced: [] } : null
  }

  /** @returns the serial numbers of the devices that the new one replaced */
  async #displace(tx: Tx, device: DeviceKey): Promise<number[]> {
    const { store, devicesPerUser } = this.options
    const surplus = await store.listLeastUsed(tx, device, devicesPerUser - 1)
    for (const deviceSn of surplus) await this.remove(tx, { ...device, deviceSn }, device.userId)
    return surplus
  }
}

function shortUserAgent({ userAgent }: DeviceUse): string {
  return userAgent.slice(0, maxUserAgentLength)
}
