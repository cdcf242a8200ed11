import type { Int64 } from '@hermod/protocol'
import type { Insertable, Selectable } from 'kysely'
import type { Database, Executor, Tx } from '../../db/database.js'
import type { UsersTable } from '../../db/schema.js'
import type { KnownUser, NewUser, Profile } from './user-import-model.js'
import { usernameKey } from './user-model.js'
import { emptyUser } from './user-store.js'

type ProfileColumns = { [Field in keyof Profile]: Field extends 'mobile' | 'email' ? string | null : string }
type NamedUser = Pick<NewUser, 'username' | 'profile'>

export interface ExportedRow {
  readonly user_id: Int64
  readonly username: string
  readonly nick_name: string
  readonly avatar: string
  readonly description: string
  readonly mobile: string | null
  readonly email: string | null
  readonly public_info: string
  readonly private_info: string
  readonly status: number
  readonly created_at: number
  readonly password_hash: string
}

const knownColumns = ['user_id', 'username_key', 'mobile', 'email'] as const

/** Users by the hundred. */
export class UserImportStore {
  constructor(private readonly database: Database) {}

  /**
   * Those who have a username, mobile number or e-mail address of the entries.
   * @param options.lock keeps others from changing them until the transaction ends
   */
  async findKnown(db: Executor, appId: string, entries: readonly NamedUser[], { lock = false } = {}): Promise<KnownUser[]> {
    const given = (field: 'mobile' | 'email') => entries.flatMap(({ profile }) => profile[field] || [])
    const usernames = entries.map(({ username }) => usernameKey(username))
    // One look for each name: all names in one condition would make the databases read every user of the application.
    const found = [
      ...(await this.#findBy(db, appId, 'username_key', usernames)),
      ...(await this.#findBy(db, appId, 'mobile', given('mobile'))),
      ...(await this.#findBy(db, appId, 'email', given('email'))),
    ]
    if (!lock || !this.database.dialect.rowLocks || found.length === 0) return found
    const userIds = found.map(({ userId }) => userId)
    const rows = await db
      .selectFrom('users')
      .select(knownColumns)
      .where('app_id', '=', appId)
      .where('user_id', 'in', userIds)
      .orderBy('user_id')
      .forUpdate()
      .execute()
    return rows.map(toKnownUser)
  }

  /** @returns the IDs of those who are stored; the others have a name that is taken */
  async insert(tx: Tx, appId: string, users: readonly (NewUser & { readonly userId: Int64; readonly at: number })[]): Promise<Set<Int64>> {
    if (users.length === 0) return new Set()
    const rows = users.map(
      ({ userId, username, passwordHash = '', profile, status = 0, createdAt = 0, at }): Insertable<UsersTable> => ({
        ...emptyUser,
        ...toColumns(profile),
        app_id: appId,
        user_id: userId,
        username,
        username_key: usernameKey(username),
        password_hash: passwordHash,
        status,
        created_at: createdAt === 0 ? at : createdAt,
      }),
    )
    const inserted = await tx
      .insertInto('users')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning('user_id')
      .execute()
    return new Set(inserted.map((row) => row.user_id))
  }

  async updateProfile(tx: Tx, appId: string, userId: Int64, profile: Profile): Promise<void> {
    const columns = toColumns(profile)
    if (Object.keys(columns).length === 0) return
    await tx.updateTable('users').set(columns).where('app_id', '=', appId).where('user_id', '=', userId).execute()
  }

  async #findBy(db: Executor, appId: string, column: 'username_key' | 'mobile' | 'email', values: readonly string[]): Promise<KnownUser[]> {
    if (values.length === 0) return []
    const rows = await db.selectFrom('users').select(knownColumns).where('app_id', '=', appId).where(column, 'in', values).execute()
    return rows.map(toKnownUser)
  }

  /** Users after an ID, by ID; deleted ones are left out. */
  async list(db: Executor, appId: string, { after, limit }: { after: number; limit: number }): Promise<ExportedRow[]> {
    return db
      .selectFrom('users')
      .select(['user_id', 'username', 'nick_name', 'avatar', 'description', 'mobile', 'email', 'public_info', 'private_info'])
      .select(['status', 'created_at', 'password_hash'])
      .where('app_id', '=', appId)
      .where('user_id', '>', after)
      .where('deleted_at', 'is', null)
      .orderBy('user_id')
      .limit(limit)
      .execute()
  }
}

function toKnownUser({ user_id, username_key, mobile, email }: Pick<Selectable<UsersTable>, (typeof knownColumns)[number]>): KnownUser {
  return { userId: user_id, usernameKey: username_key ?? '', mobile: mobile ?? '', email: email ?? '' }
}

/** An address that nobody has is null, so that it is unique. */
function toColumns({ mobile, email, ...others }: Profile): ProfileColumns {
  const addresses = {
    ...(mobile === undefined ? {} : { mobile: mobile || null }),
    ...(email === undefined ? {} : { email: email || null }),
  }
  return { ...others, ...addresses }
}
