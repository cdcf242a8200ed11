/**
 * What must be true of groups, whatever happened to them and in which order: seen by SQL, through
 * the API and in their events.
 */
import type { GroupMember } from '@hermod/protocol'
import type { Api } from '@hermod/testkit'
import { answerCode } from '../answer-codes.js'
import type { Person } from '../contacts.js'
import type { SqlRow } from '../database/sql.js'
import type { Watched } from '../watched-server.js'
import { type GroupEvent, groupEventsOf } from './groups.js'

/** Those that can still be answered. */
const pendingOf = (table: string, user: string) => `
  select '${table} of ' || a.${user} || ' in ' || a.group_id as fault from ${table} a
    join groups g on g.app_id = a.app_id and g.group_id = a.group_id
    left join group_members m on m.app_id = a.app_id and m.group_id = a.group_id and m.user_id = a.${user}
    left join group_blocks b on b.app_id = a.app_id and b.group_id = a.group_id and b.user_id = a.${user}
    where a.status = 0 and a.expires_at > a.updated_at and (m.user_id is not null or b.user_id is not null or g.status <> 0)`

const defaultCapacity = 2_000

/** Each finds what must not be there. */
const forbidden: Readonly<Record<string, string>> = {
  'a count that is not that of the members': `
    select group_id || ' says ' || member_count as fault from groups g where member_count <>
      (select count(*) from group_members m where m.app_id = g.app_id and m.group_id = g.group_id)`,
  'a count that is not that of the blocked users': `
    select group_id || ' says ' || block_count as fault from groups g where block_count <>
      (select count(*) from group_blocks b where b.app_id = g.app_id and b.group_id = g.group_id)`,
  'a count that is not that of the bans': `
    select group_id || ' says ' || ban_count as fault from groups g where ban_count <>
      (select count(*) from group_members m where m.app_id = g.app_id and m.group_id = g.group_id and m.ban_expires_at <> 0)`,
  'a count that is not that of the join requests': `
    select group_id || ' says ' || join_request_count as fault from groups g where join_request_count <>
      (select count(*) from group_join_requests r where r.app_id = g.app_id and r.group_id = g.group_id)`,
  'a count that is not that of the invitations': `
    select user_id || ' says ' || invitations as fault from group_invitation_counts c where invitations <>
      (select count(*) from group_invitations i where i.app_id = c.app_id and i.invitee_id = c.user_id)`,
  'invitations that nobody counts': `
    select invitee_id || ' in ' || group_id as fault from group_invitations i where not exists
      (select 1 from group_invitation_counts c where c.app_id = i.app_id and c.user_id = i.invitee_id)`,
  'more members than the capacity':
    'select group_id as fault from groups where member_count > capacity',
  'not one owner': `
    select group_id as fault from groups g where status = 0 and 1 <>
      (select count(*) from group_members m where m.app_id = g.app_id and m.group_id = g.group_id and m.role = 2)`,
  'an owner who is no member': `
    select group_id as fault from groups g where status = 0 and not exists (select 1 from group_members m
      where m.app_id = g.app_id and m.group_id = g.group_id and m.user_id = g.owner_id and m.role = 2)`,
  'a member who is blocked': `
    select m.user_id || ' in ' || m.group_id as fault from group_members m
      join group_blocks b on b.app_id = m.app_id and b.group_id = m.group_id and b.user_id = m.user_id`,
  'an open application of a member, of somebody blocked or to a dissolved group': pendingOf(
    'group_join_requests',
    'applicant_id',
  ),
  'an open invitation of a member, of somebody blocked or to a dissolved group': pendingOf(
    'group_invitations',
    'invitee_id',
  ),
  'a member without a group': `
    select user_id || ' in ' || group_id as fault from group_members m where not exists
      (select 1 from groups g where g.app_id = m.app_id and g.group_id = m.group_id)`,
  ...Object.fromEntries(
    Object.entries({
      group_members: 'user_id',
      group_mute_gaps: 'user_id',
      group_blocks: 'user_id',
      group_removals: 'user_id',
      group_join_requests: 'applicant_id',
      group_invitations: 'invitee_id',
    }).map(([table, user]) => [
      `a row in ${table} of a deleted user`,
      `select t.${user} || ' in ' || t.group_id as fault from ${table} t
         join users u on u.app_id = t.app_id and u.user_id = t.${user} where u.deleted_at is not null`,
    ]),
  ),
}

/** Looks at groups again and again; versions must have grown by then. */
export class GroupWatch {
  readonly #versions = new Map<number, number>()
  readonly #memberIds = new Map<number, string>()

  constructor(private readonly watched: Watched) {}

  /**
   * @param people whose lists of groups are compared with the groups' lists of members
   * @returns what is wrong, in words
   */
  async faults(groupIds: readonly number[], people: readonly Person[]): Promise<string[]> {
    const { sql, server } = this.watched
    const found: string[] = []
    for (const [what, statement] of Object.entries(forbidden))
      found.push(...(await sql.run(statement)).map(({ fault }) => `${what}: ${fault}`))
    for (const groupId of groupIds) found.push(...(await this.#groupFaults(groupId)))
    found.push(...(await Promise.all(people.map((person) => this.#joinedFaults(person)))).flat())
    const { data } = await server.api.as(server.operatorToken).succeed('POST', '/operator/v1/check')
    return [...found, ...data.faults.map((fault: object) => `integrity: ${JSON.stringify(fault)}`)]
  }

  async #groupFaults(groupId: number): Promise<string[]> {
    const { sql, server } = this.watched
    const [group] = await sql.run(`select * from groups where group_id = ${groupId}`)
    if (!group) return [`group ${groupId} has vanished`]
    const rows = await sql.run(
      `select user_id, role from group_members where group_id = ${groupId} order by user_id`,
    )
    const told = [
      ...toldFaults(await groupEventsOf(sql, groupId), group, rows),
      ...(await this.#versionFaults(groupId, Number(group.version))),
    ]
    const answer = await server.api
      .admin()
      .call<GroupMember[]>('GET', '/group/member_list', { query: { group_id: groupId } })
    if (group.status !== 0)
      return [
        ...told,
        ...(answer.code === answerCode.group_not_found
          ? []
          : [`dissolved group ${groupId} answers ${answer.code}`]),
      ]
    const { data, total, version } = answer.envelope
    const ids = data.map(({ user_id }) => user_id).join()
    const grown = this.#isGrown(groupId, Number(version), ids)
    return [
      ...told,
      ...(ids === rows.map(({ user_id }) => user_id).join()
        ? []
        : [`the list of group ${groupId} is ${ids}`]),
      ...(total === rows.length ? [] : [`the total of group ${groupId} is ${total}`]),
      ...(grown ? [] : [`the version of group ${groupId} stays ${version}`]),
      ...(await this.#totalFaults(groupId)),
    ]
  }

  /** The versions of the events ascend by at most one, and the row has the last. */
  async #versionFaults(groupId: number, version: number): Promise<string[]> {
    const rows = await this.watched.sql.run(
      `select payload from outbox where kind like 'group.%' and payload like '%"group_id":${groupId},%' order by position`,
    )
    let last = 0
    for (const { payload } of rows) {
      const { version: next } = JSON.parse(String(payload))
      if (next !== last && next !== last + 1)
        return [`an event of group ${groupId} has version ${next} after ${last}`]
      last = next
    }
    return last === version ? [] : [`group ${groupId} has version ${version}, its events ${last}`]
  }

  async #totalFaults(groupId: number): Promise<string[]> {
    const admin = this.watched.server.api.admin()
    const query = { group_id: groupId }
    return (
      await Promise.all([
        totalFault(admin, '/group/banned_list', { query }),
        totalFault(admin, '/group/blocked_list', { query }),
        totalFault(admin, '/group/application_list', { body: { group_list: [groupId] } }),
      ])
    ).flat()
  }

  #isGrown(groupId: number, version: number, memberIds: string): boolean {
    const before = this.#versions.get(groupId) ?? 0
    const isSame = this.#memberIds.get(groupId) === memberIds
    this.#versions.set(groupId, version)
    this.#memberIds.set(groupId, memberIds)
    return isSame ? version >= before : version > before
  }

  async #joinedFaults({ id, api }: Person): Promise<string[]> {
    const answer = await api.call<number[]>('GET', '/group/user_joined')
    const rows = await this.watched.sql.run(`select g.group_id from group_members m
      join groups g on g.app_id = m.app_id and g.group_id = m.group_id where m.user_id = ${id} and g.status = 0 order by g.group_id`)
    const listed = answer.code === 200 ? answer.envelope.data : []
    const [said, stored] = [
      [...listed].sort((a, b) => a - b).join(),
      rows.map(({ group_id }) => group_id).join(),
    ]
    return [
      ...(said === stored ? [] : [`user ${id} is said to be in ${said} and is in ${stored}`]),
      ...(answer.code === 200 ? await totalFault(api, '/group/invitation_list', {}) : []),
    ]
  }
}

const pageLength = 7

/** A total that is not the length of all pages together. */
async function totalFault(
  api: Api,
  path: string,
  { query, body }: { readonly query?: object; readonly body?: object },
): Promise<string[]> {
  let listed = 0
  for (let cursor: string | undefined; ; ) {
    const page = await api.succeed<unknown[]>(body ? 'POST' : 'GET', path, {
      query: { ...query, cursor, limit: pageLength },
      ...(body && { body }),
    })
    listed += page.data.length
    cursor = page.cursor
    if (cursor !== undefined) continue
    const { total } = page
    return total === listed ? [] : [`${path}: the total is ${total}, and ${listed} are listed`]
  }
}

/** The events, one after the other, must be possible, and lead to what is there. */
function toldFaults(
  events: readonly GroupEvent[],
  group: SqlRow,
  rows: readonly SqlRow[],
): string[] {
  const faults: string[] = []
  const roles = new Map<number, number>()
  let capacity = defaultCapacity
  const steps: Readonly<Record<string, (user: number) => boolean>> = {
    created: (user) => roles.size === 0 && roles.set(user, 2).size === 1,
    joined: (user) => !roles.has(user) && roles.set(user, 0).has(user),
    left: (user) => roles.delete(user),
    kicked: (user) => (roles.get(user) === 0 || roles.get(user) === 1 ? roles.delete(user) : false),
    blocked: (user) => roles.get(user) !== 2 && (roles.delete(user) || true),
    admin_granted: (user) => roles.get(user) === 0 && roles.set(user, 1).has(user),
    admin_revoked: (user) => roles.get(user) === 1 && roles.set(user, 0).has(user),
    owner_assigned: (user) => {
      const [owner] = [...roles].find(([, role]) => role === 2) ?? []
      if (owner !== undefined) roles.set(owner, 0)
      return roles.has(user) && roles.set(user, 2).has(user)
    },
  }
  for (const { kind, users, content } of events) {
    const step = steps[kind]
    if (step)
      for (const user of users)
        if (!step(user))
          faults.push(`group ${group.group_id}: ${user} was told to be ${kind}, out of turn`)
    if (kind === 'info_updated') capacity = JSON.parse(content).capacity ?? capacity
    if (roles.size > capacity)
      faults.push(`group ${group.group_id} had ${roles.size} members and a capacity of ${capacity}`)
  }
  if (capacity !== Number(group.capacity))
    faults.push(`group ${group.group_id}: told to have a capacity of ${capacity}`)
  const told = JSON.stringify([...roles].sort(([a], [b]) => a - b))
  const stored = JSON.stringify(rows.map(({ user_id, role }) => [user_id, role]))
  if (told !== stored)
    faults.push(`group ${group.group_id}: what was told leads to ${told}, there is ${stored}`)
  return faults
}
