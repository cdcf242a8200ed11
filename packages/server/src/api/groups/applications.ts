import {
  applyToGroup,
  type GroupApplication,
  handleGroupApplication,
  listGroupApplications,
} from '@hermod/protocol'
import type { AccountService } from '../../domain/accounts/account-service.js'
import type { GroupApplicationService } from '../../domain/groups/group-application-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, groupUser, toUserResult } from './group-caller.js'
import { toPage } from './page.js'

interface Services {
  readonly accounts: AccountService
  readonly groupApplications: GroupApplicationService
}

export function groupApplicationHandlers({ accounts, groupApplications }: Services): Handler[] {
  return [
    handle(applyToGroup, async ({ group_id: groupId, reason = '' }, { caller }) => {
      const user = await groupUser(accounts, caller, groupId)
      await groupApplications.apply(user, groupId, reason)
      return data(toUserResult(user.userId))
    }),
    handle(
      handleGroupApplication,
      async ({ group_id: groupId, user_id: applicantId, approval }, { caller }) => {
        await groupApplications.handle(
          await groupCaller(accounts, caller, groupId),
          groupId,
          applicantId,
          approval,
        )
        return data(toUserResult(applicantId))
      },
    ),
    handle(listGroupApplications, async ({ group_list: groupIds, ...page }, { caller }) => {
      const listed = await groupApplications.list(
        await groupCaller(accounts, caller),
        groupIds,
        page,
      )
      return toPage(listed, (entry) => ({
        applicant_id: entry.applicantId,
        expired_time: entry.expiresAt,
        group_id: entry.groupId,
        reason: entry.reason,
        status: entry.status as GroupApplication['status'],
      }))
    }),
  ]
}
