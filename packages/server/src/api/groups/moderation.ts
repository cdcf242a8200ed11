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
import { data, type Handler, handle } from '../../pipeline/call.js'
import { userResults } from './user-results.js'

const actions = [
  [addGroupAdmins, 'appoint'],
  [removeGroupAdmins, 'dismiss'],
  [unbanGroupMembers, 'unban'],
  [blockGroupUsers, 'block'],
  [unblockGroupUsers, 'unblock'],
  [kickGroupMembers, 'kick'],
] as const

export function groupModerationHandlers({
  groupModeration,
}: {
  readonly groupModeration: GroupModerationService
}): Handler[] {
  return [
    ...actions.map(([operation, action]) =>
      handle(operation, async ({ group_id: groupId, user_list: userIds }, { principal }) =>
        data(
          await userResults(userIds, (distinct) =>
            groupModeration[action](principal, groupId, distinct),
          ),
        ),
      ),
    ),
    handle(
      banGroupMembers,
      async ({ duration, group_id: groupId, user_list: userIds }, { principal }) =>
        data(
          await userResults(userIds, (distinct) =>
            groupModeration.ban(principal, groupId, distinct, duration),
          ),
        ),
    ),
  ]
}
