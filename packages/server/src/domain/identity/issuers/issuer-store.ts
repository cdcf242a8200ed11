import { camelCase, convert, snakeCase, type TableRow } from '../../../db/columns.js'
import type { Queryable, Tx } from '../../../db/database.js'
import { identityIssuersTable } from '../../../db/schema.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import type { Issuer, IssuerKey } from './issuer-model.js'

const columns = camelCase(identityIssuersTable)

/** The issuers of applications. */
export class IssuerStore {
  constructor(private readonly cache: Invalidates<string>) {}

  /** Lists the issuers of an application by name. */
  async list(db: Queryable, appId: string): Promise<Issuer[]> {
    const rows = await db
      .selectFrom('identity_issuers')
      .select(columns)
      .where('app_id', '=', appId)
      .orderBy('issuer')
      .execute()
    return rows.map(toIssuer)
  }

  /** Lists the issuers of all applications. */
  async listAll(db: Queryable): Promise<Issuer[]> {
    const rows = await db
      .selectFrom('identity_issuers')
      .select(columns)
      .orderBy('app_id')
      .orderBy('issuer')
      .execute()
    return rows.map(toIssuer)
  }

  async find(db: Queryable, { appId, issuer }: IssuerKey): Promise<Issuer | null> {
    const row = await db
      .selectFrom('identity_issuers')
      .select(columns)
      .where('app_id', '=', appId)
      .where('issuer', '=', issuer)
      .executeTakeFirst()
    return row ? toIssuer(row) : null
  }

  /** The caller has locked the application. */
  async insert(tx: Tx, issuer: Issuer): Promise<void> {
    this.cache.forget(tx, issuer.appId)
    const row = { ...issuer, settings: JSON.stringify(issuer.settings) }
    await tx.insertInto('identity_issuers').values(snakeCase(identityIssuersTable, row)).execute()
  }

  /** @returns false when there is none */
  async delete(tx: Tx, { appId, issuer }: IssuerKey): Promise<boolean> {
    this.cache.forget(tx, appId)
    const { numDeletedRows } = await tx
      .deleteFrom('identity_issuers')
      .where('app_id', '=', appId)
      .where('issuer', '=', issuer)
      .executeTakeFirst()
    return numDeletedRows > 0n
  }

  /** Replaces the encrypted secrets if they are still `before`. */
  async reseal(tx: Tx, appId: string, before: string, sealed: string): Promise<void> {
    this.cache.forget(tx, appId)
    await tx
      .updateTable('identity_issuers')
      .set({ sealed })
      .where('app_id', '=', appId)
      .where('sealed', '=', before)
      .execute()
  }
}

function toIssuer(row: TableRow<typeof identityIssuersTable>): Issuer {
  return convert(row, { settings: JSON.parse(row.settings) })
}
