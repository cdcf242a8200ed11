/** The answers of the HTTP API about everything that devices of a user keep. */
import type { ConversationEntry, Message } from '@hermod/protocol'
import type { Api, Json } from '@hermod/testkit'
import { relations } from '../contacts.js'
import { allPages, groupMembers } from '../groups/groups.js'
import { conversationList, history, unreadCounts } from '../messaging/messaging.js'
import type { LogHead } from './logs.js'

/** The answers of the server to one user. */
export interface Answers {
  /** Value by key of the thing, such as `contact 7`; see {@link readAnswers}. */
  readonly things: ReadonlyMap<string, unknown>
  /** The heads of all logs, with their newest messages. */
  readonly heads: readonly LogHead[]
  /** Messages by peer or group, newest first, for each entry of `conversations`. */
  readonly histories: ReadonlyMap<number, readonly Message[]>
  readonly conversations: readonly ConversationEntry[]
  readonly unread: Readonly<Record<number, number>>
  /** The pos from which a sync finds what changes after these answers. */
  readonly pos: string
}

/** The user who reads, and the users and groups to read about. */
export interface Reader {
  readonly id: number
  /** Calls with an access token of the user. */
  readonly api: Api
  /** Users whose contact state is read. */
  readonly peers: readonly number[]
  /** Groups that are read although the user may not be a member. */
  readonly groups: readonly number[]
  /** Groups of the user that are not read. */
  readonly passedGroups?: ReadonlySet<number>
}

/**
 * Reads everything, the heads last: reading a history moves the position up to which messages are
 * delivered.
 */
export async function readAnswers(reader: Reader): Promise<Answers> {
  const { api } = reader
  const [things, conversations] = await Promise.all([readThings(reader), conversationList(api)])
  const histories = await Promise.all(
    conversations.map(async ({ conversation_id: { uid } }) => {
      const peer = Number(uid)
      return [peer, await history(api, peer)] as const
    }),
  )
  const [unread, { heads, pos }] = await Promise.all([unreadCounts(api), readHeads(api)])
  return { things, conversations, histories: new Map(histories), unread, heads, pos }
}

async function readHeads(api: Api): Promise<{ heads: LogHead[]; pos: string }> {
  const heads: LogHead[] = []
  let pos = ''
  let cursor: string | undefined
  do {
    const body = { after: '', list: true, limit: 200, window: 50, cursor }
    const { data } = await api.succeed<Json>('POST', '/message/sync', { body })
    heads.push(...data.heads)
    pos ||= data.pos
    cursor = data.cursor
  } while (cursor !== undefined)
  return { heads, pos }
}

/**
 * Reads things by key, as in the kinds of `userChangeKind`; `groupData` is the group itself, which
 * has a version.
 */
async function readThings(reader: Reader): Promise<Map<string, unknown>> {
  const { id, api, peers } = reader
  const read = async (method: string, path: string, body?: object) =>
    outcome(await api.call(method, path, body && { body }))
  const [own, entries, requests, invitations, joined] = await Promise.all([
    Promise.all([
      ['profile', read('GET', '/user/profile')],
      ['settings', read('GET', '/user/settings')],
      ['tags', read('GET', '/user/push/tag')],
      ['devices', read('GET', '/user/device/list')],
      ['pins', read('GET', '/user/conversation/pin_list')],
    ] as const),
    api.succeed('POST', '/roster/list', { body: { list: peers } }),
    allPages<Json>(api, '/roster/apply/list', {}),
    allPages<Json>(api, '/group/invitation_list', {}),
    api.succeed('GET', '/group/user_joined'),
  ])
  const things = new Map<string, unknown>()
  for (const [key, value] of own) things.set(key, await value)
  for (const { user_id, alias, ext, mute_notification, relation } of entries.data)
    if (relation !== relations.stranger)
      things.set(`contact ${user_id}`, { alias, ext, mute_notification, relation })
  for (const request of requests) things.set(`contactRequest ${request.user_id}`, request)
  for (const invitation of invitations) things.set(`invitation ${invitation.group_id}`, invitation)
  const joinedGroups: number[] = joined.data.map(Number)
  const { groups, passedGroups } = reader
  const wanted = new Set([...joinedGroups, ...groups])
  await Promise.all(
    [...wanted]
      .filter((group) => !passedGroups?.has(group))
      .map(async (group) => {
        for (const [key, value] of await readGroup(api, id, group)) things.set(key, value)
      }),
  )
  for (const group of joinedGroups) things.set(`joined ${group}`, true)
  return things
}

async function readGroup(api: Api, me: number, group: number): Promise<[string, unknown][]> {
  const get = async (path: string) =>
    outcome(await api.call('GET', path, { query: { group_id: group } }))
  const [info, members, roles, requests, blocks, ...lists] = await Promise.all([
    get('/group/info'),
    groupMembers(api, group).catch(String),
    get('/group/admin_list'),
    api.call('POST', '/group/application_list', { body: { group_list: [group] } }),
    get('/group/blocked_list'),
    get('/group/settings'),
    get('/group/banned_list'),
    get('/group/announcement/list'),
    get('/group/file/list'),
  ])
  const { msg_mute_mode, msg_push_mode, ...shared } = info as Json
  const own = Array.isArray(members)
    ? members.find(({ user_id }) => Number(user_id) === me)
    : undefined
  return [
    [`group ${group}`, own && { ...own, msg_mute_mode, msg_push_mode }],
    // Without its version, which also counts what not all members learn, such as the end of a block.
    [`groupData ${group}`, [shared, members, roles, ...lists].map(withoutVersion)],
    [`joinRequests ${group}`, outcome(requests)],
    [`blocks ${group}`, blocks],
  ]
}

function withoutVersion(value: unknown): unknown {
  if (typeof value !== 'object' || Array.isArray(value)) return value
  const { version: _, updated_at: __, ...others } = value as Json
  return others
}

/** The data, or the code of a refusal. */
function outcome({ code, envelope }: { readonly code: number; readonly envelope: Json }): unknown {
  return code === 200 ? envelope.data : { code }
}
