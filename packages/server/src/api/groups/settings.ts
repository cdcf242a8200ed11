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
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, groupUser } from './group-caller.js'
import { toGroup } from './groups.js'

interface Services {
  readonly accounts: AccountService
  readonly groups: GroupService
  readonly groupSettings: GroupSettingsService
}

type Writer = readonly [
  Operation<{ group_id: Int64; value: string | boolean }, boolean>,
  PlainProperty,
]

/** The operations that write one thing of a group, and which. */
const writers: readonly Writer[] = [
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

export function groupSettingsHandlers({ accounts, groups, groupSettings }: Services): Handler[] {
  return [
    handle(getGroupSettings, async ({ group_id: groupId }, { caller }) =>
      data(toGroup(await groups.get(await groupCaller(accounts, caller, groupId), groupId))),
    ),
    ...writers.map(([operation, name]) =>
      handle(operation, async ({ group_id: groupId, value }, { caller }) => {
        await groupSettings.set(await groupCaller(accounts, caller, groupId), groupId, name, value)
        return data(true)
      }),
    ),
    handle(
      setApplyApproval,
      async ({ group_id: groupId, apply_approval: approval }, { caller }) => {
        await groupSettings.set(
          await groupCaller(accounts, caller, groupId),
          groupId,
          'apply_approval',
          approval,
        )
        return data(true)
      },
    ),
    handle(setGroupCapacity, async ({ group_id: groupId, value }, { caller }) => {
      await groupSettings.setCapacity(await groupCaller(accounts, caller, groupId), groupId, value)
      return data(true)
    }),
    handle(banGroup, async ({ group_id: groupId, duration }, { caller }) =>
      data({
        ban_expire_time: await groupSettings.ban(
          await groupCaller(accounts, caller, groupId),
          groupId,
          duration,
        ),
      }),
    ),
    handle(unbanGroup, async ({ group_id: groupId }, { caller }) => {
      await groupSettings.unban(await groupCaller(accounts, caller, groupId), groupId)
      return data(true)
    }),
    handle(setDisplayName, async ({ group_id: groupId, value }, { caller }) => {
      await groupSettings.setDisplayName(await groupUser(accounts, caller, groupId), groupId, value)
      return data(true)
    }),
    handle(setMuteMode, async ({ group_id: groupId, msg_mute_mode }, { caller }) => {
      await groupSettings.setMuteMode(
        await groupUser(accounts, caller, groupId),
        groupId,
        msg_mute_mode,
      )
      return data({ msg_mute_mode })
    }),
    handle(setPushMode, async ({ group_id: groupId, msg_push_mode }, { caller }) => {
      await groupSettings.setPushMode(
        await groupUser(accounts, caller, groupId),
        groupId,
        msg_push_mode,
      )
      return data({ msg_push_mode })
    }),
    handle(setNotDisturb, async ({ group_id: groupId, value }, { caller }) => {
      await groupSettings.setMuteMode(
        await groupUser(accounts, caller, groupId),
        groupId,
        value ? 1 : 0,
      )
      return data(true)
    }),
  ]
}
