import { ExportedUser, type Int64, userStatus } from '@hermod/protocol'
import type { Queryable } from '../../../db/database.js'
import { type Insertable, type RawBuilder, type Selectable, sql } from '../../../db/kysely.js'
import { emptyUser } from '../../../db/personal-data.js'
import type { Schema } from '../../../db/schema.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'
import { emailKey, mobileKey, usernameKey } from '../user-model.js'
import { addressColumns } from '../user-store.js'
import type { NameOwner, Profile, UserToImport } from './user-import-model.js'

type ProfileColumns = Omit<Profile, 'mobile' | 'email'> &
  Partial<Pick<Schema['users'], 'mobile' | 'mobile_key' | 'email' | 'email_key'>>
type NamedUser = Pick<UserToImport, 'username' | 'profile'>

type ExportedColumn = Exclude<keyof ExportedUser, 'identities' | 'has_password'>

const exportedColumns = Object.keys(ExportedUser.properties).filter(
  (name) => name !== 'identities' && name !== 'has_password',
) as ExportedColumn[]

/** A user as exported. */
export type ExportedRow = Readonly<Pick<Selectable<Schema['users']>, ExportedColumn>>

type OwnerRow = Omit<NameOwner, 'userId'> & { readonly user_id: Int64 | null }

/** Looks up users by the hundred. */
export class UserImportStore {
  /**
   * Finds the owners of the usernames, mobile numbers and e-mail addresses of entries. Uses one
   * statement, so that it sees all names of a concurrently added user or none.
   */
  async findOwners(
    db: Queryable,
    appId: string,
    entries: readonly NamedUser[],
  ): Promise<NameOwner[]> {
    const given = (field: 'mobile' | 'email') =>
      entries.flatMap(({ profile }) => profile[field] || [])
    const names = {
      username_key: entries.map(({ username }) => usernameKey(username)),
      mobile_key: given('mobile').map(mobileKey),
      email_key: given('email').map(emailKey),
    }
    const looks = Object.entries(names).flatMap(([field, values]) =>
      values.length === 0 ? [] : [ownersOf(appId, field, values)],
    )
    if (looks.length === 0) return []
    const { rows } = await sql<OwnerRow>`${sql.join(looks, sql` union all `)}`.execute(db)
    return rows.flatMap(({ field, value, user_id: userId }) =>
      userId === null ? [] : [{ field, value, userId }],
    )
  }

  /** Lists users after an ID, by ID, without deleted ones. */
  async list(
    db: Queryable,
    appId: string,
    { after, limit }: { after: number; limit: number },
  ): Promise<ExportedRow[]> {
    return db
      .selectFrom('users')
      .select(exportedColumns)
      .where('app_id', '=', appId)
      .where('user_id', '>', after)
      .where('deleted_at', 'is', null)
      .orderBy('user_id')
      .limit(limit)
      .execute()
  }
}

// One subquery per value: a condition with all values would make PostgreSQL read every user of the
// app.
function ownersOf(appId: string, field: string, values: readonly string[]): RawBuilder<unknown> {
  const given = sql.join(paddedForPlanCache(values).map((value) => sql`(${value})`))
  const owner = sql`select u.user_id from users u where u.app_id = ${appId} and u.${sql.ref(field)} = k.value`
  return sql`select ${sql.lit(field)} as field, k.value, (${owner}) as user_id from (select column1 as value from (values ${given}) as v) as k`
}

/**
 * Builds the row of a new user.
 * @param at creation time when the import states none
 */
export function importedRow(
  appId: string,
  userId: Int64,
  user: UserToImport,
  at: number,
): Insertable<Schema['users']> {
  const { username, passwordHash = '', profile, createdAt = 0, isBot = false } = user
  return {
    ...emptyUser,
    ...profileColumns(profile),
    app_id: appId,
    user_id: userId,
    username,
    username_key: usernameKey(username),
    password_hash: passwordHash,
    status: user.status ?? userStatus.normal,
    created_at: createdAt === 0 ? at : createdAt,
    is_bot: isBot ? 1 : 0,
  }
}

/** Returns the columns of a profile; omitted fields are left out. */
export function profileColumns({ mobile, email, ...others }: Profile): ProfileColumns {
  return {
    ...others,
    ...(mobile === undefined ? {} : addressColumns.mobile(mobile)),
    ...(email === undefined ? {} : addressColumns.email(email)),
  }
}
