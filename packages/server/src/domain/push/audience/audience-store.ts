import type { Int64 } from '@hermod/protocol'
import { camelCase, camelCaseText, columnsOf } from '../../../db/columns.js'
import type { Database, PreparedPage, Queryable } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import { devicesTable, pushAliasesTable, userSettingsTable } from '../../../db/schema.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'

/** A device, or all devices of a user. */
export interface FoundDevice {
  readonly userId: Int64
  /** null = all of them */
  readonly deviceSn: number | null
}

type UserIdPage = PreparedPage<{ appId: string; after: Int64 }, { userId: Int64 }>
type TagPage = PreparedPage<{ appId: string; tag: string; after: Int64 }, { userId: Int64 }>

const userId = camelCaseText(['user_id'], 't')
const findAliases: BulkSelect = {
  table: 'push_aliases',
  keys: columnsOf(pushAliasesTable, 'app_id', 'alias'),
  columns: `${userId}, null as "deviceSn"`,
}
const findDevices: BulkSelect = {
  table: 'devices',
  keys: columnsOf(devicesTable, 'app_id', 'push_token'),
  columns: camelCaseText(['user_id', 'device_sn'], 't'),
}
const findSettings: BulkSelect = {
  table: 'user_settings',
  keys: columnsOf(userSettingsTable, 'app_id', 'push_token'),
  columns: `${userId}, null as "deviceSn"`,
}

/** Finds the users and devices of audiences. */
export class AudienceStore {
  readonly #bound: UserIdPage
  readonly #tagged: TagPage

  constructor(private readonly database: Database) {
    this.#bound = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('push_bindings')
        .select(camelCase(['user_id']))
        .where('app_id', '=', param('appId'))
        .where('user_id', '>', param('after'))
        .orderBy('user_id')
        .limit(limit),
    )
    this.#tagged = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('push_tags')
        .select(camelCase(['user_id']))
        .where('app_id', '=', param('appId'))
        .where('tag', '=', param('tag'))
        .where('user_id', '>', param('after'))
        .orderBy('user_id')
        .limit(limit),
    )
  }

  /**
   * Lists the users of devices that are bound to a gateway, by ID. A user comes once for each such
   * device: with `distinct`, PostgreSQL reads all bindings before it returns the first user, as
   * long as the table has no statistics.
   * @param limit in devices
   */
  async listBound(db: Queryable, appId: string, after: Int64, limit: number): Promise<Int64[]> {
    const rows = await this.#bound.all(db, { appId, after, limit })
    return rows.map(({ userId }) => userId)
  }

  /** Counts the users with at least one of these tags. It reads all of them. */
  async countTagged(db: Queryable, appId: string, tags: readonly string[]): Promise<number> {
    const row = await db
      .selectFrom('push_tags')
      .select((eb) => eb.fn.count<number>('user_id').distinct().as('users'))
      .where('app_id', '=', appId)
      .where('tag', 'in', paddedForPlanCache(tags))
      .executeTakeFirstOrThrow()
    return Number(row.users)
  }

  /** Lists the users with a tag, by ID. */
  async listTagged(
    db: Queryable,
    { appId, tag }: { readonly appId: string; readonly tag: string },
    after: Int64,
    limit: number,
  ): Promise<Int64[]> {
    const rows = await this.#tagged.all(db, { appId, tag, after, limit })
    return rows.map(({ userId }) => userId)
  }

  /** Finds the users of aliases, in no particular order. A user may come more than once. */
  async findByAlias(
    db: Queryable,
    appId: string,
    aliases: readonly string[],
  ): Promise<FoundDevice[]> {
    return this.#find(db, findAliases, appId, aliases)
  }

  /** Finds the devices with one of these push tokens, and all devices of users whose settings have one. */
  async findByPushToken(
    db: Queryable,
    appId: string,
    pushTokens: readonly string[],
  ): Promise<FoundDevice[]> {
    const found = await Promise.all(
      [findDevices, findSettings].map((statement) => this.#find(db, statement, appId, pushTokens)),
    )
    return found.flat()
  }

  async #find(
    db: Queryable,
    statement: BulkSelect,
    appId: string,
    values: readonly string[],
  ): Promise<FoundDevice[]> {
    const keys = values.map((value) => [appId, value])
    return this.database.bulk<FoundDevice>(db, statement, keys)
  }
}
