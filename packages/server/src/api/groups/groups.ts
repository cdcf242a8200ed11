import {
  createGroup,
  destroyGroup,
  type GroupRecord,
  type GroupSummary,
  getGroup,
  groupType,
  listGroups,
  listJoinedGroups,
  listPublicGroups,
  transferGroup,
} from '@hermod/protocol'
import type { GroupService, GroupView } from '../../domain/groups/core/group-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { toUserResult } from './user-results.js'

export function groupHandlers({ groups }: { readonly groups: GroupService }): Handler[] {
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
        { principal },
      ) =>
        data(
          toGroupResource(
            await groups.create(principal, {
              type,
              name,
              avatar,
              description,
              userIds,
            }),
          ),
        ),
    ),
    handle(getGroup, async ({ group_id: groupId }, { principal }) =>
      data(toGroupResource(await groups.get(principal, groupId))),
    ),
    handle(listGroups, async ({ group_list: groupIds }, { principal }) =>
      data((await groups.getMany(principal, groupIds)).map(toSummary)),
    ),
    handle(listPublicGroups, async (_, { principal }) => data(await groups.listPublic(principal))),
    handle(listJoinedGroups, async (_, { principal }) => data(await groups.listJoined(principal))),
    handle(destroyGroup, ({ group_id: groupId }, { principal }) =>
      whenDone(groups.dissolve(principal, groupId)),
    ),
    handle(transferGroup, async ({ group_id: groupId, new_owner: newOwnerId }, { principal }) => {
      await groups.transfer(principal, groupId, newOwnerId)
      return data(toUserResult(newOwnerId))
    }),
  ]
}

function toSummary(view: GroupView): GroupSummary {
  const record = toGroupResource(view)
  return { ...record, owner: record.owner_id }
}

/** The Group resource as its viewer sees it; push and mute modes are 0 for viewers who are no members. */
export function toGroupResource({ group, member }: GroupView): GroupRecord {
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
    version: group.version,
  }
}
