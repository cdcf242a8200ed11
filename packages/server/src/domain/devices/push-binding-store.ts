import type { Int64 } from '@hermod/protocol'
import { camelCase, snakeCase } from '../../db/columns.js'
import type { Database, Queryable, Tx } from '../../db/database.js'
import { pushBindingsTable } from '../../db/schema.js'
import { paddedForPlanCache } from '../../lib/chunks.js'
import { keyText } from '../../lib/ids/key-text.js'
import type { UserKey } from '../users/user-model.js'
import type { DeviceKey, PushBinding } from './device-model.js'
import {
  bindingRow,
  clearBindings,
  deleteSilentBindings,
  insertSilentBindings,
  lockSilentBindings,
  pauseBindings,
  type SilentBinding,
  silentBindingRow,
  silentKeyRow,
  wakeBindings,
} from './push-binding-statements.js'

/** The devices of users with logins that end. */
export interface EndedLogins {
  readonly appId: string
  readonly userIds: readonly Int64[]
  /** Only this device of the users. */
  readonly deviceSn?: number
  /** All devices but this one. */
  readonly keptDeviceSn?: number | null
}

/** The certificates that a device can be bound to at once. */
const maxBindings = 20
/** The silent bindings that a user keeps when devices give way to new ones. */
const maxSilentBindings = 100

/** Tokens of push gateways, by device and certificate; those of ended logins are silent (rule D6a). */
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
      .deleteFrom('silent_push_bindings')
      .where('app_id', '=', appId)
      .where('device_token', '=', deviceToken)
      .execute()
    await tx
      .deleteFrom('push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .where('notifier_name', '=', notifierName)
      .where('device_token', '<>', deviceToken)
      .execute()
    const owner = snakeCase(pushBindingsTable, { userId, deviceSn, boundAt: at, pausedUntil: 0 })
    await tx
      .insertInto('push_bindings')
      .values({ ...snakeCase(pushBindingsTable, { appId, notifierName, deviceToken }), ...owner })
      // Another device may have bound the token since it was unbound from all others.
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'device_token', 'notifier_name']).doUpdateSet(owner),
      )
      .execute()
    await this.#trim(tx, { appId, userId, deviceSn })
  }

  /** Unbinds the oldest tokens beyond the bound, since each push to the user reads all of them. */
  async #trim(tx: Tx, { appId, userId, deviceSn }: DeviceKey): Promise<void> {
    const older = tx
      .selectFrom('push_bindings')
      .select('notifier_name')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .orderBy('bound_at', 'desc')
      .orderBy('notifier_name')
      .limit(maxBindings)
      .offset(maxBindings)
    await tx
      .deleteFrom('push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .where('notifier_name', 'in', older)
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

  /**
   * Makes bindings of devices silent. The devices must exist.
   * @param at milliseconds since 1970
   */
  async silence(
    tx: Tx,
    { appId, userIds, deviceSn, keptDeviceSn = null }: EndedLogins,
    at: number,
  ): Promise<void> {
    const bound = await tx
      .deleteFrom('push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', 'in', paddedForPlanCache(userIds))
      .$if(deviceSn !== undefined, (query) => query.where('device_sn', '=', deviceSn ?? 0))
      .$if(keptDeviceSn !== null, (query) => query.where('device_sn', '<>', keptDeviceSn ?? 0))
      .returning(camelCase(pushBindingsTable))
      .execute()
    if (bound.length === 0) return
    const devices = await tx
      .selectFrom('devices')
      .select(camelCase(['user_id', 'device_sn', 'device_guid']))
      .where('app_id', '=', appId)
      .where('user_id', 'in', paddedForPlanCache([...new Set(bound.map((row) => row.userId))]))
      .execute()
    const guids = new Map(devices.map((row) => [`${row.userId} ${row.deviceSn}`, row.deviceGuid]))
    const silent = bound.flatMap((row) => {
      const deviceGuid = guids.get(`${row.userId} ${row.deviceSn}`)
      return deviceGuid === undefined ? [] : [{ ...row, deviceGuid, silentSince: at }]
    })
    await this.database.bulk(tx, insertSilentBindings, silent.map(silentBindingRow))
  }

  /** Wakes the silent bindings of devices that log in. */
  async wake(
    tx: Tx,
    devices: readonly (DeviceKey & { readonly deviceGuid: string })[],
  ): Promise<void> {
    const keys = devices.map(silentKeyRow)
    const silent = await this.database.bulk<SilentBinding>(tx, lockSilentBindings, keys)
    if (silent.length === 0) return
    const serials = new Map(devices.map((device) => [installationOf(device), device.deviceSn]))
    const rows = silent.map((row) =>
      bindingRow({ ...row, deviceSn: serials.get(installationOf(row)) ?? 0 }),
    )
    await this.database.bulk(tx, deleteSilentBindings, silent.map(silentKeyRow))
    await this.database.bulk(tx, wakeBindings, rows)
  }

  /** Deletes the oldest silent bindings of a user beyond the bound. */
  async trimSilent(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('silent_push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where((eb) =>
        eb(
          eb.refTuple('device_guid', 'notifier_name'),
          'in',
          eb
            .selectFrom('silent_push_bindings')
            .select(['device_guid', 'notifier_name'])
            .where('app_id', '=', appId)
            .where('user_id', '=', userId)
            .orderBy('silent_since', 'desc')
            .orderBy('device_guid')
            .orderBy('notifier_name')
            .limit(maxSilentBindings)
            .offset(maxSilentBindings)
            .$asTuple('device_guid', 'notifier_name'),
        ),
      )
      .execute()
  }

  /** Returns the GUIDs of the user's devices with a silent binding. */
  async listSilentGuids(db: Queryable, { appId, userId }: UserKey): Promise<ReadonlySet<string>> {
    const rows = await db
      .selectFrom('silent_push_bindings')
      .select('device_guid')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
    return new Set(rows.map((row) => row.device_guid))
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    for (const table of ['push_bindings', 'silent_push_bindings'] as const)
      await tx.deleteFrom(table).where('app_id', '=', appId).where('user_id', '=', userId).execute()
  }

  /** Unbinds all tokens of the device, silent ones included. The device must exist. */
  async unbind(tx: Tx, { appId, userId, deviceSn }: DeviceKey): Promise<void> {
    await tx
      .deleteFrom('push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
      .execute()
    const guid = tx
      .selectFrom('devices')
      .select('device_guid')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_sn', '=', deviceSn)
    await tx
      .deleteFrom('silent_push_bindings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('device_guid', '=', guid)
      .execute()
  }
}

function installationOf({
  appId,
  userId,
  deviceGuid,
}: UserKey & { readonly deviceGuid: string }): string {
  return keyText(appId, userId, deviceGuid)
}
