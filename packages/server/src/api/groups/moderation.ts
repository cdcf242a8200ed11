import {
  addGroupAdmins,
  banGroupMembers,
  blockGroupUsers,
  kickGroupMembers,
  removeGroupAdmins,
  unbanGroupMembers,
  unblockGroupUsers,
} from '@hermod/protocol'
import type { GroupModerationService } from '../../domain/groups/moderation/group-moderation-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, toUserResults } from './group-caller.js'

interface Services {
  readonly accounts: AccountService
  readonly groupModeration: GroupModerationService
}

const actions = [
  [addGroupAdmins, 'appoint'],
  [removeGroupAdmins, 'dismiss'],
  [unbanGroupMembers, 'unban'],
  [blockGroupUsers, 'block'],
  [unblockGroupUsers, 'unblock'],
  [kickGroupMembers, 'kick'],
] as const

export function groupModerationHandlers({ accounts, groupModeration }: Services): Handler[] {
  return [
    ...actions.map(([operation, action]) =>
      handle(operation, async ({ group_id: groupId, user_list: userIds }, { caller }) =>
        data(
          toUserResults(
            await groupModeration[action](
              await groupCaller(accounts, caller, groupId),
              groupId,
              userIds,
            ),
          ),
        ),
      ),
    ),
    handle(
      banGroupMembers,
      async ({ duration, group_id: groupId, user_list: userIds }, { caller }) =>
        data(
          toUserResults(
            await groupModeration.ban(
              await groupCaller(accounts, caller, groupId),
              groupId,
              userIds,
              duration,
            ),
          ),
        ),
    ),
  ]
}
