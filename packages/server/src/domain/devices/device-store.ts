import { camelCase, camelCaseText, columnsOf } from '../../db/columns.js'
import type { Database, Prepared, Queryable, Tx } from '../../db/database.js'
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../db/dialect/dialect.js'
import { lockForUpdate } from '../../db/locking.js'
import { rowOf } from '../../db/rows.js'
import { devicesTable } from '../../db/schema.js'
import type { MaybePromise } from '../../lib/maybe-promise.js'
import type { UserKey } from '../users/user-model.js'
import type { DeviceKey, StoredDevice } from './device-model.js'

const columns = camelCase(devicesTable)
const userKey = columnsOf(devicesTable, 'app_id', 'user_id')
const userKeyRow = rowOf(userKey)
const deviceKey = columnsOf(devicesTable, 'app_id', 'user_id', 'device_sn')
const usedColumns = columnsOf(devicesTable, 'platform', 'user_agent', 'push_token', 'last_used_at')
const deviceRow = rowOf(devicesTable)
const usedRow = rowOf({ ...usedColumns, ...deviceKey })

const findDevices: BulkSelect = {
  table: 'devices',
  keys: userKey,
  columns: camelCaseText(devicesTable, 't'),
}
const lockDevices: BulkSelect = { ...findDevices, lock: 'for no key update' }
const insertDevices: BulkInsert = { table: 'devices', columns: devicesTable }
const updateDevices: BulkUpdate = { table: 'devices', set: usedColumns, keys: deviceKey }

/** Devices of users. */
export class DeviceStore {
  readonly #database: Database
  readonly #find: Prepared<DeviceKey, StoredDevice>
  readonly #findByGuid: Prepared<UserKey & { readonly deviceGuid: string }, StoredDevice>

  constructor(database: Database) {
    this.#database = database
    this.#find = database.prepared((db, param) =>
      db
        .selectFrom('devices')
        .select(columns)
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId'))
        .where('device_sn', '=', param('deviceSn')),
    )
    this.#findByGuid = database.prepared((db, param) =>
      db
        .selectFrom('devices')
        .select(columns)
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId'))
        .where('device_guid', '=', param('deviceGuid')),
    )
  }

  /** Lists by serial number. */
  async list(db: Queryable, { appId, userId }: UserKey): Promise<StoredDevice[]> {
    return db
      .selectFrom('devices')
      .select(columns)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .orderBy('device_sn')
      .execute()
  }

  find(db: Queryable, { appId, userId, deviceSn }: DeviceKey): MaybePromise<StoredDevice | null> {
    return this.#find.first(db, { appId, userId, deviceSn })
  }

  findByGuid(
    db: Queryable,
    { appId, userId }: UserKey,
    deviceGuid: string,
  ): MaybePromise<StoredDevice | null> {
    return this.#findByGuid.first(db, { appId, userId, deviceGuid })
  }

  /** Lists all devices of users. */
  async listOfUsers(tx: Tx, users: readonly UserKey[]): Promise<StoredDevice[]> {
    return this.#database.bulk(tx, findDevices, users.map(userKeyRow))
  }

  /** Lists all devices of users and prevents their change until the transaction ends. */
  async lockOfUsers(tx: Tx, users: readonly UserKey[]): Promise<StoredDevice[]> {
    return this.#database.bulk(tx, lockDevices, users.map(userKeyRow))
  }

  /**
   * Prevents the removal of the device until the transaction ends.
   * @returns false when the device does not exist
   */
  async lockForUpdate(tx: Tx, { appId, userId, deviceSn }: DeviceKey): Promise<boolean> {
    const found = tx
      .selectFrom('devices')
      .select('device_sn')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
    return (await lockForUpdate(tx, found).executeTakeFirst()) !== undefined
  }

  async insert(tx: Tx, devices: readonly StoredDevice[]): Promise<void> {
    await this.#database.bulk(tx, insertDevices, devices.map(deviceRow))
  }

  /** Writes what changes with a use. */
  async update(tx: Tx, devices: readonly StoredDevice[]): Promise<void> {
    await this.#database.bulk(tx, updateDevices, devices.map(usedRow))
  }

  /** Ends the file credentials of the device. */
  async raiseCredentialEpoch(tx: Tx, { appId, userId, deviceSn }: DeviceKey): Promise<void> {
    await tx
      .updateTable('devices')
      .set((eb) => ({ credential_epoch: eb('credential_epoch', '+', 1) }))
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .execute()
  }

  /** @returns null when the device does not exist */
  async findCredentialEpoch(
    db: Queryable,
    { appId, userId, deviceSn }: DeviceKey,
  ): Promise<number | null> {
    const row = await db
      .selectFrom('devices')
      .select('credential_epoch')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .executeTakeFirst()
    return row?.credential_epoch ?? null
  }

  /** @returns false when the device does not exist */
  async delete(tx: Tx, { appId, userId, deviceSn }: DeviceKey): Promise<boolean> {
    const { numDeletedRows } = await tx
      .deleteFrom('devices')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .executeTakeFirst()
    return numDeletedRows > 0n
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('devices')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}
