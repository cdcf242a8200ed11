import { camelCase, snakeCase } from '../../db/columns.js'
import type { Queryable, Tx } from '../../db/database.js'
import { lockForUpdate } from '../../db/locking.js'
import { devicesTable } from '../../db/schema.js'
import type { UserKey } from '../users/user-model.js'
import type { DeviceKey, StoredDevice } from './device-model.js'

const columns = camelCase(devicesTable)

/** Devices of users. */
export class DeviceStore {
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

  async find(db: Queryable, { appId, userId, deviceSn }: DeviceKey): Promise<StoredDevice | null> {
    const row = await db
      .selectFrom('devices')
      .select(columns)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .executeTakeFirst()
    return row ?? null
  }

  async findByGuid(
    db: Queryable,
    { appId, userId }: UserKey,
    deviceGuid: string,
  ): Promise<StoredDevice | null> {
    const row = await db
      .selectFrom('devices')
      .select(columns)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_guid', '=', deviceGuid)
      .executeTakeFirst()
    return row ?? null
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

  async insert(tx: Tx, device: StoredDevice): Promise<void> {
    await tx.insertInto('devices').values(snakeCase(devicesTable, device)).execute()
  }

  /** @returns the current row; null when a concurrent call removed the device */
  async update(tx: Tx, device: StoredDevice): Promise<StoredDevice | null> {
    const { appId, userId, deviceSn, userAgent, pushToken, lastUsedAt, platform } = device
    const row = await tx
      .updateTable('devices')
      .set(snakeCase(devicesTable, { userAgent, pushToken, lastUsedAt, platform }))
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .returning(columns)
      .executeTakeFirst()
    return row ?? null
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

  /**
   * @returns the serial numbers of all devices except `deviceSn` and the `others` most recently
   * used ones
   */
  async listLeastUsed(
    tx: Tx,
    { appId, userId, deviceSn }: DeviceKey,
    others: number,
  ): Promise<number[]> {
    const rows = await tx
      .selectFrom('devices')
      .select('device_sn')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '<>', deviceSn)
      .orderBy('last_used_at', 'desc')
      .orderBy('device_sn', 'desc')
      .execute()
    return rows.slice(others).map((row) => row.device_sn)
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
