import { addGroupMembers } from '@hermod/protocol'
import type { AccountService } from '../../domain/accounts/account-service.js'
import type { GroupMemberService } from '../../domain/groups/group-member-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, toUserResults } from './group-caller.js'

interface Services {
  readonly accounts: AccountService
  readonly groupMembers: GroupMemberService
}

export function groupMemberHandlers({ accounts, groupMembers }: Services): Handler[] {
  return [
    handle(addGroupMembers, async ({ group_id: groupId, user_list: userIds }, { caller }) => {
      const outcomes = await groupMembers.add(await groupCaller(accounts, caller, groupId), groupId, userIds)
      return data({ list: toUserResults(outcomes) })
    }),
  ]
}
