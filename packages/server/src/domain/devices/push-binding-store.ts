import type { Tx } from '../../db/database.js'
import { type RawBuilder, type SqlBool, sql } from '../../db/kysely.js'
import type { UserKey } from '../users/user-model.js'
import type { DeviceKey, PushBinding } from './device-model.js'

/** Tokens of push gateways, by device and certificate. */
export class PushBindingStore {
  /**
   * Binds the token, and unbinds it from the device that had it. The caller has locked the device.
   */
  async bind(
    tx: Tx,
    { appId, userId, deviceSn }: DeviceKey,
    { deviceToken, notifierName }: PushBinding,
    at: number,
  ): Promise<void> {
    await tx
      .deleteFrom('push_bindings')
      .where('app_id', '=', appId)
      .where('device_token', '=', deviceToken)
      .where((eb) => eb.or([eb('user_id', '<>', userId), eb('device_sn', '<>', deviceSn)]))
      .execute()
    await tx
      .deleteFrom('push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .where('notifier_name', '=', notifierName)
      .where('device_token', '<>', deviceToken)
      .execute()
    const owner = { user_id: userId, device_sn: deviceSn, bound_at: at, paused_until: 0 }
    await tx
      .insertInto('push_bindings')
      .values({ app_id: appId, notifier_name: notifierName, device_token: deviceToken, ...owner })
      // Another device may have bound the token since it was unbound from all others.
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'device_token', 'notifier_name']).doUpdateSet(owner),
      )
      .execute()
  }

  /**
   * Removes a token that its gateway reports as ended, unless the device has bound it again since.
   * @param boundBefore milliseconds since 1970
   * @returns whether the device had the token
   */
  async clear(
    tx: Tx,
    device: DeviceKey,
    binding: PushBinding,
    boundBefore: number,
  ): Promise<boolean> {
    const { numDeletedRows } = await tx
      .deleteFrom('push_bindings')
      .where(isBinding(device, binding))
      .where('bound_at', '<', boundBefore)
      .executeTakeFirst()
    return numDeletedRows > 0n
  }

  /**
   * Pauses pushes to the device if it still has the token.
   * @param until milliseconds since 1970
   */
  async pause(tx: Tx, device: DeviceKey, binding: PushBinding, until: number): Promise<void> {
    await tx
      .updateTable('push_bindings')
      .set({ paused_until: until })
      .where(isBinding(device, binding))
      .execute()
  }

  /** Tests whether any device has the token. */
  async isBound(tx: Tx, appId: string, deviceToken: string): Promise<boolean> {
    const found = tx
      .selectFrom('push_bindings')
      .select('device_sn')
      .where('app_id', '=', appId)
      .where('device_token', '=', deviceToken)
    return (await found.limit(1).executeTakeFirst()) !== undefined
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }

  async unbind(tx: Tx, { appId, userId, deviceSn }: DeviceKey): Promise<void> {
    await tx
      .deleteFrom('push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .execute()
  }
}

function isBinding(
  { appId, userId, deviceSn }: DeviceKey,
  { notifierName, deviceToken }: PushBinding,
): RawBuilder<SqlBool> {
  return sql<SqlBool>`app_id = ${appId} and user_id = ${userId} and device_sn = ${deviceSn}
    and notifier_name = ${notifierName} and device_token = ${deviceToken}`
}
