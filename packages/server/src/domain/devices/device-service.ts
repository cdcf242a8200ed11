import { AppError, type Int64, platform } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { compare } from '../../lib/compare.js'
import { groupBy } from '../../lib/group-by.js'
import { keyText } from '../../lib/ids/key-text.js'
import { createToken } from '../../lib/secrets/tokens.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { UserKey } from '../users/user-model.js'
import type { DeviceList, UserDevices } from '../users/user-row.js'
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

/** The use of a device, and what its transaction has locked. */
interface LockedUse {
  readonly use: DeviceUse
  /** null: the use does not change it. */
  readonly list: DeviceList | null
  /** All devices of the user. */
  readonly devices: readonly StoredDevice[]
}

/** Changes that the use of a device makes. */
interface Opening {
  readonly device: StoredDevice
  readonly isNew: boolean
  readonly isRenamed: boolean
  /** The new list of the user's devices; null: it does not change. */
  readonly list: DeviceList | null
  /** Serial numbers of devices that the new one replaces. */
  readonly displaced: readonly number[]
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
    const [opened] = await this.#open(tx, [use], { skipLocked: false })
    if (!opened) throw new Error('the user of a device does not exist')
    return opened
  }

  /**
   * Does for devices of different users what {@link open} does for one, without waiting for users
   * that another transaction has locked.
   * @returns null for a device of such a user that is new or would change the list
   */
  async openFree(tx: Tx, uses: readonly DeviceUse[]): Promise<(OpenedDevice | null)[]> {
    return this.#open(tx, uses, { skipLocked: true })
  }

  async #open(
    tx: Tx,
    uses: readonly DeviceUse[],
    options: { readonly skipLocked: boolean },
  ): Promise<(OpenedDevice | null)[]> {
    const { store, users, bindings, clock } = this.options
    const at = clock.now()
    const openings = (await this.#lock(tx, uses, options)).map((locked) =>
      this.#openingOf(locked, at),
    )
    const changed = openings.flatMap(({ list }) => list ?? [])
    const added = openings.flatMap(({ device, isNew }) => (isNew ? device : []))
    const reopened = openings.flatMap(({ device, isNew }) => (isNew ? [] : device))
    await Promise.all([
      users.setDeviceLists(tx, changed, at),
      store.insert(tx, added),
      store.update(tx, reopened),
      bindings.wake(tx, [...added, ...reopened]),
    ])
    const opened = new Map<string, OpenedDevice>()
    for (const opening of openings)
      opened.set(userOf(opening.device), await this.#opened(tx, opening, at))
    return uses.map((use) => opened.get(userOf(use)) ?? null)
  }

  /**
   * Locks the devices of users, and before them the users whose list changes: a login on a known
   * device does not wait for a transaction that has locked its user.
   * @returns the uses in the order of their users, without those whose user was left out
   */
  async #lock(
    tx: Tx,
    uses: readonly DeviceUse[],
    options: { readonly skipLocked: boolean },
  ): Promise<LockedUse[]> {
    const { store, users } = this.options
    let open = [...uses].sort((a, b) => compare(a.appId, b.appId) || compare(a.userId, b.userId))
    let devices = groupBy(await store.listOfUsers(tx, open), userOf)
    const lists = new Map<string, DeviceList>()
    const withoutList = () =>
      open.filter((use) => !lists.has(userOf(use)) && changesList(use, devices.get(userOf(use))))
    let changing = withoutList()
    do {
      for (const list of await users.lockDeviceLists(tx, changing, options))
        lists.set(userOf(list), list)
      open = open.filter((use) => lists.has(userOf(use)) || !changing.includes(use))
      devices = groupBy(await store.lockOfUsers(tx, open), userOf)
      // Another transaction may have changed a device between the two looks.
      changing = withoutList()
    } while (changing.length > 0)
    return open.map((use) => ({
      use,
      list: lists.get(userOf(use)) ?? null,
      devices: devices.get(userOf(use)) ?? [],
    }))
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

  #openingOf({ use, list, devices }: LockedUse, at: number): Opening {
    const known = knownDevice(use, devices)
    const used = { ...clientOf(use, known), lastUsedAt: at }
    if (known) {
      const device = { ...known, ...used, pushToken: use.pushToken ?? known.pushToken }
      const isRenamed = device.userAgent !== known.userAgent
      const isChanged = changesList(use, devices)
      return { device, isNew: false, isRenamed, list: isChanged ? list : null, displaced: [] }
    }
    if (!list) throw new Error('the user of a new device is not locked')
    const { appId, userId, deviceGuid } = use
    const lastDeviceSn = list.lastDeviceSn + 1
    const device = {
      ...{ appId, userId, deviceGuid, ...used },
      deviceSn: lastDeviceSn,
      pushToken: use.pushToken ?? createToken('hmp_'),
      credentialEpoch: 0,
      createdAt: at,
    }
    const displaced = leastUsed(devices, this.options.devicesPerUser - 1)
    return { device, isNew: true, isRenamed: false, list: { ...list, lastDeviceSn }, displaced }
  }

  async #opened(
    tx: Tx,
    { device, isNew, isRenamed, displaced }: Opening,
    at: number,
  ): Promise<OpenedDevice> {
    const { outbox } = this.options
    const { userId, deviceSn, pushToken, credentialEpoch } = device
    const kind = isNew ? 'user.device_added' : 'user.device_logged_in'
    outbox.append(tx, deviceEvent(kind, userId, device))
    if (isRenamed) outbox.append(tx, deviceEvent('user.device_updated', userId, device))
    if (displaced.length > 0) await this.#displace(tx, device, displaced, at)
    return { deviceSn, pushToken, credentialEpoch, displaced }
  }

  async #displace(
    tx: Tx,
    device: DeviceKey,
    displaced: readonly number[],
    at: number,
  ): Promise<void> {
    const { bindings } = this.options
    const { appId, userId } = device
    for (const deviceSn of displaced) {
      await bindings.silence(tx, { appId, userIds: [userId], deviceSn }, at)
      await this.#delete(tx, { appId, userId, deviceSn }, userId)
    }
    await bindings.trimSilent(tx, device)
  }

  async #delete(tx: Tx, device: DeviceKey, actorId: Int64): Promise<void> {
    const { store, outbox } = this.options
    if (!(await store.delete(tx, device))) return
    outbox.append(tx, deviceEvent('user.device_removed', actorId, device))
  }
}

function userOf({ appId, userId }: UserKey): string {
  return keyText(appId, userId)
}

/** Returns the serial numbers of all devices but the `kept` most recently used ones. */
function leastUsed(devices: readonly StoredDevice[], kept: number): number[] {
  return [...devices]
    .sort((a, b) => compare(b.lastUsedAt, a.lastUsedAt) || compare(b.deviceSn, a.deviceSn))
    .slice(kept)
    .map(({ deviceSn }) => deviceSn)
}

/** The part of a user agent that is stored. */
export function shortUserAgent(userAgent: string): string {
  return userAgent.slice(0, maxUserAgentLength)
}

/** The device of a use among those of its user. */
function knownDevice(use: DeviceUse, devices: readonly StoredDevice[]): StoredDevice | undefined {
  return devices.find(({ deviceGuid }) => deviceGuid === use.deviceGuid)
}

/** The client that the list of devices shows after a use. */
function clientOf({ userAgent, platform: used }: DeviceUse, known: StoredDevice | undefined) {
  return {
    userAgent: userAgent === null ? (known?.userAgent ?? '') : shortUserAgent(userAgent),
    platform: used ?? known?.platform ?? platform.unknown,
  }
}

/** Tests whether a use changes what the list of devices shows besides times. */
function changesList(use: DeviceUse, devices: readonly StoredDevice[] = []): boolean {
  const known = knownDevice(use, devices)
  const client = clientOf(use, known)
  return client.userAgent !== known?.userAgent || client.platform !== known.platform
}
