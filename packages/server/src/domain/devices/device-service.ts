import { AppError, type Int64, platform } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { createToken } from '../../lib/secrets/tokens.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { UserKey } from '../users/user-model.js'
import type { UserDevices } from '../users/user-row.js'
import { type Device, type DeviceKey, deviceEvent, type StoredDevice } from './device-model.js'
import type { DeviceStore } from './device-store.js'
import type { EndedLogins, PushBindingStore } from './push-binding-store.js'

interface DeviceServiceOptions {
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
  /** Part of the device's file credentials. */
  readonly credentialEpoch: number
  /** Serial numbers of devices that this one replaced; the caller ends their tokens. */
  readonly displaced: readonly number[]
}

/** The use of a device by a login, a registration, an issued token or a connection. */
export interface DeviceUse {
  readonly appId: string
  readonly userId: Int64
  readonly deviceGuid: string
  /** null: that of a known device stays. */
  readonly userAgent: string | null
  /** The push token to bind; without it the device keeps its own token or gets a new one. */
  readonly pushToken?: string
  /** A value of `platform` of the protocol; a login does not say it. */
  readonly platform?: number
}

const maxUserAgentLength = 512

/** Installations of an app, and the push tokens that are bound to them (rule D6). */
export class DeviceService {
  constructor(private readonly options: DeviceServiceOptions) {}

  /**
   * Returns the device with this GUID and wakes its silent bindings. Creates a new one, and removes
   * the longest unused one beyond the maximum.
   */
  async open(tx: Tx, use: DeviceUse): Promise<OpenedDevice> {
    const { store, users, bindings, outbox, clock } = this.options
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
    const userAgent = userAgentOf(use, '')
    await store.insert(tx, {
      ...{ appId, userId, deviceSn, deviceGuid, userAgent, pushToken },
      platform: use.platform ?? platform.unknown,
      credentialEpoch: 0,
      createdAt: now,
      lastUsedAt: now,
    })
    outbox.append(tx, deviceEvent('user.device_added', userId, { ...use, deviceSn }))
    await bindings.wake(tx, { appId, userId, deviceSn }, deviceGuid)
    const displaced = await this.#displace(tx, { appId, userId, deviceSn }, now)
    return { deviceSn, pushToken, credentialEpoch: 0, displaced }
  }

  /** Tests whether the user has a device with this GUID. */
  async has(db: Queryable, user: UserKey, deviceGuid: string): Promise<boolean> {
    return (await this.options.store.findByGuid(db, user, deviceGuid)) !== null
  }

  /** @returns the devices by serial number, and the time of the list's last change */
  async list(user: UserKey): Promise<{ devices: Device[]; changedAt: number }> {
    const { database, store, users } = this.options
    return database.read(async (db) => {
      // Read first, so that the time never includes a change that the list does not show.
      const changedAt = await users.findDevicesChangedAt(db, user)
      return { devices: await store.list(db, user), changedAt }
    })
  }

  /**
   * Removes a device with its bindings within a transaction; the caller ends the device's tokens.
   * @throws AppError device_not_found
   */
  async remove(tx: Tx, device: DeviceKey, actorId: Int64): Promise<void> {
    const { users, bindings, clock } = this.options
    await users.touchDevices(tx, device, clock.now())
    await this.require(tx, device)
    await bindings.unbind(tx, device)
    await this.#delete(tx, device, actorId)
  }

  /**
   * Ends what logins gave to a device that {@link require} has locked: file credentials and pushes
   * (rule D6a).
   */
  async endLogin(tx: Tx, device: DeviceKey, at: number): Promise<void> {
    const { store, bindings } = this.options
    const { appId, userId, deviceSn } = device
    await store.raiseCredentialEpoch(tx, device)
    await bindings.silence(tx, { appId, userIds: [userId], deviceSn }, at)
  }

  /** Silences the bindings of devices of users (rule D6a). */
  async silence(tx: Tx, ended: EndedLogins, at: number): Promise<void> {
    await this.options.bindings.silence(tx, ended, at)
  }

  /**
   * Prevents the removal of the device until the transaction ends.
   * @throws AppError device_not_found
   */
  async require(tx: Tx, device: DeviceKey): Promise<void> {
    if (!(await this.options.store.lockForUpdate(tx, device)))
      throw new AppError('device_not_found')
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
    device: StoredDevice,
    use: DeviceUse,
    now: number,
  ): Promise<OpenedDevice | null> {
    const { store, users, bindings, outbox } = this.options
    const userAgent = userAgentOf(use, device.userAgent)
    const pushToken = use.pushToken ?? device.pushToken
    // Before the device, since the user is always locked first.
    const platform = use.platform ?? device.platform
    if (userAgent !== device.userAgent || platform !== device.platform)
      await users.touchDevices(tx, use, now)
    const reopened = await store.update(tx, {
      ...{ ...device, userAgent, pushToken, platform },
      lastUsedAt: now,
    })
    if (!reopened) return null
    const { deviceSn, credentialEpoch } = reopened
    await bindings.wake(tx, { ...use, deviceSn }, use.deviceGuid)
    const opened = { ...use, deviceSn }
    outbox.append(tx, deviceEvent('user.device_logged_in', use.userId, opened))
    if (userAgent !== device.userAgent)
      outbox.append(tx, deviceEvent('user.device_updated', use.userId, opened))
    return { deviceSn, pushToken, credentialEpoch, displaced: [] }
  }

  /** @returns the serial numbers of the devices that the new one replaced */
  async #displace(tx: Tx, device: DeviceKey, now: number): Promise<number[]> {
    const { store, users, bindings, devicesPerUser } = this.options
    const { appId, userId } = device
    const surplus = await store.listLeastUsed(tx, device, devicesPerUser - 1)
    if (surplus.length === 0) return surplus
    await users.touchDevices(tx, device, now)
    for (const deviceSn of surplus) {
      await store.lockForUpdate(tx, { ...device, deviceSn })
      await bindings.silence(tx, { appId, userIds: [userId], deviceSn }, now)
      await this.#delete(tx, { ...device, deviceSn }, userId)
    }
    await bindings.trimSilent(tx, device)
    return surplus
  }

  async #delete(tx: Tx, device: DeviceKey, actorId: Int64): Promise<void> {
    const { store, outbox } = this.options
    if (!(await store.delete(tx, device))) return
    outbox.append(tx, deviceEvent('user.device_removed', actorId, device))
  }
}

/** The part of a user agent that is stored. */
export function shortUserAgent(userAgent: string): string {
  return userAgent.slice(0, maxUserAgentLength)
}

function userAgentOf({ userAgent }: Pick<DeviceUse, 'userAgent'>, known: string): string {
  return userAgent === null ? known : shortUserAgent(userAgent)
}
