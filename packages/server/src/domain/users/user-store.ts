import type { Int64 } from '@hermod/protocol'
import { camelCase, camelCaseText, columnsOf, convert, type TableRow } from '../../db/columns.js'
import type { Database, Queryable, Tx } from '../../db/database.js'
import type { BulkSelect, BulkUpdate } from '../../db/dialect/dialect.js'
import { type Insertable, sql, type Updateable } from '../../db/kysely.js'
import { lockInOrder, lockKeyShareInOrder } from '../../db/locking.js'
import { emptyUser } from '../../db/personal-data.js'
import { rowOf } from '../../db/rows.js'
import { type Schema, usersTable } from '../../db/schema.js'
import { compare } from '../../lib/compare.js'
import type { Invalidates } from '../../lib/invalidated-cache.js'
import {
  emailKey,
  endOfAssertions,
  type FoundUser,
  type ListedUser,
  mobileKey,
  type User,
  type UserKey,
  type UserState,
  usernameKey,
} from './user-model.js'
import { insertBadges, setBadges } from './user-statements.js'

type UserRow = TableRow<typeof usersTable>
type UserToInsert = Insertable<Schema['users']>
type NewUser = Pick<
  UserToInsert,
  'app_id' | 'user_id' | 'username' | 'password_hash' | 'created_at' | 'broadcasts_after'
>
type UserChanges = Omit<Updateable<Schema['users']>, 'app_id' | 'user_id' | 'status' | 'deleted_at'>

/** The user of devices: the greatest serial number, and the time of the last change. */
export type DeviceList = Pick<UserRow, 'appId' | 'userId' | 'lastDeviceSn' | 'devicesChangedAt'>

type FoundRow = Pick<UserRow, 'userId' | 'username' | 'status' | 'isBot' | 'deletedAt'>

type StateRow = Pick<UserRow, 'status' | 'deletedAt' | 'isBot'> & {
  readonly strangerChat: number | null
  readonly hasBlocks: number
  readonly hasUnasked: number
}

const columns = camelCase(usersTable)
const userKey = columnsOf(usersTable, 'app_id', 'user_id')

const lookUps = {
  username: { column: 'username_key', key: usernameKey },
  mobile: { column: 'mobile_key', key: mobileKey },
  email: { column: 'email_key', key: emailKey },
} as const

// Of the row `u`; an index of these contacts alone answers each.
const hasBlocks = sql<number>`case when exists (
  select 1 from contacts c where c.app_id = u.app_id and c.user_id = u.user_id and c.is_blocked = 1) then 1 else 0 end`
const hasUnasked = sql<number>`case when exists (
  select 1 from contacts c where c.app_id = u.app_id and c.user_id = u.user_id and c.is_unasked = 1) then 1 else 0 end`

/** Locks users in the order of the keys. */
const lockUsers: BulkSelect = {
  table: 'users',
  keys: userKey,
  columns: camelCaseText(usersTable),
  lock: 'for update',
}
const lockUsersNoKeyUpdate: BulkSelect = { ...lockUsers, lock: 'for no key update' }
const lockUsersKeyShare: BulkSelect = { ...lockUsers, lock: 'for key share' }
const findUsernames: BulkSelect = {
  table: 'users',
  keys: columnsOf(usersTable, 'app_id', 'username_key'),
  columns: camelCaseText(['username_key'], 't'),
}
const findByIds: BulkSelect = {
  table: 'users',
  keys: userKey,
  columns: camelCaseText(['user_id', 'username', 'status', 'is_bot', 'deleted_at'], 't'),
}
const findByNames: BulkSelect = {
  ...findByIds,
  keys: columnsOf(usersTable, 'app_id', 'username_key'),
}
const setStatuses: BulkUpdate = {
  table: 'users',
  set: columnsOf(usersTable, 'status'),
  keys: userKey,
}
const setBroadcastsAfter: BulkUpdate = {
  table: 'users',
  set: columnsOf(usersTable, 'broadcasts_after'),
  keys: userKey,
}
const endCredentials: BulkUpdate = {
  table: 'users',
  set: columnsOf(usersTable, 'credential_epoch', 'assertions_after'),
  keys: userKey,
}
const lockDeviceLists: BulkSelect = {
  table: 'users',
  keys: userKey,
  columns: camelCaseText(['app_id', 'user_id', 'last_device_sn', 'devices_changed_at'], 't'),
  lock: 'for no key update',
}
const lockFreeDeviceLists: BulkSelect = { ...lockDeviceLists, skipLocked: true }
const setDeviceLists: BulkUpdate = {
  table: 'users',
  set: columnsOf(usersTable, 'last_device_sn', 'devices_changed_at'),
  keys: userKey,
}
const userKeyRow = rowOf(userKey)

/** Rows of users. A deleted user keeps row and ID and nothing else. */
export class UserStore {
  readonly #database: Database
  readonly #states
  readonly #findById
  readonly #findState

  constructor(database: Database, states: Invalidates<UserKey>) {
    this.#database = database
    this.#states = states
    this.#findById = database.prepared<{ appId: string; userId: Int64 }, UserRow>((db, param) =>
      db
        .selectFrom('users')
        .select(columns)
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId')),
    )
    this.#findState = database.prepared<{ appId: string; userId: Int64 }, StateRow>((db, param) =>
      db
        .selectFrom('users as u')
        .leftJoin('user_settings as s', (join) =>
          join.onRef('s.app_id', '=', 'u.app_id').onRef('s.user_id', '=', 'u.user_id'),
        )
        .select(camelCase(['status', 'deleted_at', 'is_bot'], 'u'))
        .select('s.stranger_chat as strangerChat')
        .select([hasBlocks.as('hasBlocks'), hasUnasked.as('hasUnasked')])
        .where('u.app_id', '=', param('appId'))
        .where('u.user_id', '=', param('userId')),
    )
  }

  /** Finds users, including deleted ones. */
  async find(db: Queryable, appId: string, userId: Int64): Promise<User | null> {
    const row = await this.#findById.first(db, { appId, userId })
    return row ? toUser(row) : null
  }

  /** Finds states of users, including deleted ones. */
  async findState(db: Queryable, appId: string, userId: Int64): Promise<UserState | null> {
    const row = await this.#findState.first(db, { appId, userId })
    if (!row) return null
    return {
      appId,
      userId,
      status: row.status,
      isDeleted: row.deletedAt !== null,
      isBot: row.isBot === 1,
      strangerChat: row.strangerChat ?? 0,
      hasBlocks: row.hasBlocks === 1,
      hasUnasked: row.hasUnasked === 1,
    }
  }

  async findBy(
    db: Queryable,
    appId: string,
    kind: 'username' | 'mobile' | 'email',
    value: string,
  ): Promise<User | null> {
    const { column, key } = lookUps[kind]
    const row = await db
      .selectFrom('users')
      .select(columns)
      .where('app_id', '=', appId)
      .where(column, '=', key(value))
      .executeTakeFirst()
    return row ? toUser(row) : null
  }

  /** Finds those of the users that exist and are not deleted, in any order. */
  async findByIds(db: Queryable, appId: string, userIds: readonly Int64[]): Promise<FoundUser[]> {
    const keys = userIds.map((userId) => [appId, userId])
    return toFoundUsers(await this.#database.bulk<FoundRow>(db, findByIds, keys))
  }

  /** Finds those of the users that exist, in any order. @param names as {@link usernameKey} */
  async findByNames(db: Queryable, appId: string, names: readonly string[]): Promise<FoundUser[]> {
    const keys = names.map((name) => [appId, name])
    return toFoundUsers(await this.#database.bulk<FoundRow>(db, findByNames, keys))
  }

  /** @returns the taken usernames, as {@link usernameKey} */
  async findTaken(
    db: Queryable,
    appId: string,
    usernames: readonly string[],
  ): Promise<Set<string>> {
    const rows = await this.#database.bulk<{ usernameKey: string }>(
      db,
      findUsernames,
      usernames.map((username) => [appId, usernameKey(username)]),
    )
    return new Set(rows.map((row) => row.usernameKey))
  }

  /** @returns false when the username is taken */
  async insert(tx: Tx, user: NewUser): Promise<boolean> {
    const row: UserToInsert = {
      ...emptyUser,
      ...user,
      username_key: usernameKey(user.username),
    }
    const inserted = await tx
      .insertInto('users')
      .values(row)
      .onConflict((conflict) => conflict.columns(['app_id', 'username_key']).doNothing())
      .returning('user_id')
      .executeTakeFirst()
    if (inserted) await this.#insertBadges(tx, [row])
    return inserted !== undefined
  }

  /** @returns the IDs of the stored users; the names of the others are taken */
  async insertMany(tx: Tx, rows: readonly UserToInsert[]): Promise<Set<Int64>> {
    if (rows.length === 0) return new Set()
    const inserted = await tx
      .insertInto('users')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning('user_id')
      .execute()
    const userIds = new Set(inserted.map((row) => row.user_id))
    await this.#insertBadges(
      tx,
      rows.filter(({ user_id }) => userIds.has(user_id)),
    )
    return userIds
  }

  async #insertBadges(
    tx: Tx,
    rows: readonly Pick<UserToInsert, 'app_id' | 'user_id'>[],
  ): Promise<void> {
    const keys = rows.map(({ app_id, user_id }) => [app_id, user_id])
    await this.#database.bulk(tx, insertBadges, keys)
  }

  /** Sets the badge of a locked user. */
  async setBadge(tx: Tx, { appId, userId }: UserKey, badge: number): Promise<void> {
    await this.#database.bulk(tx, setBadges, [[badge, appId, userId]])
  }

  /**
   * Locks a user for an addition. Until the transaction ends, {@link lockForUpdate} waits, so the
   * user is not deleted, disabled or given another password. Finds deleted users too.
   */
  async lockKeyShare(tx: Tx, appId: string, userId: Int64): Promise<User | null> {
    const found = tx
      .selectFrom('users')
      .select(columns)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
    const row = await lockKeyShareInOrder(tx, found, userId).executeTakeFirst()
    return row ? toUser(row) : null
  }

  /**
   * Makes later calls of {@link lockKeyShare} wait. For a transaction that locks the user next and
   * would otherwise wait for all of them.
   */
  async lockInOrder(tx: Tx, userId: Int64): Promise<void> {
    await lockInOrder(tx, userId)
  }

  /** Same as {@link lockKeyShare} for several users, by user ID. */
  async lockManyKeyShare(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<User[]> {
    return this.#lockMany(tx, lockUsersKeyShare, appId, userIds)
  }

  /**
   * Locks users for changes that end rights or data; waits for {@link lockKeyShare}. By user ID,
   * including deleted users.
   */
  async lockForUpdate(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<User[]> {
    return this.#lockMany(tx, lockUsers, appId, userIds)
  }

  /**
   * Serializes changes around the users; waits for {@link lockForUpdate} but not for {@link
   * lockKeyShare}. By user ID, including deleted users.
   */
  async lockNoKeyUpdate(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<User[]> {
    return this.#lockMany(tx, lockUsersNoKeyUpdate, appId, userIds)
  }

  async #lockMany(
    tx: Tx,
    statement: BulkSelect,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<User[]> {
    const keys = [...new Set(userIds)].sort(compare).map((userId) => [appId, userId])
    const rows = await this.#database.bulk<UserRow>(tx, statement, keys)
    return rows.map(toUser)
  }

  /**
   * Ends the file credentials of users, and their assertions of this instant or before and those
   * that were accepted.
   * @param users current rows, locked by {@link lockForUpdate}
   */
  async endCredentials(tx: Tx, users: readonly User[], at: number): Promise<void> {
    const rows = users.map((user) => [
      user.credentialEpoch + 1,
      endOfAssertions(user, at),
      user.appId,
      user.userId,
    ])
    await this.#database.bulk(tx, endCredentials, rows)
  }

  /** Remembers an accepted assertion of a locked user, so that a revocation refuses it (rule C9). */
  async noteAssertion(tx: Tx, { appId, userId }: UserKey, issuedAt: number): Promise<void> {
    await tx
      .updateTable('users')
      .set({ newest_assertion: issuedAt })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('newest_assertion', '<', issuedAt)
      .execute()
  }

  /** Sets the last broadcast that new users do not see (rule E9). */
  async setBroadcastsAfter(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
    messageId: number,
  ): Promise<void> {
    const rows = [...userIds].sort(compare).map((userId) => [messageId, appId, userId])
    await this.#database.bulk(tx, setBroadcastsAfter, rows)
  }

  /** @returns false when the user does not exist or is deleted */
  async update(tx: Tx, appId: string, userId: Int64, changes: UserChanges): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('users')
      .set(changes)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('deleted_at', 'is', null)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** @returns false when the user has another username or is deleted */
  async updateNamed(
    tx: Tx,
    { appId, userId, username }: UserKey & { readonly username: string },
    changes: UserChanges,
  ): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('users')
      .set(changes)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('username_key', '=', usernameKey(username))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** Erases all data of a user except the ID, which stays known as deleted. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey, at: number): Promise<void> {
    this.#states.forget(tx, { appId, userId })
    await tx
      .deleteFrom('user_badges')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
    await tx
      .updateTable('users')
      .set({
        ...emptyUser,
        deleted_at: at,
      })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }

  /**
   * Locks users for changes of their devices, so that two logins with the same new device follow one
   * another. In the order of the keys.
   * @param skipLocked leaves out users that another transaction has locked
   */
  async lockDeviceLists(
    tx: Tx,
    users: readonly UserKey[],
    { skipLocked }: { readonly skipLocked: boolean },
  ): Promise<DeviceList[]> {
    const statement = skipLocked ? lockFreeDeviceLists : lockDeviceLists
    return this.#database.bulk(tx, statement, users.map(userKeyRow))
  }

  /** Changes the device lists of locked users; the time of the last change grows. */
  async setDeviceLists(tx: Tx, lists: readonly DeviceList[], at: number): Promise<void> {
    const rows = lists.map(({ devicesChangedAt, lastDeviceSn, ...key }) => [
      lastDeviceSn,
      Math.max(at, devicesChangedAt + 1),
      ...userKeyRow(key),
    ])
    await this.#database.bulk(tx, setDeviceLists, rows)
  }

  /** Records a change of the device list. In PostgreSQL this also locks the user's row. */
  async touchDevices(tx: Tx, { appId, userId }: UserKey, at: number): Promise<void> {
    await tx
      .updateTable('users')
      .set({ devices_changed_at: laterThanBefore(at) })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }

  /** Time of the device list's last change; 0: never */
  async findDevicesChangedAt(db: Queryable, { appId, userId }: UserKey): Promise<number> {
    const row = await db
      .selectFrom('users')
      .select('devices_changed_at')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    return row?.devices_changed_at ?? 0
  }

  /** Replaces the hash if it is still `from`. */
  async replacePasswordHash(
    tx: Tx,
    appId: string,
    userId: Int64,
    { from, to }: { from: string; to: string },
  ): Promise<void> {
    const found = tx
      .updateTable('users')
      .set({ password_hash: to })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
    await found.where('password_hash', '=', from).execute()
  }

  async setStatus(tx: Tx, appId: string, userIds: readonly Int64[], status: number): Promise<void> {
    for (const userId of userIds) this.#states.forget(tx, { appId, userId })
    const rows = [...userIds].sort(compare).map((userId) => [status, appId, userId])
    await this.#database.bulk(tx, setStatuses, rows)
  }

  /** Lists users above an ID, by ID, without deleted ones. */
  async list(
    db: Queryable,
    appId: string,
    page: { readonly afterId: Int64; readonly offset: number; readonly limit: number },
  ): Promise<ListedUser[]> {
    return db
      .selectFrom('users')
      .select(camelCase(['user_id', 'username', 'status']))
      .where('app_id', '=', appId)
      .where('user_id', '>', page.afterId)
      .where('deleted_at', 'is', null)
      .orderBy('user_id')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
  }
}

/** Grows with every change, even within one millisecond. */
function laterThanBefore(at: number) {
  return sql<number>`case when devices_changed_at < ${at} then ${at} else devices_changed_at + 1 end`
}

/**
 * Address columns that must be unique; an empty address is null, so that it does not count as
 * taken.
 */
export const addressColumns = {
  mobile: (mobile: string) => ({ mobile: mobile || null, mobile_key: mobileKey(mobile) || null }),
  email: (email: string) => ({ email: email || null, email_key: emailKey(email) || null }),
}

function toFoundUsers(rows: readonly FoundRow[]): FoundUser[] {
  return rows
    .filter(({ deletedAt }) => deletedAt === null)
    .map(({ userId, username, status, isBot }) => ({
      userId,
      username,
      status,
      isBot: isBot === 1,
    }))
}

function toUser(row: UserRow): User {
  return convert(row, {
    mobile: row.mobile ?? '',
    email: row.email ?? '',
    isDeleted: row.deletedAt !== null,
    isBot: row.isBot === 1,
  })
}
