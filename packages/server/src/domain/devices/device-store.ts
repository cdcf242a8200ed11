import type { Int64 } from '@hermod/protocol'
import type { Insertable, Selectable } from 'kysely'
import type { Tx } from '../../db/database.js'
import type { DevicesTable } from '../../db/schema.js'

/** Devices of users. */
export class DeviceStore {
  /**
   * The next serial number of the user. In PostgreSQL this also locks the user's row, so that two logins with the same new device
   * follow each other.
   */
  async nextSerial(tx: Tx, appId: string, userId: Int64): Promise<number> {
    const row = await tx
      .updateTable('users')
      .set((eb) => ({ last_device_sn: eb('last_device_sn', '+', 1) }))
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .returning('last_device_sn')
      .executeTakeFirstOrThrow()
    return row.last_device_sn
  }

  async findByGuid(tx: Tx, appId: string, userId: Int64, deviceGuid: string): Promise<Selectable<DevicesTable> | null> {
    const row = await tx
      .selectFrom('devices')
      .selectAll()
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_guid', '=', deviceGuid)
      .executeTakeFirst()
    return row ?? null
  }

  async insert(tx: Tx, row: Insertable<DevicesTable>): Promise<void> {
    await tx.insertInto('devices').values(row).execute()
  }

  async update(tx: Tx, device: Selectable<DevicesTable>): Promise<void> {
    await tx
      .updateTable('devices')
      .set({ user_agent: device.user_agent, push_token: device.push_token, last_used_at: device.last_used_at })
      .where('app_id', '=', device.app_id)
      .where('user_id', '=', device.user_id)
      .where('device_sn', '=', device.device_sn)
      .execute()
  }

  /** Deletes all but the `keep` devices that were used last; @returns the serial numbers of the deleted ones. */
  async deleteLeastUsed(tx: Tx, appId: string, userId: Int64, keep: number): Promise<number[]> {
    const rows = await tx
      .selectFrom('devices')
      .select('device_sn')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .orderBy('last_used_at', 'desc')
      .orderBy('device_sn', 'desc')
      .execute()
    const surplus = rows.slice(keep).map((row) => row.device_sn)
    if (surplus.length > 0)
      await tx.deleteFrom('devices').where('app_id', '=', appId).where('user_id', '=', userId).where('device_sn', 'in', surplus).execute()
    return surplus
  }
}
