/** A group of three and a large one, made through the API. */
import { randomBytes, scryptSync } from 'node:crypto'
import type { Api, Session } from '@hermod/testkit'
import type { GroupWorld, Population } from './population.js'

export const smallGroupSize = 3

const listLength = 500
const outsiders = 1000
const readers = 64
const password = 'correct horse battery'

/** @param tell says what goes on */
export async function createGroups(
  population: Omit<Population, 'groups'>,
  tell: (text: string) => void,
): Promise<GroupWorld> {
  const { api, operator, appId, users, groupSize } = population
  const senders = users.slice(0, smallGroupSize)
  const owner = senders[0] as Session
  await operator.succeed('POST', '/operator/v1/app/update', {
    body: { app_id: appId, settings: { group_capacity_limit: groupSize + outsiders } },
  })
  const members = groupSize - senders.length
  tell(`importing ${members + outsiders} users`)
  const importing = performance.now()
  const ids = await importUsers(operator, appId, members + outsiders)
  const importMs = performance.now() - importing
  const memberIds = ids.slice(0, members)
  const smallId = await createGroup(senders)
  const largeId = await createGroup(senders)
  await owner.api.succeed('POST', '/group/settings/capacity', {
    body: { group_id: largeId, value: groupSize + outsiders },
  })
  tell(`adding ${members} members to a group`)
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

/** The hash is ready, as it is when users come from another system; the same one for everybody. */
async function importUsers(operator: Api, appId: string, count: number): Promise<number[]> {
  const password_hash = scryptHash()
  const entries = Array.from({ length: count }, (_, index) => ({
    username: `crowd_${index}`,
    nick_name: `Crowd ${index}`,
    password_hash,
  }))
  const ids: number[] = []
  for (const list of lists(entries)) {
    const { data } = await operator.succeed('POST', '/operator/v1/user/import', {
      body: { app_id: appId, users: list },
    })
    const imported = data as {
      username: string
      result: string
      reason?: string
      user_id?: number
    }[]
    const failed = imported.find(({ result }) => result !== 'created')
    if (failed)
      throw new Error(`importing ${failed.username}: ${failed.result} ${failed.reason ?? ''}`)
    ids.push(...imported.map(({ user_id }) => Number(user_id)))
  }
  return ids
}

function scryptHash(): string {
  const salt = randomBytes(16)
  const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  return `$scrypt$ln=10,r=8,p=1$${unpadded(salt)}$${unpadded(scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 }))}`
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
    sessions.push(await api.login({ id: ids[index] ?? 0, username: `crowd_${index}`, password }))
  return sessions
}

function lists<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / listLength) }, (_, index) =>
    items.slice(index * listLength, (index + 1) * listLength),
  )
}
