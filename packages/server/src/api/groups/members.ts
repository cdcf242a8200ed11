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
import type { Member } from '../../domain/groups/core/group-model.js'
import type { GroupMemberService } from '../../domain/groups/membership/group-member-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, groupUser, toUserResults } from './group-caller.js'
import { toPage } from './page.js'

interface Services {
  readonly accounts: AccountService
  readonly groupMembers: GroupMemberService
}

export function groupMemberHandlers({ accounts, groupMembers }: Services): Handler[] {
  return [
    handle(addGroupMembers, async ({ group_id: groupId, user_list: userIds }, { caller }) => {
      const outcomes = await groupMembers.add(
        await groupCaller(accounts, caller, groupId),
        groupId,
        userIds,
      )
      return data({ list: toUserResults(outcomes) })
    }),
    handle(leaveGroup, async ({ group_id: groupId }, { caller }) => {
      await groupMembers.leave(await groupUser(accounts, caller, groupId), groupId)
      return data(true)
    }),
    handle(listGroupMembers, async ({ group_id: groupId, ...page }, { caller }) =>
      toPage(
        await groupMembers.list(await groupCaller(accounts, caller, groupId), groupId, page),
        toGroupMember,
      ),
    ),
    handle(listBannedMembers, async ({ group_id: groupId, ...page }, { caller }) =>
      toPage(
        await groupMembers.listBanned(await groupCaller(accounts, caller, groupId), groupId, page),
        toGroupMember,
      ),
    ),
    handle(listGroupBlocks, async ({ group_id: groupId, ...page }, { caller }) =>
      toPage(
        await groupMembers.listBlocks(await groupCaller(accounts, caller, groupId), groupId, page),
        ({ userId, createdAt }) => ({
          created_at: new Date(createdAt).toISOString(),
          group_id: groupId,
          user_id: userId,
        }),
      ),
    ),
    handle(listGroupAdmins, async ({ group_id: groupId }, { caller }) =>
      data(
        (await groupMembers.listAdmins(await groupCaller(accounts, caller, groupId), groupId)).map(
          toGroupMember,
        ),
      ),
    ),
    handle(listDisplayNames, async ({ group_id: groupId, user_list: userIds }, { caller }) =>
      data(
        (
          await groupMembers.findMany(
            await groupCaller(accounts, caller, groupId),
            groupId,
            userIds,
          )
        ).map(toGroupMember),
      ),
    ),
    handle(listMemberInfo, async ({ group_id: groupId, user_list: userIds }, { caller }) =>
      data(
        (
          await groupMembers.findMany(
            await groupCaller(accounts, caller, groupId),
            groupId,
            userIds,
          )
        ).map(toMemberInfo),
      ),
    ),
  ]
}

function toGroupMember({ displayName, banExpiresAt, joinedAt, userId }: Member): GroupMember {
  return {
    display_name: displayName,
    expired_time: banExpiresAt,
    join_time: joinedAt,
    user_id: userId,
  }
}

function toMemberInfo(member: Member): GroupMemberInfo {
  return { ...toGroupMember(member), role: member.role }
}
