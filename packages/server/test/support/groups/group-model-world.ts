/**
 * A server and the users of random histories about a group: what they do and see, in the words of
 * the model.
 */
import { type ErrorName, errorCatalogue, type UserResult } from '@hermod/protocol'
import { type Answer, type Api, type Json, sharedPassword } from '@hermod/testkit'
import { type Person, registerPeople, unblock } from '../contacts.js'
import { system, World } from '../model-world.js'
import type { Watched } from '../watched-server.js'
import {
  type Ban,
  count,
  deletedUser,
  everybody,
  flags,
  hasOpenInvitation,
  isWish,
  type Member,
  nobody,
  type Outcome,
  ownerOf,
  roleRank,
  type State,
  shunnedBy,
  texts,
  userCount,
} from './group-model.js'
import { type Names, requests } from './group-model-calls.js'
import { type Call, type Result, wishingUserOf } from './group-model-rules.js'
import { aGroup, groupEventsOf, types } from './groups.js'

const names = new Map(
  Object.entries(errorCatalogue).map(([name, { code }]) => [code, name as ErrorName]),
)
const reasons = new Map(
  Object.entries(errorCatalogue).map(([name, { text }]) => [text, name as ErrorName]),
)
const ranks = Object.keys(roleRank)

export class GroupWorld extends World implements Names {
  groupId = 0
  qrInfo = 'none'
  /** How many calls there were. */
  serial = 0
  readonly #watched: Watched

  private constructor(watched: Watched, people: Person[]) {
    super(watched, people)
    this.#watched = watched
  }

  static async enter(watched: Watched): Promise<GroupWorld> {
    const world = new GroupWorld(watched, await registerPeople(watched, userCount + 1))
    const sessions = await Promise.all(world.people.map((_, user) => world.session(user)))
    await (sessions[deletedUser] as Api).succeed('POST', '/user/delete', {
      body: { password: sharedPassword },
    })
    return world
  }

  /** A new group of user 0; all users may be added. */
  async newGroup(type: number): Promise<void> {
    for (const user of everybody) await this.#forgetWishes(user)
    const [owner] = this.people
    if (!owner) throw new Error('nobody')
    this.groupId = await aGroup(owner, { more: { type } })
    this.qrInfo = 'none'
  }

  override id(user: number): number {
    return super.id(user === nobody ? system : user)
  }

  async perform(call: Call): Promise<Result> {
    this.serial++
    const { method, path, ...what } = requests[call.kind](call, this)
    const api = await this.#apiOf(call)
    const answer = await api.call(method, path, what)
    if (call.kind === 'signQr' && answer.code === 200) this.qrInfo = answer.envelope.data.qr_info
    return this.#resultOf(answer)
  }

  async #apiOf({ kind, caller: { hasAdminToken, user, header }, ...call }: Call): Promise<Api> {
    if (isWish(kind)) return this.api(wishingUserOf(call))
    if (!hasAdminToken) return this.session(user)
    const groupId = header === 'none' ? {} : { groupId: header === 'this' ? this.groupId : 1 }
    return this.api(user, groupId)
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
    const user = this.userOf(id)
    return user === system ? nobody : user
  }

  async #forgetWishes(user: number): Promise<void> {
    const body = { user_id: this.id(user), group_confirm: false, stranger_chat: 0 }
    await this.api(user).succeed('POST', '/user/settings', { body })
    await unblock(this.api(user), this.id(shunnedBy(user)))
  }

  /** All that can be seen of the group, in the form of {@link expected}. */
  async observed(): Promise<object> {
    const admin = this.api(system)
    const body = {
      group_id: this.groupId,
      group_list: [this.groupId],
      user_list: this.people.map(({ id }) => id),
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
          this.userOf(row.author),
          row.title,
        ]) ?? null,
      users: await Promise.all(everybody.map((user) => this.#seenBy(user))),
      events: sorted(
        (await groupEventsOf(this.#watched.sql, this.groupId)).map(
          ({ kind, actor, users: ids }) => ({
            kind,
            actor: this.userOf(actor),
            users: ids.map((id) => this.userOf(id)),
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

  #askedOf({ status, reason }: Json, from: number): unknown {
    return JSON.stringify([this.userOf(from), status, reason])
  }

  async #seenBy(user: number): Promise<unknown> {
    const api = this.api(user)
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
    events: sorted(state.events),
  }
}

/** What one call tells has no order of its own. */
function sorted(
  events: readonly {
    readonly kind: string
    readonly actor: number
    readonly users: readonly number[]
  }[],
): string[] {
  return events
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
