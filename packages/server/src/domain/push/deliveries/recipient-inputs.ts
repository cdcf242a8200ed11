/** The stored data by which pushes to users are decided. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { camelCaseText, columnsOf } from '../../../db/columns.js'
import type { Database, Queryable } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import { pushBindingsTable, usersTable } from '../../../db/schema.js'
import { groupBy } from '../../../lib/group-by.js'
import { defaultSettings } from '../../users/user-model.js'
import type { PushSettings } from '../preferences/push-window.js'
import type { DeviceBinding } from './channel-choice.js'
import { deviceName } from './delivery-model.js'

/** The stored data of a user by which a push is decided. */
export interface RecipientInputs {
  /** One of userStatus. */
  readonly status: number
  /** A program, which gets no push; absent: it is none. */
  readonly isBot?: boolean
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

const userKey = columnsOf(usersTable, 'app_id', 'user_id')
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
const { app_id: _, user_id: userId, ...bindingColumns } = pushBindingsTable

/** Reads a row for each binding of a user, and one for a user without any. */
const findInputs: BulkSelect = {
  table: 'users',
  joins: `${joined('user_settings', 's')} ${joined('push_bindings', 'b')}`,
  keys: userKey,
  columns: `${camelCaseText(['user_id', 'status', 'is_bot', 'deleted_at'], 't')}, ${settingNames.map((name) => `s.${name}`).join(', ')},
    ${camelCaseText(bindingColumns, 'b')}`,
}

/** A row of findInputs. Fields are null where a user has stored no settings, or no binding. */
type InputRow = { readonly status: number; readonly isBot: number } & UserPresence &
  (PushSettings | NullIn<PushSettings>) &
  (BindingRow | (NullIn<Omit<BindingRow, 'userId'>> & Pick<BindingRow, 'userId'>))
type NullIn<T> = { readonly [Name in keyof T]: null }

/** Reads whether users are deleted; see {@link UserPresence}. */
export const findPresence: BulkSelect = {
  table: 'users',
  keys: userKey,
  columns: camelCaseText(['user_id', 'deleted_at'], 't'),
}

/** A row of {@link findPresence}. */
export interface UserPresence {
  readonly userId: Int64
  /** Milliseconds since 1970. */
  readonly deletedAt: number | null
}

/** Reads the bindings of users; see {@link BindingRow}. */
export const findBindings: BulkSelect = {
  table: 'push_bindings',
  keys: userKey,
  columns: camelCaseText({ user_id: userId, ...bindingColumns }, 't'),
}

/** Reads the inputs of users; deleted users are left out. */
export async function readInputs(
  select: SelectOfUsers,
  appId: string,
  userIds: readonly Int64[],
): Promise<ReadonlyMap<Int64, RecipientInputs>> {
  const rows = await select<InputRow>(
    findInputs,
    userIds.map((userId) => [appId, userId]),
  )
  const byUser = groupBy(rows, ({ userId }) => userId)
  return new Map(
    [...byUser].flatMap(([userId, ofUser]) => {
      const [first] = ofUser
      if (!first || first.deletedAt !== null) return []
      const settings = first.no_push === null ? defaultSettings : first
      const bindings = groupBy(ofUser.filter(hasBinding), ({ deviceSn }) => deviceSn)
      const isBot = first.isBot === 1
      return [[userId, { status: first.status, isBot, settings, bindings }] as const]
    }),
  )
}

function hasBinding(row: InputRow): row is InputRow & BindingRow {
  return row.deviceSn !== null
}

/** Reads the stored data of users outside of procedures. */
export class RecipientStore {
  constructor(private readonly database: Database) {}

  /** The inputs of users; deleted users are left out. */
  async inputs(
    db: Queryable,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<Int64, RecipientInputs>> {
    return readInputs((statement, rows) => this.database.bulk(db, statement, rows), appId, userIds)
  }

  /** The bindings of devices, by {@link deviceName}. */
  async bindings(
    db: Queryable,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<string, readonly DeviceBinding[]>> {
    const keys = [...new Set(userIds)].map((userId) => [appId, userId])
    const rows = await this.database.bulk<BindingRow>(db, findBindings, keys)
    return groupBy(rows, deviceName)
  }
}
