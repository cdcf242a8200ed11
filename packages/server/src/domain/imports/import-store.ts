import { AppError } from '@hermod/protocol'
import { camelCase, camelCaseText, columnsOf } from '../../db/columns.js'
import type { Database, Queryable, Tx } from '../../db/database.js'
import type { BulkInsert, BulkSelect } from '../../db/dialect/dialect.js'
import { sql } from '../../db/kysely.js'
import { lockForUpdate } from '../../db/locking.js'
import { rowOf } from '../../db/rows.js'
import { importedItemsTable, importedMinutesTable, importsTable } from '../../db/schema.js'
import type { UserKey } from '../users/user-model.js'
import type { Import, ImportedItem, ImportKey } from './import-model.js'

const columns = camelCase(importsTable)

const itemKey = columnsOf(importedItemsTable, 'app_id', 'source', 'kind', 'external_id')
const itemKeyRow = rowOf(itemKey)
const findItems: BulkSelect = {
  table: 'imported_items',
  keys: itemKey,
  columns: camelCaseText(importedItemsTable, 't'),
}
const insertItems: BulkInsert = { table: 'imported_items', columns: importedItemsTable }
const itemRow = rowOf(importedItemsTable)

const takeIds: BulkInsert = {
  table: 'imported_minutes',
  columns: importedMinutesTable,
  conflict: 'on conflict (app_id, minute) do update set used = t.used + excluded.used',
  returning: 'minute, used',
}
const minuteRow = rowOf(importedMinutesTable)

/** Imports from other systems, with what they have stored so far. */
export class ImportStore {
  constructor(private readonly database: Database) {}

  /**
   * Begins an import, unless it has begun, and locks it: its calls run one after another.
   * @throws AppError import_finished
   */
  async open(tx: Tx, { appId, source }: ImportKey, now: number): Promise<Import> {
    const begun = {
      app_id: appId,
      source,
      item_groups: 0,
      item_messages: 0,
      started_at: now,
      updated_at: now,
      finished_at: null,
      position: 0,
    }
    await tx
      .insertInto('imports')
      .values(begun)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const found = await this.lock(tx, { appId, source })
    if (!found) throw new Error('an import has vanished')
    if (found.finishedAt !== null) throw new AppError('import_finished')
    return found
  }

  /** Locks an import. @returns null when it has not begun */
  async lock(tx: Tx, { appId, source }: ImportKey): Promise<Import | null> {
    const found = tx
      .selectFrom('imports')
      .select(columns)
      .where('app_id', '=', appId)
      .where('source', '=', source)
    return (await lockForUpdate(tx, found).executeTakeFirst()) ?? null
  }

  /** Lists the imports of an app by source. */
  async list(db: Queryable, appId: string): Promise<Import[]> {
    return db
      .selectFrom('imports')
      .select(columns)
      .where('app_id', '=', appId)
      .orderBy('source')
      .execute()
  }

  /** Counts what a call has stored. The import is locked. */
  async count(
    tx: Tx,
    { appId, source }: ImportKey,
    { groups = 0, messages = 0, now }: { groups?: number; messages?: number; now: number },
  ): Promise<void> {
    await tx
      .updateTable('imports')
      .set({
        item_groups: sql<number>`item_groups + ${groups}`,
        item_messages: sql<number>`item_messages + ${messages}`,
        updated_at: now,
      })
      .where('app_id', '=', appId)
      .where('source', '=', source)
      .execute()
  }

  /** Finishes a locked import. @param position clients that synced before it read their lists anew */
  async finish(
    tx: Tx,
    { appId, source }: ImportKey,
    { finishedAt, position }: { readonly finishedAt: number; readonly position: number },
  ): Promise<void> {
    await tx
      .updateTable('imports')
      .set({ finished_at: finishedAt, position })
      .where('app_id', '=', appId)
      .where('source', '=', source)
      .execute()
  }

  /** Finds items by their external IDs; unknown ones are left out. */
  async findItems(
    db: Queryable,
    { appId, source }: ImportKey,
    { kind, externalIds }: { readonly kind: number; readonly externalIds: Iterable<string> },
  ): Promise<Map<string, ImportedItem>> {
    const rows = await this.database.bulk<ImportedItem>(
      db,
      findItems,
      [...new Set(externalIds)].map((externalId) =>
        itemKeyRow({ appId, source, kind, externalId }),
      ),
    )
    return new Map(rows.map((row) => [row.externalId, row]))
  }

  /** Records items. The import is locked. */
  async insertItems(tx: Tx, items: readonly ImportedItem[]): Promise<void> {
    await this.database.bulk(tx, insertItems, items.map(itemRow))
  }

  /**
   * Takes the next numbers of imported messages in minutes of an app.
   * @param counts the numbers to take, by minute since the epoch of IDs
   * @returns the first of the taken numbers, by minute
   */
  async takeNumbers(
    tx: Tx,
    appId: string,
    counts: ReadonlyMap<number, number>,
  ): Promise<Map<number, number>> {
    const rows = await this.database.bulk<{ minute: number; used: number }>(
      tx,
      takeIds,
      [...counts]
        .sort(([a], [b]) => a - b)
        .map(([minute, used]) => minuteRow({ appId, minute, used })),
    )
    return new Map(rows.map(({ minute, used }) => [minute, used - (counts.get(minute) ?? 0)]))
  }

  /** Forgets items of an import. @returns the number of deleted rows */
  async deleteItems(tx: Tx, { appId, source }: ImportKey, limit: number): Promise<number> {
    // By the whole key: PostgreSQL has no statistics of a table that was just filled, and would compare
    // each row with each.
    const { numAffectedRows } = await sql`
      delete from imported_items where (app_id, source, kind, external_id) in (
        select app_id, source, kind, external_id from imported_items
        where app_id = ${appId} and source = ${source} limit ${limit})`.execute(tx)
    return Number(numAffectedRows ?? 0)
  }

  /** Forgets the external IDs of the messages of a user. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('imported_items')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}
