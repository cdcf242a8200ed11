/** Groups, their members, settings, announcements and files. */
import * as api from '@hermod/protocol'
import { type Cast, type GroupOptions, newName } from './cast.js'
import { byApp, byOperator, type Row, row } from './row.js'

type More = (cast: Cast, group_id: number) => object | Promise<object>

/** Parameters of a call about a new group. */
const inGroup =
  (more: More = () => ({}), options: GroupOptions = {}) =>
  async (cast: Cast) => {
    const group_id = await cast.group(options)
    return { group_id, ...(await more(cast, group_id)) }
  }

const friendAsList: More = ({ friend }) => ({ user_list: [friend] })
const value =
  (of: unknown): More =>
  () => ({ value: of })
const withoutFriend: GroupOptions = { hasFriend: false }
const asMember: GroupOptions = { actor: 'member' }
const asOutsider: GroupOptions = { actor: null }

/** The owner has done something to the friend before. */
const after =
  (operation: unknown, extras: object = {}): More =>
  async (cast, group_id) => {
    const list = { user_list: [cast.friend] }
    await cast.given(operation, { group_id, ...list, ...extras })
    return list
  }

async function confirming(cast: Cast, userId: number, group_confirm = true): Promise<void> {
  await cast.given(api.updateSettings, { user_id: userId, group_confirm }, userId)
}

const invited =
  (approval: boolean): More =>
  async (cast, group_id) => {
    await confirming(cast, cast.actor)
    await cast.given(api.inviteToGroup, { group_id, user_list: [cast.actor] }, cast.keeper)
    return { approval, user_id: cast.actor }
  }

const applied =
  (approval: boolean): More =>
  async (cast, group_id) => {
    await cast.given(api.applyToGroup, { group_id }, cast.friend)
    return { approval, user_id: cast.friend }
  }

const qrCode = async (cast: Cast) => {
  const group_id = await cast.group(asOutsider)
  const { data } = await cast.given(api.signGroupQrCode, { group_id }, cast.keeper)
  return { qr_info: data.qr_info }
}

const announcement: More = async (cast, group_id) => {
  const { data } = await cast.given(api.publishAnnouncement, {
    group_id,
    title: 'News',
    content: 'Some',
  })
  return { announcement_id: data.id }
}

const file = { name: 'map.png', size: 1, url: 'https://example.org/map.png' }
const shared = async (cast: Cast, group_id: number): Promise<number> =>
  (await cast.given(api.shareFile, { group_id, ...file })).data.file_id

const open: More = async (cast, group_id) => {
  await cast.given(api.setApplyApproval, { group_id, apply_approval: 0 }, cast.keeper)
  return {}
}

/** Parameters of an import of one group, which the actor owns, from a new source. */
const importOfGroup = ({ server, actor }: Cast) => ({
  app_id: server.appId,
  source: newName('source'),
  groups: [{ external_id: 'g', owner_id: actor, name: 'Imported' }],
})

export const groupRows: readonly Row[] = [
  row(api.createGroup, ({ friend, member }) => ({
    name: 'New',
    type: 0,
    user_list: [friend, member],
  })),
  row(api.destroyGroup, inGroup()),
  row(
    api.destroyGroup,
    inGroup(async (cast, group_id) => {
      await cast.message(group_id, cast.actor, { type: 2 })
      await cast.given(api.pinConversation, { conversation_id: group_id }, cast.member)
      return {}
    }),
    { as: 'with unread messages and pins' },
  ),
  row(
    api.transferGroup,
    inGroup(({ friend }) => ({ new_owner: friend })),
  ),
  row(api.setGroupName, inGroup(value('other'))),
  row(api.setGroupAvatar, inGroup(value('https://example.org/g.png'))),
  row(api.setGroupDescription, inGroup(value('other'))),
  row(api.setGroupExt, inGroup(value('other'))),
  row(api.setReadAck, inGroup(value(true))),
  row(api.setMemberInfoHidden, inGroup(value(true))),
  row(api.setHistoryVisible, inGroup(value(true))),
  row(api.setMemberInvitation, inGroup(value(true))),
  row(api.setMemberModification, inGroup(value(true))),
  row(
    api.setApplyApproval,
    inGroup(() => ({ apply_approval: 0 })),
  ),
  row(api.setGroupCapacity, inGroup(value(100)), { by: byApp }),
  row(
    api.banGroup,
    inGroup(() => ({ duration: 5 })),
  ),
  row(
    api.unbanGroup,
    inGroup(async (cast, group_id) => {
      await cast.given(api.banGroup, { group_id, duration: 5 })
      return {}
    }),
  ),

  row(api.addGroupMembers, inGroup(friendAsList, withoutFriend)),
  row(api.addGroupAdmins, inGroup(friendAsList)),
  row(api.removeGroupAdmins, inGroup(after(api.addGroupAdmins))),
  row(
    api.banGroupMembers,
    inGroup(({ friend }) => ({ user_list: [friend], duration: 5 })),
  ),
  row(api.unbanGroupMembers, inGroup(after(api.banGroupMembers, { duration: 5 }))),
  row(api.blockGroupUsers, inGroup(friendAsList)),
  row(api.blockGroupUsers, inGroup(friendAsList, withoutFriend), { as: 'who are no members' }),
  row(api.unblockGroupUsers, inGroup(after(api.blockGroupUsers))),
  row(api.kickGroupMembers, inGroup(friendAsList)),
  row(
    api.kickGroupMembers,
    inGroup(async (cast, group_id) => {
      await cast.message(group_id, cast.member, { type: 2 })
      await cast.given(api.pinConversation, { conversation_id: group_id }, cast.friend)
      return { user_list: [cast.friend] }
    }),
    { as: 'with unread messages and pins' },
  ),
  row(api.leaveGroup, inGroup(undefined, asMember)),
  row(
    api.leaveGroup,
    inGroup(
      async (cast, group_id) => {
        await cast.message(group_id, cast.member, { type: 2 })
        await cast.given(api.pinConversation, { conversation_id: group_id })
        return {}
      },
      { actor: 'member', more: { type: 2 } },
    ),
    { as: 'a chatroom with messages and a pin' },
  ),
  row(api.setDisplayName, inGroup(value('me here'), asMember)),
  row(
    api.setMuteMode,
    inGroup(() => ({ msg_mute_mode: 1 }), asMember),
  ),
  row(
    api.setMuteMode,
    inGroup(async (cast, group_id) => {
      await cast.message(group_id, cast.member, { type: 2 })
      return { msg_mute_mode: 2 }
    }, asMember),
    { as: 'to receive nothing' },
  ),
  row(
    api.setMuteMode,
    inGroup(async (cast, group_id) => {
      await cast.given(api.setMuteMode, { group_id, msg_mute_mode: 2 })
      await cast.message(group_id, cast.member, { type: 2 })
      return { msg_mute_mode: 0 }
    }, asMember),
    { as: 'to receive again' },
  ),
  row(api.setNotDisturb, inGroup(value(true), asMember)),
  row(
    api.setNotDisturb,
    inGroup(async (cast, group_id) => {
      await cast.given(api.setNotDisturb, { group_id, value: true })
      return { value: false }
    }, asMember),
    { as: 'off' },
  ),
  row(
    api.setPushMode,
    inGroup(() => ({ msg_push_mode: 1 }), asMember),
  ),

  row(
    api.applyToGroup,
    inGroup(() => ({ reason: 'hello' }), asOutsider),
  ),
  row(api.applyToGroup, inGroup(open, asOutsider), { as: 'to one that takes all' }),
  row(api.applyToGroup, inGroup(open, { actor: null, more: { type: 2 } }), { as: 'to a chatroom' }),
  row(api.handleJoinRequest, inGroup(applied(true), withoutFriend), { as: 'to accept' }),
  row(api.handleJoinRequest, inGroup(applied(false), withoutFriend), { as: 'to decline' }),
  row(api.inviteToGroup, inGroup(friendAsList, withoutFriend)),
  row(
    api.inviteToGroup,
    inGroup(async (cast) => {
      await confirming(cast, cast.friend)
      return { user_list: [cast.friend] }
    }, withoutFriend),
    { as: 'a user who confirms' },
  ),
  row(
    api.addGroupMembers,
    inGroup(async (cast, group_id) => {
      await confirming(cast, cast.friend, false)
      await cast.given(api.setHistoryVisible, { group_id, value: false })
      await cast.message(group_id, cast.actor, { type: 2 })
      return { user_list: [cast.friend] }
    }, withoutFriend),
    { as: 'who do not see what was before' },
  ),
  row(
    api.addGroupMembers,
    inGroup(async (cast, group_id) => {
      await confirming(cast, cast.friend, false)
      await cast.given(api.setHistoryVisible, { group_id, value: true })
      await cast.message(group_id, cast.actor, { type: 2 })
      return { user_list: [cast.friend] }
    }, withoutFriend),
    { as: 'who see what was before' },
  ),
  row(api.handleGroupInvitation, inGroup(invited(true), asOutsider), { as: 'to accept' }),
  row(api.handleGroupInvitation, inGroup(invited(false), asOutsider), { as: 'to decline' }),
  row(api.joinByQrCode, qrCode),
  row(api.joinByQrText, qrCode),

  row(
    api.publishAnnouncement,
    inGroup(() => ({ title: 'News', content: 'Some' })),
  ),
  row(api.deleteAnnouncement, inGroup(announcement)),
  row(
    api.shareFile,
    inGroup(() => file),
  ),
  row(
    api.renameSharedFile,
    inGroup(async (cast, group_id) => ({
      file_id: await shared(cast, group_id),
      name: 'plan.png',
    })),
  ),
  row(
    api.deleteSharedFiles,
    inGroup(async (cast, group_id) => ({ file_list: [await shared(cast, group_id)] })),
  ),
  row(api.importGroups, importOfGroup, { by: byOperator }),
  row(
    api.importMembers,
    async (cast) => ({
      app_id: cast.server.appId,
      source: newName('source'),
      members: [{ user_id: cast.friend, group_id: await cast.group(withoutFriend), role: 1 }],
    }),
    { by: byOperator },
  ),
]
