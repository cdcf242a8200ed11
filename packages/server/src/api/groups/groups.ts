import {
  createGroup,
  destroyGroup,
  type Group,
  type GroupSummary,
  getGroup,
  groupType,
  listGroups,
  listJoinedGroups,
  listPublicGroups,
  transferGroup,
} from '@hermod/protocol'
import type { GroupService, GroupView } from '../../domain/groups/core/group-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, groupUser, toUserResult } from './group-caller.js'

interface Services {
  readonly accounts: AccountService
  readonly groups: GroupService
}

export function groupHandlers({ accounts, groups }: Services): Handler[] {
  return [
    handle(
      createGroup,
      async (
        {
          type = groupType.private,
          name = '',
          avatar = '',
          description = '',
          user_list: userIds = [],
        },
        { caller },
      ) =>
        data(
          toGroup(
            await groups.create(await groupUser(accounts, caller), {
              type,
              name,
              avatar,
              description,
              userIds,
            }),
          ),
        ),
    ),
    handle(getGroup, async ({ group_id: groupId }, { caller }) =>
      data(toGroup(await groups.get(await groupCaller(accounts, caller, groupId), groupId))),
    ),
    handle(listGroups, async ({ group_list: groupIds }, { caller }) =>
      data((await groups.getMany(await groupCaller(accounts, caller), groupIds)).map(toSummary)),
    ),
    handle(listPublicGroups, async (_, { caller }) =>
      data(await groups.listPublic(await groupCaller(accounts, caller))),
    ),
    handle(listJoinedGroups, async (_, { caller }) =>
      data(await groups.listJoined(await groupUser(accounts, caller))),
    ),
    handle(destroyGroup, async ({ group_id: groupId }, { caller }) => {
      await groups.dissolve(await groupCaller(accounts, caller, groupId), groupId)
      return data(true)
    }),
    handle(transferGroup, async ({ group_id: groupId, new_owner: newOwnerId }, { caller }) => {
      await groups.transfer(await groupCaller(accounts, caller, groupId), groupId, newOwnerId)
      return data(toUserResult(newOwnerId))
    }),
  ]
}

function toSummary(view: GroupView): GroupSummary {
  const {
    apply_approval,
    avatar,
    capacity,
    count,
    group_id,
    msg_mute_mode,
    msg_push_mode,
    name,
    owner_id,
    status,
    type,
  } = toGroup(view)
  return {
    apply_approval,
    avatar,
    capacity,
    count,
    group_id,
    msg_mute_mode,
    msg_push_mode,
    name,
    owner: owner_id,
    status,
    type,
  }
}

export function toGroup({ group, member }: GroupView): Group {
  return {
    apply_approval: group.applyApproval,
    avatar: group.avatar,
    ban_expire_time: group.banExpiresAt,
    capacity: group.capacity,
    count: group.memberCount,
    created_at: group.createdAt,
    description: group.description,
    ext: group.ext,
    group_id: group.groupId,
    ...group.flags,
    msg_mute_mode: member?.muteMode ?? 0,
    msg_push_mode: member?.pushMode ?? 0,
    name: group.name,
    owner_id: group.ownerId,
    status: group.status,
    type: group.type,
    updated_at: group.updatedAt,
  }
}
