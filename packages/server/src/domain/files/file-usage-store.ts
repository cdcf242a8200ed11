import { camelCase } from '../../db/columns.js'
import type { Queryable, Tx } from '../../db/database.js'
import { sql } from '../../db/kysely.js'

/** The number and total bytes of the files of an app, without renditions. */
export interface UsedSpace {
  readonly files: number
  readonly bytes: number
}

/** The usage of each app: the sums over its files. */
export class FileUsageStore {
  async find(db: Queryable, appId: string): Promise<UsedSpace> {
    const row = await db
      .selectFrom('file_usage')
      .select(['files', 'bytes'])
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row ?? { files: 0, bytes: 0 }
  }

  /** Reports whether the app has a usage, which the first ticket creates; see {@link lock}. */
  async isKept(db: Queryable, appId: string): Promise<boolean> {
    const row = await db
      .selectFrom('file_usage')
      .select('app_id')
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row !== undefined
  }

  /** Lists all apps that ever had a ticket, by their IDs. */
  async list(db: Queryable): Promise<(UsedSpace & { readonly appId: string })[]> {
    return db
      .selectFrom('file_usage')
      .select(camelCase(['app_id', 'files', 'bytes']))
      .orderBy('app_id')
      .execute()
  }

  /**
   * Counts files that this transaction adds, or removes with negative numbers. The row stays locked
   * until the transaction ends.
   * @returns the usage after the change
   */
  async add(tx: Tx, appId: string, { files, bytes }: UsedSpace): Promise<UsedSpace> {
    return tx
      .insertInto('file_usage')
      .values({ app_id: appId, files, bytes })
      .onConflict((conflict) =>
        conflict.column('app_id').doUpdateSet({
          files: sql`file_usage.files + excluded.files`,
          bytes: sql`file_usage.bytes + excluded.bytes`,
        }),
      )
      .returning(['files', 'bytes'])
      .executeTakeFirstOrThrow()
  }

  /** Locks the usage of the app, and creates it when there is none. */
  async lock(tx: Tx, appId: string): Promise<UsedSpace> {
    return this.add(tx, appId, { files: 0, bytes: 0 })
  }
}
