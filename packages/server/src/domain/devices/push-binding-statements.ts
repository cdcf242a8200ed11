/** Bulk statements of push bindings. Loaded by the writer's thread too. */
import { camelCaseText, columnsOf, type TableRow } from '../../db/columns.js'
import type { BulkDelete, BulkInsert, BulkSelect, BulkUpdate } from '../../db/dialect/dialect.js'
import type { ProcedureContext } from '../../db/procedure.js'
import { rowOf } from '../../db/rows.js'
import { pushBindingsTable, silentPushBindingsTable } from '../../db/schema.js'
import type { DeviceKey, PushBinding } from './device-model.js'

/** The token of one device at one gateway. */
export interface BindingKey {
  readonly device: Pick<DeviceKey, 'appId' | 'userId' | 'deviceSn'>
  readonly binding: PushBinding
}

/** A token that its gateway calls dead. */
export interface DeadBinding extends BindingKey {
  /** Milliseconds since 1970: a token that was bound later is another one. */
  readonly boundBefore: number
}

/** A device that its gateway wants left alone. */
export interface PausedBinding extends BindingKey {
  /** Milliseconds since 1970. */
  readonly until: number
}

const { bound_at: _, paused_until: pausedUntil, ...keyColumns } = pushBindingsTable
const namedKeyRow = rowOf(keyColumns)

function keyRow({ device, binding }: BindingKey): unknown[] {
  return namedKeyRow({ ...device, ...binding })
}

type BoundRow = Pick<
  TableRow<typeof pushBindingsTable>,
  'userId' | 'deviceSn' | 'notifierName' | 'boundAt'
>

const lockBindings: BulkSelect = {
  table: 'push_bindings',
  keys: keyColumns,
  columns: camelCaseText(['user_id', 'device_sn', 'notifier_name', 'bound_at'], 't'),
  lock: 'for update',
}
const deleteBindings: BulkDelete = {
  deleteFrom: 'push_bindings',
  keys: keyColumns,
}
const setPaused: BulkUpdate = {
  table: 'push_bindings',
  set: { paused_until: pausedUntil },
  keys: keyColumns,
}

export const bindingRow = rowOf(pushBindingsTable)
export const silentBindingRow = rowOf(silentPushBindingsTable)

const silentKey = columnsOf(silentPushBindingsTable, 'app_id', 'user_id', 'device_guid')
export const silentKeyRow = rowOf(silentKey)

/** A binding of a device that is logged out. */
export type SilentBinding = TableRow<typeof silentPushBindingsTable>

/** Rows: {@link silentKeyRow}. @see {@link SilentBinding} */
export const lockSilentBindings: BulkSelect = {
  table: 'silent_push_bindings',
  keys: silentKey,
  columns: camelCaseText(silentPushBindingsTable, 't'),
  lock: 'for update',
}

/** Rows: {@link silentKeyRow}. */
export const deleteSilentBindings: BulkDelete = {
  deleteFrom: 'silent_push_bindings',
  keys: silentKey,
}

/** Keeps what the device has bound since. Rows: {@link bindingRow}. */
export const wakeBindings: BulkInsert = {
  table: 'push_bindings',
  columns: pushBindingsTable,
  conflict: 'on conflict do nothing',
}

/** Rows: {@link silentBindingRow}. */
export const insertSilentBindings: BulkInsert = {
  table: 'silent_push_bindings',
  columns: silentPushBindingsTable,
  conflict: `on conflict (app_id, user_id, device_guid, notifier_name) do update set device_token = excluded.device_token,
    bound_at = excluded.bound_at, paused_until = excluded.paused_until, silent_since = excluded.silent_since`,
}

/** Deletes tokens, unless the device was given them again since. @returns those that devices had */
export async function clearBindings<Dead extends DeadBinding>(
  context: ProcedureContext,
  dead: readonly Dead[],
): Promise<Dead[]> {
  const bound = await context.run<BoundRow>(lockBindings, dead.map(keyRow))
  const boundAt = new Map(
    bound.map((row) => [`${row.userId} ${row.deviceSn} ${row.notifierName}`, row.boundAt]),
  )
  const cleared = dead.filter(({ device, binding, boundBefore }) => {
    const name = `${device.userId} ${device.deviceSn} ${binding.notifierName}`
    const isCleared = (boundAt.get(name) ?? boundBefore) < boundBefore
    // Two results may name one token.
    if (isCleared) boundAt.delete(name)
    return isCleared
  })
  await context.run(deleteBindings, cleared.map(keyRow))
  return cleared
}

/** Notes until when devices are left alone, if they still have the token. */
export async function pauseBindings(
  context: ProcedureContext,
  paused: readonly PausedBinding[],
): Promise<void> {
  const rows = paused.map((each) => [each.until, ...keyRow(each)])
  await context.change(setPaused, rows)
}
