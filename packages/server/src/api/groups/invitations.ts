import { handleGroupInvitation, inviteToGroup, listGroupInvitations } from '@hermod/protocol'
import type { GroupInvitationService } from '../../domain/groups/admission/invitation-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { toPage } from './page.js'
import { userResults } from './user-results.js'

export function groupInvitationHandlers({
  groupInvitations,
}: {
  readonly groupInvitations: GroupInvitationService
}): Handler[] {
  return [
    handle(
      inviteToGroup,
      async ({ group_id: groupId, user_list: userIds, reason = '' }, { principal }) =>
        data(
          await userResults(userIds, (distinct) =>
            groupInvitations.invite(principal, groupId, distinct, reason),
          ),
        ),
    ),
    handle(
      handleGroupInvitation,
      ({ group_id: groupId, user_id: namedUserId, approval: isAccepted }, { principal }) =>
        whenDone(groupInvitations.handle(principal, groupId, { namedUserId, isAccepted })),
    ),
    handle(listGroupInvitations, async (page, { principal }) => {
      const listed = await groupInvitations.list(principal, page)
      return toPage(listed, (entry) => ({
        expired_time: entry.expiresAt,
        group_id: entry.groupId,
        invitee_id: entry.inviteeId,
        inviter_id: entry.inviterId,
        reason: entry.reason,
        status: entry.status,
        updated_at: new Date(entry.updatedAt).toISOString(),
      }))
    }),
  ]
}
