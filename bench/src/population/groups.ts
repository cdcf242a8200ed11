/** Creates a group of three and a large one through the API. */
import type { Api, Session } from '@hermod/testkit'
import { createImportedUsers, importedPassword, lists } from './imported-users.js'
import type { GroupWorld, Population } from './population.js'

/** Members of a small group. */
export const smallGroupSize = 3

const outsiders = 1000
const readers = 64

/** @param onProgress reports progress */
export async function makeGroups(
  population: Omit<Population, 'groups' | 'broadcasts' | 'crowd'>,
  onProgress: (text: string) => void,
): Promise<GroupWorld> {
  const { api, operator, appId, users, groupSize } = population
  const senders = users.slice(0, smallGroupSize)
  const owner = senders[0] as Session
  await operator.succeed('POST', '/operator/v1/app/update', {
    body: { app_id: appId, settings: { group_capacity_limit: groupSize + outsiders } },
  })
  const members = groupSize - senders.length
  onProgress(`importing ${members + outsiders} users`)
  const importing = performance.now()
  const ids = await createImportedUsers(operator, appId, 'crowd', members + outsiders)
  const importMs = performance.now() - importing
  const memberIds = ids.slice(0, members)
  const smallId = await createGroup(senders)
  const largeId = await createGroup(senders)
  await owner.api.succeed('POST', '/group/settings/capacity', {
    body: { group_id: largeId, value: groupSize + outsiders },
  })
  onProgress(`adding ${members} members to a group`)
  const joining = performance.now()
  for (const user_list of lists(memberIds)) await addMembers(owner, largeId, user_list)
  const joinMs = performance.now() - joining
  await requireSize(owner, largeId, groupSize)
  return {
    smallId,
    largeId,
    senders,
    readers: await logInSome(api, memberIds),
    outsiderIds: ids.slice(members),
    figures: { imported: ids.length, importMs, joined: members, joinMs },
  }
}

async function createGroup([owner, ...others]: readonly Session[]): Promise<number> {
  const user_list = others.map(({ id }) => id)
  const { data } = await (owner as Session).api.succeed('POST', '/group/create', {
    body: { name: 'Bench', type: 0, user_list },
  })
  if (data.count !== others.length + 1)
    throw new Error(`a new group has ${data.count} members instead of ${others.length + 1}`)
  return data.group_id
}

async function addMembers(
  owner: Session,
  group_id: number,
  user_list: readonly number[],
): Promise<void> {
  const { data } = await owner.api.succeed('POST', '/group/admin/member_join', {
    body: { group_id, user_list },
  })
  const failed = (data.list as { user_id: number; result: string; reason?: string }[]).find(
    ({ result }) => result !== 'success',
  )
  if (failed) throw new Error(`user ${failed.user_id} could not be added: ${failed.reason}`)
}

async function requireSize(owner: Session, group_id: number, size: number): Promise<void> {
  const { data } = await owner.api.succeed('GET', '/group/info', { query: { group_id } })
  if (data.count !== size)
    throw new Error(`the large group has ${data.count} members instead of ${size}`)
}

async function logInSome(api: Api, ids: readonly number[]): Promise<Session[]> {
  const count = Math.min(readers, ids.length)
  const chosen = Array.from({ length: count }, (_, index) =>
    Math.floor((index * ids.length) / count),
  )
  const sessions: Session[] = []
  for (const index of chosen)
    sessions.push(
      await api.login({
        id: ids[index] ?? 0,
        username: `crowd_${index}`,
        password: importedPassword,
      }),
    )
  return sessions
}
