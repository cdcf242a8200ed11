/** What decides how users are pushed to, and how it is read. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import { groupBy } from '../../../lib/group-by.js'
import { defaultSettings } from '../../users/user-model.js'
import type { PushSettings } from '../preferences/push-window.js'
import type { DeviceBinding } from './channel-choice.js'

/** What a push needs to know about a user. */
export interface RecipientFacts {
  /** One of userStatus. */
  readonly status: number
  readonly settings: PushSettings
  /** By device. */
  readonly bindings: ReadonlyMap<number, readonly DeviceBinding[]>
}

/** A row of {@link findBindings}. */
export interface BindingRow extends DeviceBinding {
  readonly userId: Int64
  readonly deviceSn: number
}

/** Runs a statement for the users of a list. */
export type SelectOfUsers = <Row>(
  statement: BulkSelect,
  rows: readonly (readonly unknown[])[],
) => Promise<Row[]>

const userKey = { app_id: 'text', user_id: 'bigint' } as const
const settingNames = Object.keys({
  no_push: 0,
  no_push_detail: 0,
  no_push_start_hour: 0,
  no_push_end_hour: 0,
  silence_start_time: 0,
  silence_end_time: 0,
} satisfies PushSettings)

const findUsers: BulkSelect = { table: 'users', keys: userKey, columns: 't.user_id, t.status' }
const findSettings: BulkSelect = {
  table: 'user_settings',
  keys: userKey,
  columns: ['user_id', ...settingNames].map((name) => `t.${name}`).join(', '),
}

/** The bindings of users; see {@link BindingRow}. */
export const findBindings: BulkSelect = {
  table: 'push_bindings',
  keys: userKey,
  columns: `t.user_id as "userId", t.device_sn as "deviceSn", t.notifier_name as "notifierName",
    t.device_token as "deviceToken", t.bound_at as "boundAt", t.paused_until as "pausedUntil"`,
}

/** Of users who are there. */
export async function readFacts(
  select: SelectOfUsers,
  appId: string,
  userIds: readonly Int64[],
): Promise<ReadonlyMap<Int64, RecipientFacts>> {
  const keys = userIds.map((userId) => [appId, userId])
  const [users, settings, bindings] = await Promise.all([
    select<{ user_id: Int64; status: number }>(findUsers, keys),
    select<{ user_id: Int64 } & PushSettings>(findSettings, keys),
    select<BindingRow>(findBindings, keys),
  ])
  const settingsOf = new Map(settings.map((row) => [row.user_id, row]))
  const bindingsOf = groupBy(bindings, ({ userId }) => userId)
  return new Map(
    users.map(({ user_id: userId, status }) => [
      userId,
      {
        status,
        settings: settingsOf.get(userId) ?? defaultSettings,
        bindings: groupBy(bindingsOf.get(userId) ?? [], ({ deviceSn }) => deviceSn),
      },
    ]),
  )
}
