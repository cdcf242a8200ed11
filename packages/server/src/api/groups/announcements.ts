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
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller } from './group-caller.js'

interface Services {
  readonly accounts: AccountService
  readonly announcements: AnnouncementService
}

export function announcementHandlers({ accounts, announcements }: Services): Handler[] {
  return [
    handle(publishAnnouncement, async ({ group_id: groupId, title, content }, { caller }) =>
      data(
        toAnnouncement(
          await announcements.publish(await groupCaller(accounts, caller, groupId), groupId, {
            title,
            content,
          }),
        ),
      ),
    ),
    handle(
      getAnnouncement,
      async ({ group_id: groupId, announcement_id: announcementId }, { caller }) =>
        data(
          toAnnouncement(
            await announcements.get(
              await groupCaller(accounts, caller, groupId),
              groupId,
              announcementId,
            ),
          ),
        ),
    ),
    handle(getLastAnnouncement, async ({ group_id: groupId }, { caller }) =>
      data(
        toAnnouncement(
          await announcements.getLast(await groupCaller(accounts, caller, groupId), groupId),
        ),
      ),
    ),
    handle(listAnnouncements, async ({ group_id: groupId }, { caller }) =>
      data(
        (await announcements.list(await groupCaller(accounts, caller, groupId), groupId)).map(
          toAnnouncement,
        ),
      ),
    ),
    handle(
      deleteAnnouncement,
      async ({ group_id: groupId, announcement_id: announcementId }, { caller }) => {
        await announcements.delete(
          await groupCaller(accounts, caller, groupId),
          groupId,
          announcementId,
        )
        return data({})
      },
    ),
  ]
}

function toAnnouncement({
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
