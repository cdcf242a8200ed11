/** Groups, their members, settings, announcements and files; files of chats. */
import * as api from '@hermod/protocol'
import { isWholeBody, type Operation } from '@hermod/protocol'
import { asSubject, type Fixture, fixture, type WalkContext } from './walk-fixture.js'
import { type Account, type Params, placeholderId, type WalkWorld } from './walk-world.js'

/** A call about a group that is there; the friend is an ordinary member of it. */
export interface GroupWalkContext extends WalkContext {
  readonly group_id: number
  /** The owner, who prepares what the call names. */
  readonly keeper: Account
  /** Who added the things that the call names. */
  readonly author: Account
}

/** How an operation about a group is called so that it can do its work. */
export interface GroupFixture {
  readonly operation: Operation
  /** In the walk: the subject owns the group, is an ordinary member of the friend's, or is none. */
  readonly as: 'owner' | 'member' | 'outsider'
  /** Valid parameters beside the group; prepares what they name. */
  readonly params: (context: GroupWalkContext) => Params | Promise<Params>
}

/**
 * @returns what names the group in a call of the operation; nothing when it is named in another
 * way, as by a QR code
 */
export function groupParams(operation: Operation, group_id: number): Params {
  if (takes(operation, 'group_id')) return { group_id }
  return takes(operation, 'group_list') ? { group_list: [group_id] } : {}
}

export function takes({ query, body }: Operation, name: string): boolean {
  return name in query || (!isWholeBody(body) && name in body)
}

const as =
  (role: GroupFixture['as']) =>
  (operations: unknown, params: GroupFixture['params'] = () => ({})): GroupFixture[] =>
    [operations]
      .flat()
      .map((operation) => ({ operation: operation as Operation, as: role, params }))
const asOwner = as('owner')
const asMember = as('member')
const asOutsider = as('outsider')

const forKeeper = ({ world, keeper }: GroupWalkContext) => world.adminFor(keeper)
const friendAsList = ({ friend }: WalkContext) => ({ user_list: [friend.id] })
const strangerAsList = async ({ world }: WalkContext) => ({ user_list: [await world.stranger()] })
const on = () => ({ value: true })
const words = () => ({ value: 'walking' })

/** Something was done to users before. */
function after(
  earlier: unknown,
  users: typeof friendAsList | typeof strangerAsList,
  more: Params = {},
) {
  return async (context: GroupWalkContext): Promise<Params> => {
    const list = await users(context)
    await context.world.prepare(earlier as Operation, forKeeper(context), {
      group_id: context.group_id,
      ...list,
      ...more,
    })
    return list
  }
}

async function applicant({ world, keeper, group_id }: GroupWalkContext): Promise<Params> {
  const user_id = await world.stranger()
  await world.prepare(
    api.applyToGroup,
    { ...world.adminFor(keeper), userId: user_id },
    { group_id },
  )
  return { approval: true, user_id }
}

async function invitation(context: GroupWalkContext): Promise<Params> {
  const { world, subject, group_id } = context
  await world.prepare(api.updateSettings, asSubject(context), {
    user_id: subject.id,
    group_confirm: true,
  })
  await world.prepare(api.inviteToGroup, forKeeper(context), { group_id, user_list: [subject.id] })
  return { approval: true, user_id: subject.id }
}

async function announcement(context: GroupWalkContext): Promise<Params> {
  const { world, group_id } = context
  const published = await world.prepare(api.publishAnnouncement, forKeeper(context), {
    group_id,
    title: 'News',
    content: 'Some',
  })
  return { announcement_id: published?.data.id ?? placeholderId }
}

const file = () => ({ name: 'map.png', size: 1, url: 'https://example.org/map.png' })

async function sharedFile({ world, author, group_id }: GroupWalkContext): Promise<number> {
  const shared = await world.prepare(api.shareFile, world.adminFor(author), { group_id, ...file() })
  return shared?.data.file_id ?? placeholderId
}

async function qrCode(context: GroupWalkContext): Promise<Params> {
  const signed = await context.world.prepare(api.signGroupQrCode, forKeeper(context), {
    group_id: context.group_id,
  })
  return { qr_info: signed?.data.qr_info ?? 'unsigned' }
}

/** Every operation that asks for a right in a group. */
export const groupRightFixtures: readonly GroupFixture[] = [
  ...asOwner([api.destroyGroup, api.getGroup, api.listGroups, api.getGroupSettings]),
  ...asOwner(api.transferGroup, ({ friend }) => ({ new_owner: friend.id })),
  ...asOwner(
    [api.setGroupName, api.setGroupAvatar, api.setGroupDescription, api.setGroupExt],
    words,
  ),

  ...asOwner([api.addGroupAdmins, api.blockGroupUsers, api.kickGroupMembers], friendAsList),
  ...asOwner(api.banGroupMembers, (context) => ({ ...friendAsList(context), duration: 5 })),
  ...asOwner(api.removeGroupAdmins, after(api.addGroupAdmins, friendAsList)),
  ...asOwner(api.unbanGroupMembers, after(api.banGroupMembers, friendAsList, { duration: 5 })),
  ...asOwner(api.unblockGroupUsers, after(api.blockGroupUsers, strangerAsList)),
  ...asOwner([api.listDisplayNames, api.listMemberInfo], friendAsList),
  ...asOwner([api.addGroupMembers, api.inviteToGroup], strangerAsList),
  ...asOwner([
    api.listGroupAdmins,
    api.listBannedMembers,
    api.listGroupBlocks,
    api.listGroupMembers,
  ]),
  ...asMember(api.leaveGroup),
  ...asMember(api.setDisplayName, words),

  ...asOutsider(api.applyToGroup, () => ({ reason: 'hello' })),
  ...asOwner(api.handleJoinRequest, applicant),
  ...asOwner(api.listJoinRequests, async (context) => {
    await applicant(context)
    return {}
  }),
  ...asOutsider(api.handleGroupInvitation, invitation),
  ...asOwner([api.signGroupQrCode, api.signGroupQrText]),
  ...asOutsider([api.joinByQrCode, api.joinByQrText], qrCode),

  ...asOwner([api.getAnnouncement, api.deleteAnnouncement], announcement),
  ...asOwner(api.getLastAnnouncement, async (context) => {
    await announcement(context)
    return {}
  }),
  ...asOwner(api.listAnnouncements),
  ...asOwner(api.publishAnnouncement, () => ({ title: 'News', content: 'Some' })),

  ...asOwner([api.setReadAck, api.setMemberInfoHidden, api.setHistoryVisible], on),
  ...asOwner([api.setMemberInvitation, api.setMemberModification], on),
  ...asOwner(api.setApplyApproval, () => ({ apply_approval: 1 })),
  ...asOwner(api.setGroupCapacity, () => ({ value: 500 })),
  ...asOwner(api.banGroup, () => ({ duration: 5 })),
  ...asOwner(api.unbanGroup),
  ...asMember(api.setNotDisturb, on),
  ...asMember(api.setMuteMode, () => ({ msg_mute_mode: 1 })),
  ...asMember(api.setPushMode, () => ({ msg_push_mode: 1 })),

  ...asOwner(api.getSharedFile, async (context) => ({ file_id: await sharedFile(context) })),
  ...asOwner(api.listSharedFiles),
  ...asOwner(api.shareFile, file),
  ...asOwner(api.renameSharedFile, async (context) => ({
    file_id: await sharedFile(context),
    name: 'plan.png',
  })),
  ...asOwner(api.deleteSharedFiles, async (context) => ({
    file_list: [await sharedFile(context)],
  })),
]

/** @returns its ID */
export async function newGroup(
  world: WalkWorld,
  owner: Account,
  more: Params = {},
): Promise<number> {
  const created = await world.prepare(api.createGroup, world.adminFor(owner), {
    name: 'Walkers',
    type: 0,
    ...more,
  })
  return created?.data.group_id ?? placeholderId
}

function inNewGroup({ operation, as: role, params }: GroupFixture): Fixture {
  return fixture(operation, async (context) => {
    const { world, subject, friend } = context
    const keeper = role === 'owner' ? subject : friend
    const others = { owner: [friend.id], member: [subject.id], outsider: [] }[role]
    const group_id = await newGroup(world, keeper)
    if (others.length > 0)
      await world.prepare(api.addGroupMembers, world.adminFor(keeper), {
        group_id,
        user_list: others,
      })
    return {
      ...groupParams(operation, group_id),
      ...(await params({ ...context, group_id, keeper, author: keeper })),
    }
  })
}

export const groupFixtures: readonly Fixture[] = [
  fixture(api.createGroup, { name: 'Walkers', type: 0 }),
  fixture(api.listPublicGroups),
  fixture(api.listJoinedGroups),
  fixture(api.listGroupInvitations),
  ...groupRightFixtures.map(inNewGroup),
]

export const fileFixtures: readonly Fixture[] = [
  fixture(api.getChatUploadTicket, ({ friend }) => ({
    file_type: 100,
    to_id: friend.id,
    to_type: 1,
  })),
  fixture(api.getUserAvatarUploadTicket),
  fixture(api.getGroupAvatarUploadTicket, async ({ world, subject }) => ({
    group_id: await newGroup(world, subject),
  })),
  fixture(
    api.forwardFile,
    ({ friend }) => ({ file_sign: 'unsigned', to_id: friend.id, to_type: 1 }),
    { error: 'file_signature_invalid' },
  ),
  fixture(api.uploadFile, { ticket: 'forged' }),
  fixture(api.finishUpload, { ticket: 'forged' }),
  fixture(api.downloadChatFile, { file_sign: 'unsigned' }, { error: 'file_signature_invalid' }),
  fixture(api.downloadAvatar, { object_name: 'nothing' }, { error: 'file_not_found' }),
]
