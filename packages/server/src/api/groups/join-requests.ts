import { applyToGroup, handleJoinRequest, listJoinRequests } from '@hermod/protocol'
import type { JoinRequestService } from '../../domain/groups/admission/join-request-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { toPage } from './page.js'
import { toUserResult } from './user-results.js'

export function joinRequestHandlers({
  joinRequests,
}: {
  readonly joinRequests: JoinRequestService
}): Handler[] {
  return [
    handle(applyToGroup, async ({ group_id: groupId, reason = '' }, { principal }) => {
      await joinRequests.apply(principal, groupId, reason)
      return data(toUserResult(principal.userId))
    }),
    handle(
      handleJoinRequest,
      async ({ group_id: groupId, user_id: applicantId, approval }, { principal }) => {
        await joinRequests.handle(principal, groupId, applicantId, approval)
        return data(toUserResult(applicantId))
      },
    ),
    handle(listJoinRequests, async ({ group_list: groupIds, ...page }, { principal }) => {
      const listed = await joinRequests.list(principal, groupIds, page)
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
