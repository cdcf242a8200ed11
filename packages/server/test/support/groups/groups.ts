/** How tests make groups, and how they look at them. */
import type {
  Announcement,
  GroupApplication,
  GroupInvitation,
  GroupMember,
  GroupRecord,
  UserResult,
} from '@hermod/protocol'
import type { Answer, Api } from '@hermod/testkit'
import type { Person } from '../contacts.js'
import type { Sql } from '../database/sql.js'
import { recordedEvents } from '../messaging/recorded-events.js'

export const roles = { member: 0, admin: 1, owner: 2 } as const
export const types = { private: 0, public: 1, chatroom: 2, temporary: 3 } as const

/** More pages than any test needs. */
const maxPages = 2_000

export interface GroupOptions {
  readonly members?: readonly Pick<Person, 'id'>[]
  readonly admins?: readonly Pick<Person, 'id'>[]
  /** Further parameters of /group/create. */
  readonly more?: object
}

/**
 * A group of the owner, with members who were added without asking; admins are among them.
 * @returns its ID
 */
export async function aGroup(
  owner: Pick<Person, 'api'>,
  { members = [], admins = [], more = {} }: GroupOptions = {},
): Promise<number> {
  const { data } = await owner.api.succeed('POST', '/group/create', {
    body: { name: 'Group', type: types.private, ...more },
  })
  const group_id: number = data.group_id
  const added = [...members, ...admins].map(({ id }) => id)
  if (added.length > 0)
    await expectSuccess(
      await groupCall(owner.api, '/group/admin/member_join', group_id, { user_list: added }),
    )
  if (admins.length > 0)
    await expectSuccess(
      await groupCall(owner.api, '/group/admin/add', group_id, {
        user_list: admins.map(({ id }) => id),
      }),
    )
  return group_id
}

/** A POST about a group, with its parameters in the body. */
export function groupCall(
  api: Api,
  path: string,
  group_id: unknown,
  params: object = {},
): Promise<Answer> {
  return api.call('POST', path, { body: { group_id, ...params } })
}

/** A GET about a group. */
export function groupQuery(
  api: Api,
  path: string,
  group_id: number,
  params: object = {},
): Promise<Answer> {
  return api.call('GET', path, { query: { group_id, ...params } })
}

/** @throws Error when the answer is a failure, as a whole or for one user */
export function expectSuccess(answer: Answer): Answer {
  const results: UserResult[] = Array.isArray(answer.envelope.data)
    ? answer.envelope.data
    : (answer.envelope.data?.list ?? [])
  if (answer.code !== 200 || results.some((each) => each?.result === 'fail'))
    throw new Error(`a call failed: ${answer.text}`)
  return answer
}

/** What a call did for each user: null, or the reason of its failure. */
export function outcomes({ envelope: { data } }: Answer): Record<number, string | null> {
  const results: UserResult[] = Array.isArray(data) ? data : data.list
  return Object.fromEntries(
    results.map(({ user_id, result, reason }) => [
      user_id,
      result === 'success' ? null : (reason ?? ''),
    ]),
  )
}

export async function groupInfo(api: Api, group_id: number): Promise<GroupRecord> {
  return (await api.succeed<GroupRecord>('GET', '/group/info', { query: { group_id } })).data
}

export async function allPages<T>(
  api: Api,
  path: string,
  query: object,
  limit?: number,
): Promise<T[]> {
  const all: T[] = []
  let cursor: string | undefined
  for (let pages = 1; ; pages++) {
    const page = await api.succeed<T[]>('GET', path, { query: { ...query, cursor, limit } })
    all.push(...page.data)
    if (page.cursor === undefined) return all
    if (pages === maxPages) throw new Error(`${path} has no last page`)
    cursor = page.cursor
  }
}

/** All pages, by user ID. */
export const groupMembers = (api: Api, group_id: number, limit?: number) =>
  allPages<GroupMember>(api, '/group/member_list', { group_id }, limit)

export async function memberIds(api: Api, group_id: number): Promise<number[]> {
  return (await groupMembers(api, group_id)).map(({ user_id }) => Number(user_id))
}

export async function joinRequests(
  api: Api,
  ...group_list: readonly number[]
): Promise<GroupApplication[]> {
  return (
    await api.succeed<GroupApplication[]>('POST', '/group/application_list', {
      body: { group_list },
    })
  ).data
}

export async function groupInvitations(api: Api): Promise<GroupInvitation[]> {
  return (await api.succeed<GroupInvitation[]>('GET', '/group/invitation_list')).data
}

export async function announcements(api: Api, group_id: number): Promise<Announcement[]> {
  return (
    await api.succeed<Announcement[]>('GET', '/group/announcement/list', { query: { group_id } })
  ).data
}

/** A group event as it was recorded. */
export interface GroupEvent {
  readonly kind: string
  readonly actor: number
  readonly users: readonly number[]
  readonly content: string
}

/** What was recorded of a group, oldest first; kinds without `group.`. */
export async function groupEventsOf(sql: Sql, group_id: number): Promise<GroupEvent[]> {
  return (await recordedEvents(sql, 'group.'))
    .filter(({ group }) => group === group_id)
    .map(({ kind, actor, users, content }) => ({
      kind: kind.slice('group.'.length),
      actor,
      users,
      content,
    }))
}
