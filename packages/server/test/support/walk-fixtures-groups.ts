/** Groups, their members, settings, announcements and files; files of chats. */
import * as api from '@hermod/protocol'
import { asSubject, type Fixture, fixture, type Scene } from './walk-fixture.js'
import { type Params, type Person, placeholderId } from './walk-world.js'

interface GroupScene extends Scene {
  readonly group_id: number
}

async function newGroup({ world }: Scene, owner: Person, more: Params = {}): Promise<{ group_id: number }> {
  const created = await world.prepare(api.createGroup, world.adminFor(owner), { name: 'Walkers', type: 0, ...more })
  return { group_id: created?.data.group_id ?? placeholderId }
}

/** About a new group of the subject; the friend is a member. */
function inOwnGroup(operation: unknown, params: (scene: GroupScene) => Params | Promise<Params> = () => ({})): Fixture {
  return fixture(operation, async (scene) => {
    const group = await newGroup(scene, scene.subject)
    await scene.world.prepare(api.addGroupMembers, asSubject(scene), { ...group, user_list: [scene.friend.id] })
    return { ...group, ...(await params({ ...scene, ...group })) }
  })
}

/** About a new group of the friend, into which the subject may come. */
function inGroupOfFriend(operation: unknown, params: (scene: GroupScene) => Params | Promise<Params>): Fixture {
  return fixture(operation, async (scene) => {
    const group = await newGroup(scene, scene.friend, { type: 1 })
    return params({ ...scene, ...group })
  })
}

const friendAsList = ({ friend }: Scene) => ({ user_list: [friend.id] })
const strangerAsList = async ({ world }: Scene) => ({ user_list: [await world.stranger()] })
const on = () => ({ value: true })
const words = () => ({ value: 'walking' })

async function applicant(scene: GroupScene): Promise<Params> {
  const user_id = await scene.world.stranger()
  await scene.world.prepare(api.applyToGroup, { ...asSubject(scene), userId: user_id }, { group_id: scene.group_id })
  return { approval: true, user_id }
}

async function invitation(scene: GroupScene): Promise<Params> {
  const { world, subject, friend, group_id } = scene
  await world.prepare(api.updateSettings, asSubject(scene), { user_id: subject.id, group_confirm: true })
  await world.prepare(api.inviteToGroup, world.adminFor(friend), { group_id, user_list: [subject.id] })
  return { approval: true, group_id, user_id: subject.id }
}

async function announcement(scene: GroupScene): Promise<Params> {
  const { group_id } = scene
  const published = await scene.world.prepare(api.publishAnnouncement, asSubject(scene), { group_id, title: 'News', content: 'Some' })
  return { announcement_id: published?.data.id ?? placeholderId }
}

const file = () => ({ name: 'map.png', size: 1, url: 'https://example.org/map.png' })

async function sharedFile(scene: GroupScene): Promise<number> {
  const shared = await scene.world.prepare(api.shareFile, asSubject(scene), { group_id: scene.group_id, ...file() })
  return shared?.data.file_id ?? placeholderId
}

const qrCode = async ({ world, friend, group_id }: GroupScene) => {
  const signed = await world.prepare(api.signGroupQrCode, world.adminFor(friend), { group_id })
  return { qr_info: signed?.data.qr_info ?? 'unsigned' }
}

export const groupFixtures: readonly Fixture[] = [
  fixture(api.createGroup, { name: 'Walkers', type: 0 }),
  inOwnGroup(api.destroyGroup),
  inOwnGroup(api.getGroup),
  fixture(api.listGroups, async (scene) => ({ group_list: [(await newGroup(scene, scene.subject)).group_id] })),
  fixture(api.listPublicGroups),
  fixture(api.listJoinedGroups),
  inOwnGroup(api.transferGroup, ({ friend }) => ({ new_owner: friend.id })),
  ...[api.setGroupName, api.setGroupAvatar, api.setGroupDescription, api.setGroupExt].map((operation) => inOwnGroup(operation, words)),

  ...[api.addGroupAdmins, api.removeGroupAdmins, api.unbanGroupMembers, api.blockGroupUsers].map((each) => inOwnGroup(each, friendAsList)),
  ...[api.unblockGroupUsers, api.kickGroupMembers].map((operation) => inOwnGroup(operation, friendAsList)),
  ...[api.listDisplayNames, api.listMemberInfo].map((operation) => inOwnGroup(operation, friendAsList)),
  ...[api.addGroupMembers, api.inviteToGroup].map((operation) => inOwnGroup(operation, strangerAsList)),
  inOwnGroup(api.banGroupMembers, (scene) => ({ ...friendAsList(scene), duration: 5 })),
  ...[api.listGroupAdmins, api.listBannedMembers, api.listGroupBlocks, api.listGroupMembers].map((operation) => inOwnGroup(operation)),
  inGroupOfFriend(api.leaveGroup, async ({ world, subject, friend, group_id }) => {
    await world.prepare(api.addGroupMembers, world.adminFor(friend), { group_id, user_list: [subject.id] })
    return { group_id }
  }),
  inOwnGroup(api.setDisplayName, words),

  inGroupOfFriend(api.applyToGroup, ({ group_id }) => ({ group_id, reason: 'hello' })),
  fixture(api.handleGroupApplication, async (scene) => {
    const group = await newGroup(scene, scene.subject, { type: 1 })
    return { ...group, ...(await applicant({ ...scene, ...group })) }
  }),
  fixture(api.listGroupApplications, async (scene) => ({ group_list: [(await newGroup(scene, scene.subject)).group_id] })),
  inGroupOfFriend(api.handleGroupInvitation, invitation),
  fixture(api.listGroupInvitations),
  ...[api.signGroupQrCode, api.signGroupQrText].map((operation) => inOwnGroup(operation)),
  ...[api.joinByQrCode, api.joinByQrText].map((operation) => inGroupOfFriend(operation, qrCode)),

  ...[api.getAnnouncement, api.deleteAnnouncement].map((operation) => inOwnGroup(operation, announcement)),
  inOwnGroup(api.getLastAnnouncement, async (scene) => {
    await announcement(scene)
    return {}
  }),
  inOwnGroup(api.listAnnouncements),
  inOwnGroup(api.publishAnnouncement, () => ({ title: 'News', content: 'Some' })),

  inOwnGroup(api.getGroupSettings),
  ...[api.setReadAck, api.setMemberInfoHidden, api.setHistoryVisible].map((operation) => inOwnGroup(operation, on)),
  ...[api.setMemberInvitation, api.setMemberModification, api.setNotDisturb].map((operation) => inOwnGroup(operation, on)),
  inOwnGroup(api.setApplyApproval, () => ({ apply_approval: 1 })),
  inOwnGroup(api.setGroupCapacity, () => ({ value: 500 })),
  inOwnGroup(api.banGroup, () => ({ duration: 5 })),
  inOwnGroup(api.unbanGroup),
  inOwnGroup(api.setMuteMode, () => ({ msg_mute_mode: 1 })),
  inOwnGroup(api.setPushMode, () => ({ msg_push_mode: 1 })),
]

export const fileFixtures: readonly Fixture[] = [
  inOwnGroup(api.getSharedFile, async (scene) => ({ file_id: await sharedFile(scene) })),
  inOwnGroup(api.listSharedFiles),
  inOwnGroup(api.shareFile, file),
  inOwnGroup(api.renameSharedFile, async (scene) => ({ file_id: await sharedFile(scene), name: 'plan.png' })),
  inOwnGroup(api.deleteSharedFiles, async (scene) => ({ file_list: [await sharedFile(scene)] })),
  fixture(api.getChatUploadTicket, ({ friend }) => ({ file_type: 100, to_id: friend.id, to_type: 1 })),
  fixture(api.getUserAvatarUploadTicket),
  inOwnGroup(api.getGroupAvatarUploadTicket),
  fixture(api.forwardFile, ({ friend }) => ({ file_sign: 'unsigned', to_id: friend.id, to_type: 1 }), { error: 'file_signature_invalid' }),
  fixture(api.downloadChatFile, { file_sign: 'unsigned' }, { error: 'file_signature_invalid' }),
  fixture(api.downloadAvatar, { object_name: 'nothing' }, { error: 'file_not_found' }),
]
