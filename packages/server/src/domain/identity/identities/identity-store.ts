import type { Int64 } from '@hermod/protocol'
import {
  camelCase,
  camelCaseText,
  columnsOf,
  snakeCase,
  type TableRow,
} from '../../../db/columns.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkInsert, BulkSelect } from '../../../db/dialect/dialect.js'
import { userIdentitiesTable } from '../../../db/schema.js'
import { compare } from '../../../lib/compare.js'
import type { UserKey } from '../../users/user-model.js'
import type { Subject } from './identity-model.js'

/** A subject that is linked to a user; times in ms. */
export type Identity = TableRow<typeof userIdentitiesTable>

const insertAll: BulkInsert = { table: 'user_identities', columns: userIdentitiesTable }
const findAll: BulkSelect = {
  table: 'user_identities',
  keys: columnsOf(userIdentitiesTable, 'app_id', 'issuer', 'subject'),
  columns: camelCaseText(userIdentitiesTable, 't'),
}
const findOfUsers: BulkSelect = {
  ...findAll,
  keys: columnsOf(userIdentitiesTable, 'app_id', 'user_id'),
}

/** The subjects of issuers, and the user of each. */
export class IdentityStore {
  readonly #database: Database
  readonly #find

  constructor(database: Database) {
    this.#database = database
    this.#find = database.prepared<Subject, { readonly userId: Int64 }>((db, param) =>
      db
        .selectFrom('user_identities')
        .select(camelCase(['user_id']))
        .where('app_id', '=', param('appId'))
        .where('issuer', '=', param('issuer'))
        .where('subject', '=', param('subject')),
    )
  }

  /** Returns the user of a subject; null: no user has it. */
  async findUser(db: Queryable, { appId, issuer, subject }: Subject): Promise<Int64 | null> {
    return (await this.#find.first(db, { appId, issuer, subject }))?.userId ?? null
  }

  /** The identities of a user, by the time of the link. */
  async list(db: Queryable, { appId, userId }: UserKey): Promise<Identity[]> {
    return this.listOfUsers(db, appId, [userId])
  }

  /** The identities of users, by the time of the link. */
  async listOfUsers(db: Queryable, appId: string, userIds: readonly Int64[]): Promise<Identity[]> {
    const keys = userIds.map((userId) => [appId, userId])
    const rows = await this.#database.bulk<Identity>(db, findOfUsers, keys)
    return rows.sort(
      (a, b) =>
        compare(a.linkedAt, b.linkedAt) ||
        compare(a.issuer, b.issuer) ||
        compare(a.subject, b.subject),
    )
  }

  /** Finds those of the subjects that users have. */
  async findMany(db: Queryable, subjects: readonly Subject[]): Promise<Identity[]> {
    const keys = subjects.map(({ appId, issuer, subject }) => [appId, issuer, subject])
    return this.#database.bulk<Identity>(db, findAll, keys)
  }

  /** Inserts identities; one that a user has already is a violation of the key. */
  async insertMany(tx: Tx, identities: readonly Identity[]): Promise<void> {
    const rows = identities.map(({ appId, issuer, subject, userId, linkedAt }) => [
      appId,
      issuer,
      subject,
      userId,
      linkedAt,
    ])
    await this.#database.bulk(tx, insertAll, rows)
  }

  /** @returns false when a user has the subject already */
  async insert(tx: Tx, identity: Identity): Promise<boolean> {
    const inserted = await tx
      .insertInto('user_identities')
      .values(snakeCase(userIdentitiesTable, identity))
      .onConflict((conflict) => conflict.columns(['app_id', 'issuer', 'subject']).doNothing())
      .returning('user_id')
      .executeTakeFirst()
    return inserted !== undefined
  }

  async delete(tx: Tx, { appId, issuer, subject }: Subject): Promise<void> {
    await tx
      .deleteFrom('user_identities')
      .where('app_id', '=', appId)
      .where('issuer', '=', issuer)
      .where('subject', '=', subject)
      .execute()
  }

  /**
   * Moves all identities of an issuer to another name.
   * @returns their number; null when there are identities of that name already
   */
  async renameIssuer(
    tx: Tx,
    { appId, from, to }: { readonly appId: string; readonly from: string; readonly to: string },
  ): Promise<number | null> {
    const taken = await tx
      .selectFrom('user_identities')
      .select('user_id')
      .where('app_id', '=', appId)
      .where('issuer', '=', to)
      .limit(1)
      .executeTakeFirst()
    if (taken) return null
    const { numUpdatedRows } = await tx
      .updateTable('user_identities')
      .set({ issuer: to })
      .where('app_id', '=', appId)
      .where('issuer', '=', from)
      .executeTakeFirst()
    return Number(numUpdatedRows)
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('user_identities')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}
