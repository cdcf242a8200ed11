import type { Int64 } from '@hermod/protocol'
import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Database, Executor, Tx } from '../../db/database.js'
import type { UsersTable } from '../../db/schema.js'
import { defaultSettings, type User, type UserSettings, type UserState, usernameKey } from './user-model.js'

type NewUser = Pick<Insertable<UsersTable>, 'app_id' | 'user_id' | 'username' | 'password_hash' | 'created_at'>
type ProfileChanges = Pick<Updateable<UsersTable>, 'nick_name' | 'description' | 'public_info' | 'private_info'>

/** Users, their settings and their push aliases. Deleted users keep their row and ID and nothing else. */
export class UserStore {
  readonly #findById
  readonly #findState

  constructor(database: Database) {
    this.#findById = database.prepared<{ appId: string; userId: Int64 }, Selectable<UsersTable>>((db, param) =>
      db.selectFrom('users').selectAll().where('app_id', '=', param('appId')).where('user_id', '=', param('userId')),
    )
    this.#findState = database.prepared<{ appId: string; userId: Int64 }, Pick<Selectable<UsersTable>, 'status' | 'deleted_at'>>(
      (db, param) =>
        db.selectFrom('users').select(['status', 'deleted_at']).where('app_id', '=', param('appId')).where('user_id', '=', param('userId')),
    )
  }

  /** Also finds deleted users. */
  async find(db: Executor, appId: string, userId: Int64): Promise<User | null> {
    const row = await this.#findById.first(db, { appId, userId })
    return row ? toUser(row) : null
  }

  /** Also finds deleted users. */
  async findState(db: Executor, appId: string, userId: Int64): Promise<UserState | null> {
    const row = await this.#findState.first(db, { appId, userId })
    return row ? { appId, userId, status: row.status, isDeleted: row.deleted_at !== null } : null
  }

  async findBy(db: Executor, appId: string, kind: 'username' | 'mobile' | 'email', value: string): Promise<User | null> {
    const [column, key] = kind === 'username' ? (['username_key', usernameKey(value)] as const) : ([kind, value] as const)
    const row = await db.selectFrom('users').selectAll().where('app_id', '=', appId).where(column, '=', key).executeTakeFirst()
    return row ? toUser(row) : null
  }

  /** @returns those of the usernames that are taken, as {@link usernameKey} */
  async findTaken(db: Executor, appId: string, usernames: readonly string[]): Promise<Set<string>> {
    if (usernames.length === 0) return new Set()
    const rows = await db
      .selectFrom('users')
      .select('username_key')
      .where('app_id', '=', appId)
      .where('username_key', 'in', usernames.map(usernameKey))
      .execute()
    return new Set(rows.map((row) => row.username_key ?? ''))
  }

  /** @returns false when the username is taken */
  async insert(tx: Tx, user: NewUser): Promise<boolean> {
    const row: Insertable<UsersTable> = { ...emptyUser, ...user, username_key: usernameKey(user.username) }
    const inserted = await tx
      .insertInto('users')
      .values(row)
      .onConflict((conflict) => conflict.columns(['app_id', 'username_key']).doNothing())
      .returning('user_id')
      .executeTakeFirst()
    return inserted !== undefined
  }

  /** @returns false when there is no such user, or it was deleted */
  async updateProfile(tx: Tx, appId: string, userId: Int64, changes: ProfileChanges): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('users')
      .set(changes)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('deleted_at', 'is', null)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  async setStatus(tx: Tx, appId: string, userIds: readonly Int64[], status: number): Promise<void> {
    await tx.updateTable('users').set({ status }).where('app_id', '=', appId).where('user_id', 'in', userIds).execute()
  }

  /** By user ID; deleted users are left out. */
  async list(
    db: Executor,
    appId: string,
    page: { offset: number; limit: number },
  ): Promise<{ userId: Int64; username: string; status: number }[]> {
    const rows = await db
      .selectFrom('users')
      .select(['user_id', 'username', 'status'])
      .where('app_id', '=', appId)
      .where('deleted_at', 'is', null)
      .orderBy('user_id')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    return rows.map((row) => ({ userId: row.user_id, username: row.username, status: row.status }))
  }

  /** @returns null when the user never changed a setting */
  async findSettings(db: Executor, appId: string, userId: Int64): Promise<UserSettings | null> {
    const row = await db
      .selectFrom('user_settings')
      .selectAll()
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    if (!row) return null
    const { app_id: _, user_id: __, ...settings } = row
    return settings
  }

  async saveSettings(tx: Tx, appId: string, userId: Int64, changes: Partial<UserSettings>): Promise<void> {
    await tx
      .insertInto('user_settings')
      .values({ ...defaultSettings, ...changes, app_id: appId, user_id: userId })
      .onConflict((conflict) => conflict.columns(['app_id', 'user_id']).doUpdateSet(changes))
      .execute()
  }

  /** @returns false when the alias belongs to another user */
  async bindAlias(tx: Tx, appId: string, alias: string, userId: Int64): Promise<boolean> {
    await tx
      .insertInto('push_aliases')
      .values({ app_id: appId, alias, user_id: userId })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const row = await tx
      .selectFrom('push_aliases')
      .select('user_id')
      .where('app_id', '=', appId)
      .where('alias', '=', alias)
      .executeTakeFirst()
    return row?.user_id === userId
  }
}

const emptyUser = {
  status: 0,
  nick_name: '',
  avatar: '',
  description: '',
  public_info: '',
  private_info: '',
  mobile: null,
  email: null,
  last_device_sn: 0,
  credential_epoch: 0,
  badge: 0,
  deleted_at: null,
}

function toUser(row: Selectable<UsersTable>): User {
  return {
    appId: row.app_id,
    userId: row.user_id,
    username: row.username,
    passwordHash: row.password_hash,
    status: row.status,
    nickName: row.nick_name,
    avatar: row.avatar,
    description: row.description,
    publicInfo: row.public_info,
    privateInfo: row.private_info,
    mobile: row.mobile ?? '',
    email: row.email ?? '',
    credentialEpoch: row.credential_epoch,
    isDeleted: row.deleted_at !== null,
  }
}
