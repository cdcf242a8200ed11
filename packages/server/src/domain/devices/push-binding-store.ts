import type { Database, Tx } from '../../db/database.js'
import type { UserKey } from '../users/user-model.js'
import type { DeviceKey, PushBinding } from './device-model.js'
import { clearBindings, pauseBindings } from './push-binding-statements.js'

/** Tokens of push gateways, by device and certificate. */
export class PushBindingStore {
  constructor(private readonly database: Database) {}

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
   * Ends a token that its gateway calls dead, unless the device has been given it again since.
   * @param boundBefore milliseconds since 1970
   * @returns whether the device had it
   */
  async clear(
    tx: Tx,
    device: DeviceKey,
    binding: PushBinding,
    boundBefore: number,
  ): Promise<boolean> {
    const context = this.database.contextOf(tx)
    return (await clearBindings(context, [{ device, binding, boundBefore }])).length > 0
  }

  /** Leaves the device alone, if it still has the token. @param until milliseconds since 1970 */
  async pause(tx: Tx, device: DeviceKey, binding: PushBinding, until: number): Promise<void> {
    await pauseBindings(this.database.contextOf(tx), [{ device, binding, until }])
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
