/** The users of the realtime scenario, their tokens, groups and contacts. */
import type { Api } from '@hermod/testkit'
import type { StoredServer } from '../measure/build.js'
import { createImportedUsers, lists } from '../population/imported-users.js'
import type { DeviceLogin } from './device.js'

/** An application with users who are all members of one group. */
export interface RealtimeApp {
  readonly api: Api
  readonly logins: readonly DeviceLogin[]
  readonly groupId: number
}

const groupsOfUser = 20
const membersOfGroup = 100
const contactsOfUser = 30

/** @param appId of the server */
export async function makeRealtimeApp(
  { process }: StoredServer,
  users: number,
  name = 'device',
): Promise<RealtimeApp> {
  const { api, appId } = process
  const operator = api.as(process.operatorToken)
  await operator.succeed('POST', '/operator/v1/app/update', {
    body: { app_id: appId, settings: { group_capacity_limit: users + 1_000 } },
  })
  const ids = await createImportedUsers(operator, appId, name, users)
  const logins: DeviceLogin[] = []
  for (const userId of ids) {
    const token = (await api.options.issueToken?.(appId, userId)) ?? ''
    logins.push({ userId, token, deviceGuid: `${name}-${userId}` })
  }
  const groupId = await createGroup(api, ids, users + 1_000)
  return { api, logins, groupId }
}

/** Gives each user 20 groups of 100 members and 30 contacts. */
export async function addGroupsAndContacts(
  server: StoredServer,
  { api, logins }: RealtimeApp,
): Promise<void> {
  const ids = logins.map(({ userId }) => userId)
  const size = Math.min(membersOfGroup, ids.length)
  for (let round = 0; round < groupsOfUser; round++)
    for (let start = 0; start + size <= ids.length; start += size) {
      const at = (index: number) => ids[(start + index * (round + 1)) % ids.length] as number
      const members = [...new Set(Array.from({ length: size }, (_, index) => at(index)))]
      await createGroup(api, members, size)
    }
  const now = Date.now()
  const rows = ids.flatMap((userId, index) =>
    Array.from({ length: contactsOfUser / 2 }, (_, step) => [
      userId,
      ids[(index + step + 1) % ids.length] as number,
    ]).flatMap(([a, b]) => [
      [a, b],
      [b, a],
    ]),
  )
  const { appId } = server.process
  for (const part of lists(rows)) {
    const values = part.map(
      ([user, peer]) => `('${appId}', ${user}, ${peer}, 0, 0, '', '', 0, ${now})`,
    )
    // A contact takes two calls of the peers each; these rows are the same.
    await server.sql(
      `insert into contacts (app_id, user_id, peer_id, state, is_blocked, alias, ext, mute_notification, updated_at)
       values ${values.join()} on conflict do nothing`,
    )
  }
}

/** Creates a group of these users, the first of them its owner. @returns its ID */
export async function createGroup(
  api: Api,
  ids: readonly number[],
  capacity: number,
): Promise<number> {
  const [owner, ...others] = ids as [number, ...number[]]
  const caller = api.admin({ userId: owner })
  const { data } = await caller.succeed('POST', '/group/create', {
    body: { name: 'Bench', type: 0, user_list: [] },
  })
  const group_id = Number(data.group_id)
  if (capacity > membersOfGroup)
    await caller.succeed('POST', '/group/settings/capacity', {
      body: { group_id, value: capacity },
    })
  for (const user_list of lists(others))
    await caller.succeed('POST', '/group/admin/member_join', { body: { group_id, user_list } })
  return group_id
}

/** One user with conversations of one message with as many others. */
export async function addConversations(
  { api, logins }: RealtimeApp,
  peers: readonly number[],
): Promise<void> {
  const own = logins[0]?.userId as number
  for (const targets of lists(peers)) await sendText(api, own, targets)
}

/** Sends messages to a user from each of some others. */
export async function sendFromEach(
  api: Api,
  senders: readonly number[],
  target: number,
  messages: number,
): Promise<void> {
  for (let round = 0; round < messages; round++)
    await Promise.all(senders.map((sender) => sendText(api, sender, [target])))
}

/** Sends a message to the group of all. */
export function sendToGroup({ api, logins, groupId }: RealtimeApp): Promise<void> {
  return sendText(api, logins[0]?.userId as number, [groupId], 2)
}

async function sendText(
  api: Api,
  sender: number,
  targets: readonly number[],
  type = 1,
): Promise<void> {
  const body = { type, targets, content_type: 0, content: 'x'.repeat(100) }
  await api.admin({ userId: sender }).succeed('POST', '/message/send', { body })
}
