import {
  type Announcement,
  deleteAnnouncement,
  getAnnouncement,
  getLastAnnouncement,
  listAnnouncements,
  publishAnnouncement,
} from '@hermod/protocol'
import type { AnnouncementService } from '../../domain/groups/content/announcement-service.js'
import type { GroupAnnouncement } from '../../domain/groups/core/group-model.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function announcementHandlers({
  announcements,
}: {
  readonly announcements: AnnouncementService
}): Handler[] {
  return [
    handle(publishAnnouncement, async ({ group_id: groupId, title, content }, { principal }) =>
      data(
        toAnnouncementResource(
          await announcements.publish(principal, groupId, {
            title,
            content,
          }),
        ),
      ),
    ),
    handle(
      getAnnouncement,
      async ({ group_id: groupId, announcement_id: announcementId }, { principal }) =>
        data(toAnnouncementResource(await announcements.get(principal, groupId, announcementId))),
    ),
    handle(getLastAnnouncement, async ({ group_id: groupId }, { principal }) =>
      data(toAnnouncementResource(await announcements.getLast(principal, groupId))),
    ),
    handle(listAnnouncements, async ({ group_id: groupId }, { principal }) =>
      data((await announcements.list(principal, groupId)).map(toAnnouncementResource)),
    ),
    handle(
      deleteAnnouncement,
      async ({ group_id: groupId, announcement_id: announcementId }, { principal }) => {
        await announcements.delete(principal, groupId, announcementId)
        return data({})
      },
    ),
  ]
}

function toAnnouncementResource({
  authorId,
  content,
  createdAt,
  groupId,
  announcementId,
  title,
}: GroupAnnouncement): Announcement {
  return {
    author: authorId,
    content,
    created_at: createdAt,
    group_id: groupId,
    id: announcementId,
    title,
  }
}
