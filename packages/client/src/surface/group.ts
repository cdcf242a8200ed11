import type { Conversation, Group, GroupChanges } from '../api.js'
import { joinApprovals, muteModes, pushModes } from '../model/words.js'
import type { OperationId } from '../protocol-types.js'
import type { Hub } from '../views/hub.js'
import type { Interests } from '../views/interests.js'
import { cachedValueOf } from '../views/users.js'
import { deriveView } from '../views/view.js'
import {
  fromWire,
  type WireAnnouncement,
  type WireMember,
  type WireSharedFile,
} from '../wire/from-wire.js'
import { checkId, checkIds, checkOneOf, checkOptionalText, checkText, refuse } from './arguments.js'
import type { Caller } from './caller.js'
import { checkFile, nameOf, type Uploader } from './uploader.js'

/** Parts of a client that a group uses. */
interface GroupSources {
  readonly interests: Interests
  readonly call: Caller
  readonly upload: Uploader
}

/** Minutes of a ban that ends only when it is lifted, in the contract. */
const permanent = -1

/** The operation of each change, and its parameter. */
const changeCalls: Readonly<Record<keyof GroupChanges, readonly [op: OperationId, param: string]>> =
  {
    name: ['group.name.update', 'value'],
    description: ['group.description.update', 'value'],
    ext: ['group.ext.update', 'value'],
    capacity: ['group.settings.capacity', 'value'],
    joinApproval: ['group.settings.require_admin_approval', 'apply_approval'],
    mayMembersInvite: ['group.settings.allow_member_invitation', 'value'],
    mayMembersEdit: ['group.settings.allow_member_modify', 'value'],
    isHistoryVisible: ['group.settings.history_visible', 'value'],
    isMemberInfoHidden: ['group.settings.hide_member_info', 'value'],
    hasReadReceipts: ['group.settings.enable_read_ack', 'value'],
  }

/** Types of shared files in the contract, by media type. */
const sharedTypes: readonly (readonly [media: RegExp, fileType: number])[] = [
  [/^image\//, 202],
  [/^video\//, 203],
  [/^/, 200],
]

/** Makes the handle on a group. */
export function createGroup(
  hub: Hub,
  { interests, call, upload }: GroupSources,
  conversation: Conversation,
): Group {
  const { id } = conversation
  const ofGroup = { group_id: id }
  const cachedView = <Wire, Public>(key: string, publicOf: (value: Wire) => Public) =>
    deriveView(hub, {
      initial: undefined,
      inputs: () => [cachedValueOf<Wire | null>(hub.session.state, key)],
      derive: (value) => (value ? publicOf(value) : undefined),
      // The version of the group tells which events its members have.
      start: () => interests.add({ rank: 2, reads: () => [key, `group.${id}`] }),
    })
  /** Does something to several users. */
  const toUsers =
    (op: OperationId): Group['kick'] =>
    async (userIds, options) => {
      checkIds('userIds', userIds)
      const params = { ...ofGroup, user_list: userIds }
      return fromWire.notDone((await call(op, params as never, options)).data)
    }
  const answer =
    (op: OperationId, approval: boolean) =>
    async (userId: number, options?: Parameters<Caller>[2]) => {
      checkId('userId', userId)
      await call(op, { ...ofGroup, approval, user_id: userId } as never, options)
    }
  const set = async (op: OperationId, param: string, value: unknown, options?: object) => {
    await call(op, { ...ofGroup, [param]: value } as never, options)
  }

  return {
    id,
    conversation,
    info: cachedView(`group.${id}`, fromWire.group),
    members: cachedView(`members.${id}`, (members: readonly WireMember[]) =>
      members.map(fromWire.member),
    ),
    async join({ reason = '', ...options } = {}) {
      checkOptionalText('reason', reason)
      await call('group.apply', { ...ofGroup, ...(reason && { reason }) }, options)
    },
    async leave(options) {
      await call('group.leave', ofGroup, options)
    },
    // The invitation is that of the own user, whoever is named.
    acceptInvitation: (options) => answer('group.invite.handle', true)(hub.me, options),
    declineInvitation: (options) => answer('group.invite.handle', false)(hub.me, options),
    acceptRequest: answer('group.apply.handle', true),
    declineRequest: answer('group.apply.handle', false),
    async invite(userIds, { reason, ...options } = {}) {
      checkIds('userIds', userIds)
      checkOptionalText('reason', reason)
      const users = { ...ofGroup, user_list: userIds, ...(reason && { reason }) }
      return fromWire.notDone((await call('group.invite', users, options)).data)
    },
    kick: toUsers('group.kick'),
    addAdmins: toUsers('group.admin.add'),
    removeAdmins: toUsers('group.admin.remove'),
    async transfer(userId, options) {
      checkId('userId', userId)
      await call('group.transfer', { ...ofGroup, new_owner: userId }, options)
    },
    async ban(userIds, { minutes = permanent, ...options } = {}) {
      checkIds('userIds', userIds)
      checkMinutes(minutes)
      const params = { ...ofGroup, user_list: userIds, duration: minutes }
      return fromWire.notDone((await call('group.ban', params, options)).data)
    },
    unban: toUsers('group.unban'),
    async banAll({ minutes = permanent, ...options } = {}) {
      checkMinutes(minutes)
      await call('group.settings.ban_all', { ...ofGroup, duration: minutes }, options)
    },
    async unbanAll(options) {
      await call('group.settings.unban_all', ofGroup, options)
    },
    async update(changes, options) {
      if (typeof changes !== 'object' || changes === null) refuse('changes', 'an object')
      const given = Object.entries(changes).filter(([, value]) => value !== undefined)
      for (const [name, value] of given) checkChange(name, value)
      for (const [name, value] of given) {
        const [op, param] = changeCalls[name as keyof GroupChanges]
        const wire = name === 'joinApproval' ? joinApprovals.indexOf(value as never) : value
        await set(op, param, wire, options)
      }
    },
    async setAvatar(picture, options) {
      if (picture !== null) checkFile('picture', picture)
      const url = picture
        ? await upload(['file.upload.avatar.group', ofGroup], picture, options)
        : ''
      await set('group.avatar.update', 'value', url, options)
    },
    async setDisplayName(name, options) {
      checkText('name', name, { isEmptyAllowed: true })
      await set('group.display_name.update', 'value', name, options)
    },
    async setMuteMode(mode, options) {
      checkOneOf('mode', mode, muteModes)
      await set('group.msg.mute_mode', 'msg_mute_mode', muteModes.indexOf(mode), options)
    },
    async setPushMode(mode, options) {
      checkOneOf('mode', mode, pushModes)
      await set('group.msg.push_mode', 'msg_push_mode', pushModes.indexOf(mode), options)
    },
    async announcements(options) {
      const { data } = await call('group.announcement.list', ofGroup, options)
      return (data as readonly WireAnnouncement[]).map(fromWire.announcement)
    },
    async announce({ title, text }, options) {
      checkText('title', title)
      checkText('text', text)
      const params = { ...ofGroup, title, content: text }
      const { data } = await call('group.announcement.edit', params, options)
      return fromWire.announcement(data as WireAnnouncement)
    },
    async deleteAnnouncement(announcementId, options) {
      checkId('id', announcementId)
      await set('group.announcement.delete', 'announcement_id', announcementId, options)
    },
    async sharedFiles(options) {
      const { data } = await call('group.file.list', ofGroup, options)
      return (data as readonly WireSharedFile[]).map(fromWire.sharedFile)
    },
    async shareFile(file, { name, ...options } = {}) {
      checkFile('file', file)
      checkOptionalText('name', name)
      const fileName = name || nameOf(file)
      const [, fileType] = sharedTypes.find(([media]) => media.test(file.type)) ?? []
      const ticket = { file_type: fileType, to_id: id, to_type: 2 }
      const url = await upload(['file.upload.chat', ticket], file, { ...options, name: fileName })
      const params = { ...ofGroup, name: fileName, size: file.size, type: file.type, url }
      const { data } = await call('group.file.upload', params, options)
      return fromWire.sharedFile(data as WireSharedFile)
    },
    async renameFile(fileId, name, options) {
      checkId('id', fileId)
      checkText('name', name)
      await call('group.file.update_name', { ...ofGroup, file_id: fileId, name }, options)
    },
    async deleteFiles(ids, options) {
      checkIds('ids', ids)
      const { data } = await call('group.file.delete', { ...ofGroup, file_list: ids }, options)
      return fromWire.notDone(data)
    },
    async destroy(options) {
      await call('group.destroy', ofGroup, options)
    },
  }
}

function checkMinutes(minutes: number): void {
  const isMinutes = Number.isSafeInteger(minutes) && (minutes > 0 || minutes === permanent)
  if (!isMinutes) refuse('minutes', 'an integer of at least 1')
}

function checkChange(name: string, value: unknown): void {
  const argument = `changes.${name}`
  if (!Object.hasOwn(changeCalls, name)) refuse(argument, 'absent: no group has it')
  if (name === 'joinApproval') checkOneOf(argument, value, joinApprovals)
  else if (name === 'capacity') checkId(argument, value)
  else if (/^(name|description|ext)$/.test(name))
    checkText(argument, value, { isEmptyAllowed: name !== 'name' })
  else if (typeof value !== 'boolean') refuse(argument, 'true or false')
}
