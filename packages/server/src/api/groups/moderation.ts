import {
  addGroupAdmins,
  banGroupMembers,
  blockGroupUsers,
  kickGroupMembers,
  removeGroupAdmins,
  unbanGroupMembers,
  unblockGroupUsers,
} from '@hermod/protocol'
import { data, type Handler, handle } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'
import { toUserResults } from './user-results.js'

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
}: Pick<HandlerServices, 'groupModeration'>): Handler[] {
  return [
    ...actions.map(([operation, action]) =>
      handle(operation, async ({ group_id: groupId, user_list: userIds }, { principal }) =>
        data(toUserResults(await groupModeration[action](principal, groupId, userIds))),
      ),
    ),
    handle(
      banGroupMembers,
      async ({ duration, group_id: groupId, user_list: userIds }, { principal }) =>
        data(toUserResults(await groupModeration.ban(principal, groupId, userIds, duration))),
    ),
  ]
}
