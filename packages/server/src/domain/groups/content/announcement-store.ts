import type { Int64 } from '@hermod/protocol'
import { camelCase, snakeCase } from '../../../db/columns.js'
import type { Queryable, Tx } from '../../../db/database.js'
import { groupAnnouncementsTable } from '../../../db/schema.js'
import type { GroupAnnouncement, GroupKey } from '../core/group-model.js'
import type { UserKey } from '../../users/user-model.js'
import { isGroup } from '../core/group-store.js'

const columns = camelCase(groupAnnouncementsTable)

/** Announcements of groups; their IDs grow in the order of publication. */
export class AnnouncementStore {
  async find(
    db: Queryable,
    group: GroupKey,
    announcementId: Int64,
  ): Promise<GroupAnnouncement | null> {
    const found = db
      .selectFrom('group_announcements')
      .select(columns)
      .where(isGroup(group))
      .where('announcement_id', '=', announcementId as number)
    const row = await found.executeTakeFirst()
    return row ?? null
  }

  async findLast(db: Queryable, group: GroupKey): Promise<GroupAnnouncement | null> {
    const found = db
      .selectFrom('group_announcements')
      .select(columns)
      .where(isGroup(group))
      .orderBy('announcement_id', 'desc')
      .limit(1)
    const row = await found.executeTakeFirst()
    return row ?? null
  }

  /** Lists oldest first. */
  async list(db: Queryable, group: GroupKey): Promise<GroupAnnouncement[]> {
    return db
      .selectFrom('group_announcements')
      .select(columns)
      .where(isGroup(group))
      .orderBy('announcement_id')
      .execute()
  }

  /** Lists announcements of an author in all groups, in no particular order. */
  async listOfAuthor(
    db: Queryable,
    { appId, userId }: UserKey,
    limit: number,
  ): Promise<Pick<GroupAnnouncement, 'groupId' | 'announcementId'>[]> {
    return db
      .selectFrom('group_announcements')
      .select(camelCase(['group_id', 'announcement_id']))
      .where('app_id', '=', appId)
      .where('author_id', '=', userId)
      .limit(limit)
      .execute()
  }

  async insert(
    tx: Tx,
    { appId, groupId }: GroupKey,
    announcement: Omit<GroupAnnouncement, 'groupId'>,
  ): Promise<void> {
    const row = snakeCase(groupAnnouncementsTable, { ...announcement, appId, groupId })
    await tx.insertInto('group_announcements').values(row).execute()
  }

  /** Deletes all but the newest `kept` announcements. */
  async trim(tx: Tx, group: GroupKey, kept: number): Promise<void> {
    const tooOld = tx
      .selectFrom('group_announcements')
      .select('announcement_id')
      .where(isGroup(group))
      .orderBy('announcement_id', 'desc')
      .limit(1)
      .offset(kept)
    await tx
      .deleteFrom('group_announcements')
      .where(isGroup(group))
      .where('announcement_id', '<=', tooOld)
      .execute()
  }

  async delete(tx: Tx, group: GroupKey, announcementId: number): Promise<void> {
    await tx
      .deleteFrom('group_announcements')
      .where(isGroup(group))
      .where('announcement_id', '=', announcementId)
      .execute()
  }
}
