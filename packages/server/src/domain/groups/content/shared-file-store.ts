import type { Int64 } from '@hermod/protocol'
import { camelCase, convert, snakeCase, type TableRow } from '../../../db/columns.js'
import type { Queryable, Tx } from '../../../db/database.js'
import { groupFilesTable } from '../../../db/schema.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'
import { toInt64 } from '../../../lib/ids/int64.js'
import type { GroupFile, GroupKey } from '../core/group-model.js'
import type { UserKey } from '../../users/user-model.js'
import { isGroup } from '../core/group-store.js'

const columns = camelCase(groupFilesTable)

/** Metadata of the files that are shared in groups. */
export class SharedFileStore {
  /** Returns those of the files that belong to the group. */
  async findMany(
    db: Queryable,
    group: GroupKey,
    fileIds: readonly Int64[],
  ): Promise<Map<Int64, GroupFile>> {
    if (fileIds.length === 0) return new Map()
    const rows = await db
      .selectFrom('group_files')
      .select(columns)
      .where(isGroup(group))
      .where('file_id', 'in', paddedForPlanCache(fileIds) as number[])
      .execute()
    return new Map(rows.map((row) => [row.fileId, toSharedFile(row)]))
  }

  /** Lists oldest first. */
  async list(db: Queryable, group: GroupKey): Promise<GroupFile[]> {
    const rows = await db
      .selectFrom('group_files')
      .select(columns)
      .where(isGroup(group))
      .orderBy('file_id')
      .execute()
    return rows.map(toSharedFile)
  }

  /** Lists files that a user has shared in all groups, in no particular order. */
  async listOfUploader(
    db: Queryable,
    { appId, userId }: UserKey,
    limit: number,
  ): Promise<Pick<GroupFile, 'groupId' | 'fileId'>[]> {
    return db
      .selectFrom('group_files')
      .select(camelCase(['group_id', 'file_id']))
      .where('app_id', '=', appId)
      .where('uploader_id', '=', userId)
      .limit(limit)
      .execute()
  }

  async count(tx: Tx, group: GroupKey): Promise<number> {
    const found = tx
      .selectFrom('group_files')
      .select(tx.fn.countAll().as('count'))
      .where(isGroup(group))
    return Number((await found.executeTakeFirstOrThrow()).count)
  }

  async insert(tx: Tx, { appId, groupId }: GroupKey, file: GroupFile): Promise<void> {
    const row = snakeCase(groupFilesTable, { ...file, appId, groupId, size: `${file.size}` })
    await tx.insertInto('group_files').values(row).execute()
  }

  async rename(tx: Tx, group: GroupKey, fileId: number, name: string, now: number): Promise<void> {
    await tx
      .updateTable('group_files')
      .set({ name, updated_at: now })
      .where(isGroup(group))
      .where('file_id', '=', fileId)
      .execute()
  }

  async delete(tx: Tx, group: GroupKey, fileIds: readonly number[]): Promise<void> {
    if (fileIds.length === 0) return
    await tx
      .deleteFrom('group_files')
      .where(isGroup(group))
      .where('file_id', 'in', paddedForPlanCache(fileIds))
      .execute()
  }
}

function toSharedFile(row: TableRow<typeof groupFilesTable>): GroupFile {
  return convert(row, { size: toInt64(row.size) })
}
