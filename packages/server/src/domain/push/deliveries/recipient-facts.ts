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

const joined = (table: string, alias: string) =>
  `left join ${table} as ${alias} on ${alias}.app_id = t.app_id and ${alias}.user_id = t.user_id`
const bindingColumns = (alias: string) =>
  `${alias}.device_sn as "deviceSn", ${alias}.notifier_name as "notifierName", ${alias}.device_token as "deviceToken",
    ${alias}.bound_at as "boundAt", ${alias}.paused_until as "pausedUntil"`

/** A row for each binding of a user, and one for a user without any. */
const findFacts: BulkSelect = {
  table: 'users',
  joins: `${joined('user_settings', 's')} ${joined('push_bindings', 'b')}`,
  keys: userKey,
  columns: `t.user_id as "userId", t.status, t.deleted_at as "deletedAt", ${settingNames.map((name) => `s.${name}`).join(', ')}, ${bindingColumns('b')}`,
}

/** A row of findFacts: null where a user has stored no settings, or no binding. */
type FactRow = Pick<RecipientFacts, 'status'> &
  UserPresence &
  (PushSettings | NullIn<PushSettings>) &
  (BindingRow | (NullIn<Omit<BindingRow, 'userId'>> & Pick<BindingRow, 'userId'>))
type NullIn<T> = { readonly [Name in keyof T]: null }

/** Whether users are still there; see {@link UserPresence}. */
export const findPresence: BulkSelect = {
  table: 'users',
  keys: userKey,
  columns: `t.user_id as "userId", t.deleted_at as "deletedAt"`,
}

/** A row of {@link findPresence}. */
export interface UserPresence {
  readonly userId: Int64
  /** Milliseconds since 1970. */
  readonly deletedAt: number | null
}

/** The bindings of users; see {@link BindingRow}. */
export const findBindings: BulkSelect = {
  table: 'push_bindings',
  keys: userKey,
  columns: `t.user_id as "userId", ${bindingColumns('t')}`,
}

/** Of users who are there. */
export async function readFacts(
  select: SelectOfUsers,
  appId: string,
  userIds: readonly Int64[],
): Promise<ReadonlyMap<Int64, RecipientFacts>> {
  const rows = await select<FactRow>(
    findFacts,
    userIds.map((userId) => [appId, userId]),
  )
  const byUser = groupBy(rows, ({ userId }) => userId)
  return new Map(
    [...byUser].flatMap(([userId, ofUser]) => {
      const [first] = ofUser
      if (!first || first.deletedAt !== null) return []
      const settings = first.no_push === null ? defaultSettings : first
      const bindings = groupBy(ofUser.filter(hasBinding), ({ deviceSn }) => deviceSn)
      return [[userId, { status: first.status, settings, bindings }] as const]
    }),
  )
}

function hasBinding(row: FactRow): row is FactRow & BindingRow {
  return row.deviceSn !== null
}
