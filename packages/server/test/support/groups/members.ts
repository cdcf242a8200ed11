/** A group with two admins, its calls about members, and its lists. */
import type { BlacklistEntry, GroupMember, GroupMemberInfo } from '@hermod/protocol'
import type { Answer, Api } from '@hermod/testkit'
import { type Person, registerPeople } from '../contacts.js'
import type { InProcessServer } from '../in-process-server.js'
import { aGroup, allPages, expectSuccess, groupCall, groupQuery } from './groups.js'

export const success = 200

export const reasons = {
  noPermission: 'no permission',
  notMember: 'user is not a member of the group',
  unknown: 'user does not exist',
  deleted: 'user has been deregistered',
  full: 'group is full',
  blocked: 'user is on the block list of the group',
}

/** The kind of user changes that owner and admins get. */
export const joinRequestsChange = 3
export const minuteMs = 60_000
export const permanent = -1
export const maxMinutes = 100_000_000_000

export const lookUps = ['/group/members/display_name', '/group/members/info']
export const pagedLists = ['/group/member_list', '/group/banned_list', '/group/blocked_list']

type Act = (
  api: Api,
  group_id: unknown,
  ...users: readonly (Pick<Person, 'id'> | number | bigint)[]
) => Promise<Answer>

const idOf = (user: Pick<Person, 'id'> | number | bigint) =>
  typeof user === 'object' ? user.id : user
export const act =
  (path: string, more: object = {}): Act =>
  (api, group_id, ...users) =>
    groupCall(api, path, group_id, {
      user_list: users.map(idOf),
      ...(path === '/group/ban' ? { duration: 5 } : {}),
      ...more,
    })

export const appoint = act('/group/admin/add')
export const dismiss = act('/group/admin/remove')
export const ban = act('/group/ban')
export const unban = act('/group/unban')
export const block = act('/group/block')
export const unblock = act('/group/unblock')
export const kick = act('/group/kick')
export const add = act('/group/admin/member_join')
export const leave = (api: Api, group_id: number) =>
  api.call('POST', '/group/leave', { query: { group_id } })

/** A group with an owner, two admins and two members; and two users who are none. */
export async function cast(server: InProcessServer, more: object = {}) {
  const people = await registerPeople(server, 7)
  const [owner, admin, otherAdmin, member, otherMember, outsider, otherOutsider] = people as [
    Person,
    Person,
    Person,
    Person,
    Person,
    Person,
    Person,
  ]
  const group_id = await aGroup(owner, {
    admins: [admin, otherAdmin],
    members: [member, otherMember],
    more,
  })
  return { group_id, owner, admin, otherAdmin, member, otherMember, outsider, otherOutsider }
}

export const admins = async (api: Api, group_id: number) =>
  (await groupQuery(api, '/group/admin_list', group_id)).data.map(
    ({ user_id }: GroupMember) => user_id,
  )
export const bannedList = (api: Api, group_id: number, limit?: number) =>
  allPages<GroupMember>(api, '/group/banned_list', { group_id }, limit)
export const bannedIds = async (api: Api, group_id: number) =>
  (await bannedList(api, group_id)).map(({ user_id }) => user_id)
export const blockList = (api: Api, group_id: number, limit?: number) =>
  allPages<BlacklistEntry>(api, '/group/blocked_list', { group_id }, limit)
export const blockedIds = async (api: Api, group_id: number) =>
  (await blockList(api, group_id)).map(({ user_id }) => user_id)
export const infoOf = async (
  api: Api,
  group_id: number,
  ...users: readonly Pick<Person, 'id'>[]
): Promise<GroupMemberInfo[]> =>
  expectSuccess(await act('/group/members/info')(api, group_id, ...users)).data

export async function roleOf(api: Api, group_id: number, user: Person) {
  const [info] = await infoOf(api, group_id, user)
  return info?.role
}

export async function expirationOf(api: Api, group_id: number, user: Person) {
  const [info] = await infoOf(api, group_id, user)
  return info?.expired_time
}

export const versionOf = async (api: Api, path: string, group_id: number): Promise<number> =>
  expectSuccess(await groupQuery(api, path, group_id)).envelope.version
