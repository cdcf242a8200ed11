import {
  addGroupMembers,
  type GroupMember,
  type GroupMemberInfo,
  leaveGroup,
  listBannedMembers,
  listDisplayNames,
  listGroupAdmins,
  listGroupBlocks,
  listGroupMembers,
  listMemberInfo,
} from '@hermod/protocol'
import type { SeenMember } from '../../domain/groups/core/group-model.js'
import type { GroupMemberService } from '../../domain/groups/membership/group-member-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { toPage } from './page.js'
import { userResults } from './user-results.js'

export function groupMemberHandlers({
  groupMembers,
}: {
  readonly groupMembers: GroupMemberService
}): Handler[] {
  return [
    handle(addGroupMembers, async ({ group_id: groupId, user_list: userIds }, { principal }) => {
      const list = await userResults(userIds, (distinct) =>
        groupMembers.add(principal, groupId, distinct),
      )
      return data({ list })
    }),
    handle(leaveGroup, ({ group_id: groupId }, { principal }) =>
      whenDone(groupMembers.leave(principal, groupId)),
    ),
    handle(listGroupMembers, async ({ group_id: groupId, ...page }, { principal }) =>
      toPage(await groupMembers.list(principal, groupId, page), toGroupMember),
    ),
    handle(listBannedMembers, async ({ group_id: groupId, ...page }, { principal }) =>
      toPage(await groupMembers.listBanned(principal, groupId, page), toGroupMember),
    ),
    handle(listGroupBlocks, async ({ group_id: groupId, ...page }, { principal }) =>
      toPage(await groupMembers.listBlocks(principal, groupId, page), ({ userId, createdAt }) => ({
        created_at: new Date(createdAt).toISOString(),
        group_id: groupId,
        user_id: userId,
      })),
    ),
    handle(listGroupAdmins, async ({ group_id: groupId }, { principal }) =>
      data((await groupMembers.listAdmins(principal, groupId)).map(toGroupMember)),
    ),
    handle(listDisplayNames, async ({ group_id: groupId, user_list: userIds }, { principal }) =>
      data((await groupMembers.findMany(principal, groupId, userIds)).map(toGroupMember)),
    ),
    handle(listMemberInfo, async ({ group_id: groupId, user_list: userIds }, { principal }) =>
      data((await groupMembers.findMany(principal, groupId, userIds)).map(toMemberInfo)),
    ),
  ]
}

function toGroupMember({
  displayName,
  banExpiresAt,
  joinedAt,
  userId,
  isBot,
}: SeenMember): GroupMember {
  return {
    display_name: displayName,
    expired_time: banExpiresAt,
    join_time: joinedAt,
    user_id: userId,
    is_bot: isBot,
  }
}

function toMemberInfo(member: SeenMember): GroupMemberInfo {
  return { ...toGroupMember(member), role: member.role }
}
