import type { Queryable, Tx } from '../../db/database.js'
import { sql } from '../../db/kysely.js'

/** How many files an app has, and their bytes together; renditions do not count. */
export interface UsedSpace {
  readonly files: number
  readonly bytes: number
}

/** The usage of each app: what the rows of files add up to. */
export class FileUsageStore {
  async find(db: Queryable, appId: string): Promise<UsedSpace> {
    const row = await db
      .selectFrom('file_usage')
      .select(['files', 'bytes'])
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row ?? { files: 0, bytes: 0 }
  }

  /** Whether there is a usage: from the first ticket of the app on, see {@link lock}. */
  async isKept(db: Queryable, appId: string): Promise<boolean> {
    const row = await db
      .selectFrom('file_usage')
      .select('app_id')
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row !== undefined
  }

  /** Of all apps that ever had a ticket, by their IDs. */
  async list(db: Queryable): Promise<(UsedSpace & { readonly appId: string })[]> {
    return db
      .selectFrom('file_usage')
      .select(['app_id as appId', 'files', 'bytes'])
      .orderBy('app_id')
      .execute()
  }

  /**
   * Counts files that come in this transaction, or with negative numbers go. Until it ends nobody else counts any.
   * @returns the usage with them
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

  /** As {@link add} of nothing. */
  async lock(tx: Tx, appId: string): Promise<UsedSpace> {
    return this.add(tx, appId, { files: 0, bytes: 0 })
  }
}
