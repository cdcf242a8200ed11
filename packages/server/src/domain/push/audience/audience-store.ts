import type { Int64 } from '@hermod/protocol'
import { userStatus } from '@hermod/protocol/enums'
import type { Database, Prepared, PreparedPage, Queryable } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import type { DeviceBinding } from '../deliveries/channel-choice.js'

/** A device, or all devices of a user. */
export interface FoundDevice {
  readonly userId: Int64
  /** null = all of them */
  readonly deviceSn: number | null
}

interface FoundRow {
  readonly user_id: Int64
  readonly device_sn: number | null
}

/** Users of an application, by ID: those above one user and not above another. */
export interface UserRange {
  readonly appId: string
  readonly above: Int64
  readonly upTo: Int64
}

/** Where a range of users ends. */
export interface RangeEnd {
  /** Of bound devices, or a fourth of all users, whichever is more. */
  readonly size: number
  readonly upTo: Int64
  /** Whether no bound device comes after it. */
  readonly isLast: boolean
}

/** Devices that are bound in the same way, of users who have nothing that decides about pushes. */
export interface AlikeDevices {
  /** Of each of them; without tokens. */
  readonly bindings: readonly DeviceBinding[]
  readonly devices: number
}

/** The bound devices of a range of users. */
export interface DeviceGroups {
  readonly alike: readonly AlikeDevices[]
  /** Users with devices who are to be looked at one by one. */
  readonly others: ReadonlySet<Int64>
}

interface EndRow {
  readonly devices: number
  readonly lastBound: Int64 | null
  readonly users: number | null
  readonly lastUser: Int64 | null
}

interface GroupRow {
  /** Null for users who are like most. */
  readonly userId: Int64 | null
  /** Lines, each `<paused until> <name of the certificate>`. */
  readonly bindings: string
  readonly devices: number
}

type UserPage = PreparedPage<{ appId: string; after: Int64 }, { userId: Int64 }>
type TagPage = PreparedPage<{ appId: string; tag: string; after: Int64 }, { userId: Int64 }>

const findAliases: BulkSelect = {
  table: 'push_aliases',
  keys: { app_id: 'text', alias: 'text' },
  columns: 't.user_id, null as device_sn',
}
const findDevices: BulkSelect = {
  table: 'devices',
  keys: { app_id: 'text', push_token: 'text' },
  columns: 't.user_id, t.device_sn',
}
const findSettings: BulkSelect = {
  table: 'user_settings',
  keys: { app_id: 'text', push_token: 'text' },
  columns: 't.user_id, null as device_sn',
}

/** So many users a range may have for each device. */
const usersPerDevice = 4
/** Between the bindings of a device. Inside of a name it is written as `\n`, and a backslash as `\b`. */
const separator = '\n'

/** Finds who is in an audience. */
export class AudienceStore {
  readonly #rangeEnd: PreparedPage<Pick<UserRange, 'appId' | 'above'>, EndRow>
  readonly #groups: Prepared<UserRange, GroupRow>
  readonly #bound: UserPage
  readonly #tagged: TagPage

  constructor(private readonly database: Database) {
    this.#rangeEnd = database.preparedPage((db, param, limit) => {
      const next = sql`app_id = ${param('appId')} and user_id > ${param('above')}`
      const query = sql<EndRow>`
        with next as (select user_id from push_bindings where ${next} order by user_id limit ${limit}),
          bound as (select count(*) as devices, max(user_id) as last_bound from next),
          passed as (
            select user_id from users where ${next} and user_id <= (select last_bound from bound)
            order by user_id limit ${limit} * ${sql.lit(usersPerDevice)}
          )
        select devices, last_bound as "lastBound", (select count(*) from passed) as users,
          (select max(user_id) from passed) as "lastUser"
        from bound`
      return { compile: () => query.compile(db) }
    })
    this.#groups = database.prepared((db, param) => {
      const inRange = sql`app_id = ${param('appId')} and user_id > ${param('above')} and user_id <= ${param('upTo')}`
      // Whom status or preferences may keep from a push; see decide() and preferencesAt().
      const special = sql`
        select user_id from users where ${inRange}
          and (status <> ${sql.lit(userStatus.normal)} or deleted_at is not null)
        union all
        select user_id from user_settings where ${inRange}
          and (no_push <> 0 or no_push_start_hour <> no_push_end_hour)`
      const escapedName = sql.raw(
        String.raw`replace(replace(b.notifier_name, '\', '\b'), '${separator}', '\n')`,
      )
      const query = sql<GroupRow>`
        select user_id as "userId", bindings, count(*) as devices from (
          select case when b.user_id in (${special}) then b.user_id end as user_id,
            string_agg(b.paused_until || ' ' || ${escapedName}, ${sql.lit(separator)}) as bindings
          from push_bindings b where ${inRange} group by b.user_id, b.device_sn
        ) as d group by user_id, bindings`
      return { compile: () => query.compile(db) }
    })
    this.#bound = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('push_bindings')
        .select('user_id as userId')
        .where('app_id', '=', param('appId'))
        .where('user_id', '>', param('after'))
        .orderBy('user_id')
        .limit(limit),
    )
    this.#tagged = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('push_tags')
        .select('user_id as userId')
        .where('app_id', '=', param('appId'))
        .where('tag', '=', param('tag'))
        .where('user_id', '>', param('after'))
        .orderBy('user_id')
        .limit(limit),
    )
  }

  /**
   * The end of the range in which the next `limit` bound devices are; where few users have one, it has four times as many users and ends
   * there, as the other tables are read over the whole range. Devices of the same user are not told apart: PostgreSQL takes all bindings together before it gives the first user, as long as
   * the table has no statistics.
   */
  async nextRange(db: Queryable, appId: string, above: Int64, limit: number): Promise<RangeEnd> {
    const [found] = await this.#rangeEnd.all(db, { appId, above, limit })
    if (!found?.lastBound) return { size: 0, upTo: above, isLast: true }
    const { devices, lastBound, users, lastUser } = found
    return Number(users) === limit * usersPerDevice && lastUser
      ? { size: limit, upTo: lastUser, isLast: false }
      : { size: Number(devices), upTo: lastBound, isLast: Number(devices) < limit }
  }

  /** The bound devices of a range. */
  async groupDevices(db: Queryable, range: UserRange): Promise<DeviceGroups> {
    const rows = await this.#groups.all(db, range)
    return {
      alike: rows
        .filter(({ userId }) => userId === null)
        .map(({ bindings, devices }) => ({
          bindings: bindings.split(separator).map(toBinding),
          devices: Number(devices),
        })),
      others: new Set(rows.flatMap(({ userId }) => userId ?? [])),
    }
  }

  /**
   * The users of devices that are bound to a gateway, by ID; each comes as often as there are such devices. They are not told apart here:
   * PostgreSQL takes all bindings together before it gives the first user, as long as the table has no statistics.
   * @param limit of devices
   */
  async listBound(db: Queryable, appId: string, after: Int64, limit: number): Promise<Int64[]> {
    const rows = await this.#bound.all(db, { appId, after, limit })
    return rows.map(({ userId }) => userId)
  }

  /** Users with a tag, by ID. */
  async listTagged(
    db: Queryable,
    { appId, tag }: { readonly appId: string; readonly tag: string },
    after: Int64,
    limit: number,
  ): Promise<Int64[]> {
    const rows = await this.#tagged.all(db, { appId, tag, after, limit })
    return rows.map(({ userId }) => userId)
  }

  /** In no particular order; a device or user may come more than once. */
  async findByAlias(
    db: Queryable,
    appId: string,
    aliases: readonly string[],
  ): Promise<FoundDevice[]> {
    return this.#find(db, findAliases, appId, aliases)
  }

  /** Devices with one of these push tokens, and all devices of users whose settings have one. */
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
    const rows = await this.database.bulk<FoundRow>(
      db,
      statement,
      values.map((value) => [appId, value]),
    )
    return rows.map(({ user_id: userId, device_sn: deviceSn }) => ({ userId, deviceSn }))
  }
}

/** @param line `<paused until> <name of the certificate>` */
function toBinding(line: string): DeviceBinding {
  const end = line.indexOf(' ')
  return {
    notifierName: line
      .slice(end + 1)
      .replaceAll(String.raw`\n`, separator)
      .replaceAll(String.raw`\b`, '\\'),
    pausedUntil: Number(line.slice(0, end)),
    deviceToken: '',
    boundAt: 0,
  }
}
