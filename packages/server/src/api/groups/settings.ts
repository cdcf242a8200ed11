import {
  banGroup,
  getGroupSettings,
  type Int64,
  type Operation,
  setApplyApproval,
  setDisplayName,
  setGroupAvatar,
  setGroupCapacity,
  setGroupDescription,
  setGroupExt,
  setGroupName,
  setHistoryVisible,
  setMemberInfoHidden,
  setMemberInvitation,
  setMemberModification,
  setMuteMode,
  setNotDisturb,
  setPushMode,
  setReadAck,
  unbanGroup,
} from '@hermod/protocol'
import type { GroupService } from '../../domain/groups/core/group-service.js'
import type {
  GroupSettingsService,
  PlainProperty,
} from '../../domain/groups/core/group-settings-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { toGroupResource } from './groups.js'

type PropertyWriter = readonly [
  Operation<{ group_id: Int64; value: string | boolean }, boolean, unknown, 'groupMember'>,
  PlainProperty,
]

/** Operations that write one field of a group, with that field. */
const propertyWriters: readonly PropertyWriter[] = [
  [setGroupName, 'name'],
  [setGroupAvatar, 'avatar'],
  [setGroupDescription, 'description'],
  [setGroupExt, 'ext'],
  [setReadAck, 'read_ack'],
  [setMemberInfoHidden, 'hide_member_info'],
  [setHistoryVisible, 'history_visible'],
  [setMemberInvitation, 'member_invite'],
  [setMemberModification, 'member_modify'],
]

export function groupSettingsHandlers({
  groups,
  groupSettings,
}: {
  readonly groups: GroupService
  readonly groupSettings: GroupSettingsService
}): Handler[] {
  return [
    handle(getGroupSettings, async ({ group_id: groupId }, { principal }) =>
      data(toGroupResource(await groups.get(principal, groupId))),
    ),
    ...propertyWriters.map(([operation, name]) =>
      handle(operation, ({ group_id: groupId, value }, { principal }) =>
        whenDone(groupSettings.set(principal, groupId, name, value)),
      ),
    ),
    handle(setApplyApproval, ({ group_id: groupId, apply_approval: approval }, { principal }) =>
      whenDone(groupSettings.set(principal, groupId, 'apply_approval', approval)),
    ),
    handle(setGroupCapacity, ({ group_id: groupId, value }, { principal }) =>
      whenDone(groupSettings.setCapacity(principal, groupId, value)),
    ),
    handle(banGroup, async ({ group_id: groupId, duration }, { principal }) =>
      data({
        ban_expire_time: await groupSettings.ban(principal, groupId, duration),
      }),
    ),
    handle(unbanGroup, ({ group_id: groupId }, { principal }) =>
      whenDone(groupSettings.unban(principal, groupId)),
    ),
    handle(setDisplayName, ({ group_id: groupId, value }, { principal }) =>
      whenDone(groupSettings.setDisplayName(principal, groupId, value)),
    ),
    handle(setMuteMode, async ({ group_id: groupId, msg_mute_mode }, { principal }) => {
      await groupSettings.setMuteMode(principal, groupId, msg_mute_mode)
      return data({ msg_mute_mode: msg_mute_mode })
    }),
    handle(setPushMode, async ({ group_id: groupId, msg_push_mode }, { principal }) => {
      await groupSettings.setPushMode(principal, groupId, msg_push_mode)
      return data({ msg_push_mode: msg_push_mode })
    }),
    handle(setNotDisturb, ({ group_id: groupId, value }, { principal }) =>
      whenDone(groupSettings.setMuteMode(principal, groupId, value ? 1 : 0)),
    ),
  ]
}
