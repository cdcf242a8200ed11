import type { Int64 } from '@hermod/protocol'
import type { Queryable, Tx } from '../../../db/database.js'
import type { Selectable } from '../../../db/kysely.js'
import type { GroupAnnouncementsTable } from '../../../db/schema.js'
import type { GroupAnnouncement, GroupKey } from '../core/group-model.js'
import { isGroup } from '../core/group-store.js'

/** Announcements of groups; their IDs grow in the order of publication. */
export class AnnouncementStore {
  async find(
    db: Queryable,
    group: GroupKey,
    announcementId: Int64,
  ): Promise<GroupAnnouncement | null> {
    const found = db
      .selectFrom('group_announcements')
      .selectAll()
      .where(isGroup(group))
      .where('announcement_id', '=', announcementId as number)
    const row = await found.executeTakeFirst()
    return row ? toAnnouncement(row) : null
  }

  async findLast(db: Queryable, group: GroupKey): Promise<GroupAnnouncement | null> {
    const found = db
      .selectFrom('group_announcements')
      .selectAll()
      .where(isGroup(group))
      .orderBy('announcement_id', 'desc')
      .limit(1)
    const row = await found.executeTakeFirst()
    return row ? toAnnouncement(row) : null
  }

  /** Lists oldest first. */
  async list(db: Queryable, group: GroupKey): Promise<GroupAnnouncement[]> {
    const rows = await db
      .selectFrom('group_announcements')
      .selectAll()
      .where(isGroup(group))
      .orderBy('announcement_id')
      .execute()
    return rows.map(toAnnouncement)
  }

  async insert(
    tx: Tx,
    { appId, groupId }: GroupKey,
    announcement: Omit<GroupAnnouncement, 'groupId'>,
  ): Promise<void> {
    const { announcementId, authorId, title, content, createdAt } = announcement
    await tx
      .insertInto('group_announcements')
      .values({
        app_id: appId,
        group_id: groupId,
        announcement_id: announcementId,
        author_id: authorId,
        title,
        content,
        created_at: createdAt,
      })
      .execute()
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

function toAnnouncement(row: Selectable<GroupAnnouncementsTable>): GroupAnnouncement {
  return {
    groupId: row.group_id,
    announcementId: row.announcement_id,
    authorId: row.author_id,
    title: row.title,
    content: row.content,
    createdAt: row.created_at,
  }
}
