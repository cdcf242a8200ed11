import { AppError, type Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import type { GroupAccess, GroupCaller, GroupContext } from '../core/group-access.js'
import type { GroupEvents } from '../core/group-events.js'
import { type GroupAnnouncement, groupEvent } from '../core/group-model.js'
import type { AnnouncementStore } from './announcement-store.js'

interface AnnouncementServiceOptions {
  readonly access: GroupAccess
  readonly announcements: AnnouncementStore
  readonly events: GroupEvents
  readonly ids: IdGenerator
}

/** Limit that keeps the list, which has no pages, small enough for one answer. */
const keptPerGroup = 500

/** Announcements of groups. */
export class AnnouncementService {
  constructor(private readonly options: AnnouncementServiceOptions) {}

  /**
   * Publishes an announcement (rule F4a) and deletes the oldest ones beyond 500.
   * @throws AppError group_not_found, group_admin_required
   */
  async publish(
    caller: GroupCaller,
    groupId: Int64,
    text: Pick<GroupAnnouncement, 'title' | 'content'>,
  ): Promise<GroupAnnouncement> {
    const { access, announcements, ids } = this.options
    return access.change(caller, groupId, 'announce', {}, async (tx, context) => {
      const { group, now } = context
      const last = await announcements.findLast(tx, group)
      const [announcementId] = ids.takeReserved(1, last?.announcementId) as [number]
      const announcement = {
        groupId: group.groupId,
        announcementId,
        authorId: caller.actorId,
        ...text,
        createdAt: now,
      }
      await announcements.insert(tx, group, announcement)
      await announcements.trim(tx, group, keptPerGroup)
      this.#appendEvent(tx, context, announcement, { is_deleted: false })
      return announcement
    })
  }

  /** @throws AppError group_not_found, member_required, announcement_not_found */
  async get(
    caller: GroupCaller,
    groupId: Int64,
    announcementId: Int64,
  ): Promise<GroupAnnouncement> {
    const { access, announcements } = this.options
    return access.read(caller, groupId, 'read', async (db, { group }) =>
      existing(await announcements.find(db, group, announcementId)),
    )
  }

  /** @throws AppError group_not_found, member_required, announcement_not_found */
  async getLast(caller: GroupCaller, groupId: Int64): Promise<GroupAnnouncement> {
    const { access, announcements } = this.options
    return access.read(caller, groupId, 'read', async (db, { group }) =>
      existing(await announcements.findLast(db, group)),
    )
  }

  /**
   * Lists oldest first.
   * @throws AppError group_not_found, member_required
   */
  async list(caller: GroupCaller, groupId: Int64): Promise<GroupAnnouncement[]> {
    const { access, announcements } = this.options
    return access.read(caller, groupId, 'read', (db, { group }) => announcements.list(db, group))
  }

  /** @throws AppError group_not_found, group_admin_required, announcement_not_found */
  async delete(caller: GroupCaller, groupId: Int64, announcementId: Int64): Promise<void> {
    const { access, announcements } = this.options
    await access.change(caller, groupId, 'announce', {}, async (tx, context) => {
      const announcement = existing(await announcements.find(tx, context.group, announcementId))
      await announcements.delete(tx, context.group, announcement.announcementId)
      this.#appendEvent(tx, context, announcement, { is_deleted: true })
    })
  }

  #appendEvent(
    tx: Tx,
    { group, caller }: GroupContext,
    { announcementId: announcement_id, title }: GroupAnnouncement,
    what: { readonly is_deleted: boolean },
  ): void {
    const content = { announcement_id, title, ...what }
    this.options.events.append(
      tx,
      group,
      groupEvent(group, 'announcement_updated', caller.actorId, [], content),
    )
  }
}

function existing(announcement: GroupAnnouncement | null): GroupAnnouncement {
  if (!announcement) throw new AppError('announcement_not_found')
  return announcement
}
