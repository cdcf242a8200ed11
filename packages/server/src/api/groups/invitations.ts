import { handleGroupInvitation, inviteToGroup, listGroupInvitations } from '@hermod/protocol'
import type { GroupInvitationService } from '../../domain/groups/admission/invitation-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, groupUser, toUserResults } from './group-caller.js'
import { toPage } from './page.js'

interface Services {
  readonly accounts: AccountService
  readonly groupInvitations: GroupInvitationService
}

export function groupInvitationHandlers({ accounts, groupInvitations }: Services): Handler[] {
  return [
    handle(
      inviteToGroup,
      async ({ group_id: groupId, user_list: userIds, reason = '' }, { caller }) =>
        data(
          toUserResults(
            await groupInvitations.invite(
              await groupCaller(accounts, caller, groupId),
              groupId,
              userIds,
              reason,
            ),
          ),
        ),
    ),
    handle(
      handleGroupInvitation,
      async ({ group_id: groupId, approval: isAccepted }, { caller }) => {
        await groupInvitations.handle(
          await groupUser(accounts, caller, groupId),
          groupId,
          isAccepted,
        )
        return data(true)
      },
    ),
    handle(listGroupInvitations, async (page, { caller }) => {
      const listed = await groupInvitations.list(await groupUser(accounts, caller), page)
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
