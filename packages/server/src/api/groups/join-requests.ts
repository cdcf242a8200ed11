import { applyToGroup, handleJoinRequest, listJoinRequests } from '@hermod/protocol'
import type { JoinRequestService } from '../../domain/groups/admission/join-request-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, groupUser, toUserResult } from './group-caller.js'
import { toPage } from './page.js'

interface Services {
  readonly accounts: AccountService
  readonly joinRequests: JoinRequestService
}

export function joinRequestHandlers({ accounts, joinRequests }: Services): Handler[] {
  return [
    handle(applyToGroup, async ({ group_id: groupId, reason = '' }, { caller }) => {
      const user = await groupUser(accounts, caller, groupId)
      await joinRequests.apply(user, groupId, reason)
      return data(toUserResult(user.userId))
    }),
    handle(
      handleJoinRequest,
      async ({ group_id: groupId, user_id: applicantId, approval }, { caller }) => {
        await joinRequests.handle(
          await groupCaller(accounts, caller, groupId),
          groupId,
          applicantId,
          approval,
        )
        return data(toUserResult(applicantId))
      },
    ),
    handle(listJoinRequests, async ({ group_list: groupIds, ...page }, { caller }) => {
      const listed = await joinRequests.list(await groupCaller(accounts, caller), groupIds, page)
      return toPage(listed, (entry) => ({
        applicant_id: entry.applicantId,
        expired_time: entry.expiresAt,
        group_id: entry.groupId,
        reason: entry.reason,
        status: entry.status,
      }))
    }),
  ]
}
