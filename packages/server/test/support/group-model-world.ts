/** A server and the users of random histories about a group: what they do and see, in the words of the model. */
import { type ErrorName, errorCatalogue, type UserResult } from '@hermod/protocol'
import type { Answer, Api, Json } from '@hermod/testkit'
import { type Person, registerPeople } from './contacts.js'
import {
  type Ban,
  count,
  deletedUser,
  everybody,
  flags,
  hasOpenInvitation,
  type Member,
  nobody,
  type Outcome,
  ownerOf,
  roleRank,
  type State,
  system,
  texts,
  userCount,
} from './group-model.js'
import { type Names, requests } from './group-model-calls.js'
import { type Call, cautiousUserOf, type Result } from './group-model-rules.js'
import { aGroup, groupNotices, types } from './groups.js'
import type { WatchedServer } from './watched-server.js'

const names = new Map(
  Object.entries(errorCatalogue).map(([name, { code }]) => [code, name as ErrorName]),
)
const reasons = new Map(
  Object.entries(errorCatalogue).map(([name, { text }]) => [text, name as ErrorName]),
)
const ranks = Object.keys(roleRank)
/** As no user ever has; it also stands for the system where an inviter is named. */
const systemId = 0

export class GroupWorld implements Names {
  groupId = 0
  qrInfo = 'none'
  /** How many calls there were. */
  serial = 0
  readonly #watched: WatchedServer
  readonly #people: readonly Person[]
  readonly #tokens: readonly Api[]

  private constructor(watched: WatchedServer, people: readonly Person[], tokens: readonly Api[]) {
    this.#watched = watched
    this.#people = people
    this.#tokens = tokens
  }

  static async enter(watched: WatchedServer): Promise<GroupWorld> {
    const { api } = watched.server
    const people = await registerPeople(watched.server, userCount + 1)
    const tokens = people.map(async ({ id: user_id }) => {
      const { data } = await api.succeed('POST', '/token/id', {
        body: { user_id, password: 'correct horse' },
      })
      return api.as(data.token)
    })
    const world = new GroupWorld(watched, people, await Promise.all(tokens))
    await (world.#tokens[deletedUser] as Api).succeed('POST', '/user/delete', {
      body: { password: 'correct horse' },
    })
    return world
  }

  /** A new group of user 0; nobody wants to be asked. */
  async newGroup(type: number): Promise<void> {
    for (const user of everybody) await this.#setCaution(user, false)
    const [owner] = this.#people
    if (!owner) throw new Error('nobody')
    this.groupId = await aGroup(owner, { more: { type } })
    this.qrInfo = 'none'
  }

  id(user: number): number {
    return user === system || user === nobody ? systemId : (this.#people[user]?.id as number)
  }

  async perform(call: Call): Promise<Result> {
    this.serial++
    const { method, path, ...what } = requests[call.kind](call, this)
    const answer = await this.#apiOf(call).call(method, path, what)
    if (call.kind === 'signQr' && answer.code === 200) this.qrInfo = answer.envelope.data.qr_info
    return this.#resultOf(answer)
  }

  #apiOf({ kind, caller: { hasAdminToken, user, header }, ...call }: Call): Api {
    const { api } = this.#watched.server
    if (kind === 'caution') return api.admin({ userId: this.id(cautiousUserOf(call)) })
    if (!hasAdminToken) return this.#tokens[user] as Api
    const userId = user === system ? {} : { userId: this.id(user) }
    const groupId = header === 'none' ? {} : { groupId: header === 'this' ? this.groupId : 1 }
    return api.admin({ ...userId, ...groupId })
  }

  #resultOf({ code, envelope: { data } }: Answer): Result {
    if (code !== 200) return names.get(code) ?? (`code ${code}` as ErrorName)
    const results = Array.isArray(data) ? data : (data?.list ?? [data])
    return results.every(isUserResult) && results.length > 0
      ? results.map((each: UserResult) => this.#outcomeOf(each))
      : null
  }

  #outcomeOf({ user_id, result, reason = '' }: UserResult): Outcome {
    return [
      this.#userOf(Number(user_id)),
      result === 'success' ? null : (reasons.get(reason) ?? (reason as ErrorName)),
    ]
  }

  #userOf(id: number): number {
    return id === systemId ? nobody : this.#people.findIndex((person) => person.id === id)
  }

  #setCaution(user: number, group_confirm: boolean): Promise<unknown> {
    const { id, api } = this.#people[user] as Person
    return api.succeed('POST', '/user/settings', { body: { user_id: id, group_confirm } })
  }

  /** All that can be seen of the group, in the form of {@link expected}. */
  async observed(): Promise<object> {
    const admin = this.#watched.server.api.admin()
    const body = {
      group_id: this.groupId,
      group_list: [this.groupId],
      user_list: this.#people.map(({ id }) => id),
    }
    const get = async (path: string) =>
      (await admin.call('GET', path, { query: { group_id: this.groupId } })).envelope.data
    const post = async (path: string) => (await admin.call('POST', path, { body })).envelope.data
    const users = (rows: Json) => rows?.map((row: Json) => this.#userOf(row.user_id)) ?? null
    const info = await get('/group/info')
    return {
      info: this.#infoOf(info),
      members:
        (await post('/group/members/info'))?.map((row: Json) => [
          this.#userOf(row.user_id),
          ranks[row.role + 1],
          row.display_name,
          banOf(row),
        ]) ?? null,
      list: users(await get('/group/member_list')),
      names: users(await post('/group/members/display_name')),
      admins: users(await get('/group/admin_list')),
      banned: users(await get('/group/banned_list')),
      blocked: users(await get('/group/blocked_list')),
      joinRequests: (await post('/group/application_list'))
        ?.map((row: Json) => this.#askedOf(row, row.applicant_id))
        .sort(),
      announcements:
        (await get('/group/announcement/list'))?.map((row: Json) => [
          this.#actorOf(row.author),
          row.title,
        ]) ?? null,
      users: await Promise.all(
        this.#people.slice(0, userCount).map((person) => this.#seenBy(person)),
      ),
      notices: sorted(
        (await groupNotices(this.#watched.sql, this.groupId)).map(
          ({ kind, actor, users: ids }) => ({
            kind,
            actor: this.#actorOf(actor),
            users: ids.map((id) => this.#actorOf(id)),
          }),
        ),
      ),
    }
  }

  #infoOf(info: Json): unknown {
    const {
      apply_approval,
      ban_expire_time,
      capacity,
      count: members,
      owner_id,
      status,
      type,
    } = info
    const own = [...flags, ...texts].map((name) => info[name])
    return [
      apply_approval,
      ban_expire_time,
      capacity,
      members,
      this.#userOf(owner_id),
      status,
      type,
      ...own,
    ]
  }

  #actorOf(id: number): number {
    return id === systemId ? system : this.#userOf(id)
  }

  #askedOf({ status, reason }: Json, from: number): unknown {
    return JSON.stringify([this.#actorOf(from), status, reason])
  }

  async #seenBy({ api }: Person): Promise<unknown> {
    const joined = await api.succeed('GET', '/group/user_joined')
    const invitations = await api.succeed('GET', '/group/invitation_list')
    const info = await api.call('GET', '/group/info', { query: { group_id: this.groupId } })
    const { msg_mute_mode, msg_push_mode } = info.envelope.data ?? {}
    const invitation = invitations.data.find((each: Json) => each.group_id === this.groupId)
    return [
      joined.data.includes(this.groupId),
      invitation ? this.#askedOf(invitation, invitation.inviter_id) : null,
      names.get(info.code) ?? [msg_mute_mode, msg_push_mode],
    ]
  }
}

/** What the model says is seen; of a dissolved group only what stays. */
export function expected(state: State): object {
  const { group, members } = state
  const rows = everybody.flatMap((user) => {
    const member = members[user]
    return member ? [{ user, member }] : []
  })
  const unless = <T>(value: T) => (group.isDissolved ? null : value)
  const users = (accept: (member: Member) => boolean) =>
    unless(rows.filter(({ member }) => accept(member)).map(({ user }) => user))
  const own = [...flags.map((name) => state.flags[name]), ...texts.map((name) => state.texts[name])]
  const asked = ({ from, status, reason }: { from: number; status: number; reason: string }) =>
    JSON.stringify([from, status, reason])
  return {
    info: [
      group.approval,
      group.isBanned ? -1 : 0,
      group.capacity,
      count(state),
      ownerOf(state),
      Number(group.isDissolved),
      group.type,
      ...own,
    ],
    members: unless(
      rows.map(({ user, member }) => [user, ranks[member.rank], member.name, member.ban]),
    ),
    list: users(() => true),
    names: users(() => true),
    admins: users((member) => member.rank === roleRank.admin),
    banned: users(({ ban }) => ban !== 'none'),
    blocked: unless(everybody.filter((user) => state.isBlocked[user])),
    joinRequests: group.isDissolved
      ? []
      : state.joinRequests.flatMap((each) => (each ? [asked(each)] : [])).sort(),
    announcements: unless(state.announcements.map(({ author, title }) => [author, title])),
    users: everybody.map((user) => {
      const invitation = state.invitations[user]
      const member = members[user]
      const isOpen =
        !group.isDissolved &&
        (hasOpenInvitation(state, user) ||
          group.type === types.public ||
          group.type === types.chatroom)
      const refused = group.isDissolved ? 'group_not_found' : 'member_required'
      const info = member || isOpen ? [member?.mute ?? 0, member?.push ?? 0] : refused
      return [member !== null && !group.isDissolved, invitation ? asked(invitation) : null, info]
    }),
    notices: sorted(state.notices),
  }
}

/** What one call tells has no order of its own. */
function sorted(
  notices: readonly {
    readonly kind: string
    readonly actor: number
    readonly users: readonly number[]
  }[],
): string[] {
  return notices
    .map(({ kind, actor, users }) => JSON.stringify([kind, actor, [...users].sort()]))
    .sort()
}

function banOf({ expired_time: end }: Json): Ban {
  if (end === 0) return 'none'
  return end === -1 ? 'permanent' : 'hour'
}

function isUserResult(value: Json): value is UserResult {
  return value?.user_id !== undefined && value.result !== undefined
}
