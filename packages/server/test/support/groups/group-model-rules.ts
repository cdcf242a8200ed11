/** What each call about a group does to the model, and who may make it (rules C4, F3). */
import type { ErrorName } from '@hermod/protocol'
import { system } from '../model-world.js'
import {
  addUsers,
  block,
  count,
  deletedUser,
  dissolve,
  flags,
  hasOpenInvitation,
  isOpen,
  isWish,
  nobody,
  type Outcome,
  ownerOf,
  pending,
  rankOf,
  refusal,
  rejected,
  remove,
  roleRank,
  type State,
  shunnedBy,
  tell,
  texts,
  userCount,
  type Wish,
  wishes,
} from './group-model.js'
import { types } from './groups.js'

/** A user, or an Admin token with the headers it may carry. */
export interface Caller {
  readonly hasAdminToken: boolean
  /** `system`: an Admin token without a user_id header. */
  readonly user: number
  /** The group_id header: none, this group, or another one. */
  readonly header: 'none' | 'this' | 'other'
}

export interface Call {
  readonly kind: Kind
  readonly caller: Caller
  readonly users: readonly number[]
  readonly user: number
  readonly flag: boolean
  readonly choice: number
  readonly text: string
  /** It looks for somebody with whom there is something to do. */
  readonly isAimed: boolean
}

/** An error of the call as a whole, a result for each user, or null: done. */
export type Result = ErrorName | readonly Outcome[] | null

interface Turn extends Call {
  readonly state: State
  readonly rank: number
  readonly actor: number
}

type Right = 'join' | 'own' | 'info' | 'member' | 'invite' | 'modify' | 'admin' | 'owner'

interface Rule {
  readonly right: Right | ((call: Call) => Right)
  readonly run: (turn: Turn) => Result
}

const each = (
  users: readonly number[],
  refusalFor: (user: number) => ErrorName | null,
): Outcome[] => users.map((user) => [user, refusalFor(user)])
const accepted = (outcomes: readonly Outcome[]) =>
  outcomes.filter(([, reason]) => reason === null).map(([user]) => user)
const first = (outcomes: readonly Outcome[]): ErrorName | null => outcomes[0]?.[1] ?? null

/** Only those of a lower role, and never oneself. */
function refusalOver({ state, rank, actor }: Turn, user: number): ErrorName | null {
  return user !== actor && rankOf(state, user) < rank ? null : 'no_permission'
}

function moderate(turn: Turn, done: (users: number[]) => void): Result {
  const { state, users } = turn
  const outcomes = each(users, (user) =>
    state.members[user] ? refusalOver(turn, user) : 'not_group_member',
  )
  done(accepted(outcomes))
  return outcomes
}

function appoint({ state, users, actor }: Turn, role: number, kind: string): Result {
  const outcomes = each(users, (user) => {
    if (!state.members[user]) return 'not_group_member'
    return user !== actor && rankOf(state, user) < roleRank.owner ? null : 'no_permission'
  })
  const changed = accepted(outcomes).filter((user) => rankOf(state, user) !== role)
  const freed = changed.filter(
    (user) => role === roleRank.admin && state.members[user]?.ban !== 'none',
  )
  if (freed.length > 0) tell(state, 'unbanned', actor, freed)
  for (const user of changed) {
    const member = state.members[user]
    if (!member) continue
    member.rank = role
    if (role === roleRank.admin) member.ban = 'none'
  }
  if (changed.length > 0) tell(state, kind, actor, changed)
  return outcomes
}

/** A user comes in, by own will or not; the call fails with the reason when that is not possible. */
function enter(state: State, actor: number, user: number, isOwnWill: boolean): ErrorName | null {
  return first(addUsers(state, actor, [user], isOwnWill))
}

function apply({ state, actor, text }: Turn): Result {
  const { approval } = state.group
  if (hasOpenInvitation(state, actor)) return acceptInvitation(state, actor) ?? [[actor, null]]
  const reason = refusal(state, actor, true)
  if (reason) return reason
  if (approval === 0) return enter(state, actor, actor, true) ?? [[actor, null]]
  if (approval === 2) return 'join_requests_closed'
  state.joinRequests[actor] = { status: pending, isClosed: false, reason: text, from: actor }
  tell(state, 'applied', actor, [actor])
  return [[actor, null]]
}

function handleContactRequest({ state, actor, user, flag }: Turn): Result {
  const request = state.joinRequests[user]
  if (!request || !isOpen(request)) return 'join_request_not_open'
  const reason = flag ? enter(state, actor, user, false) : null
  if (reason) return reason
  if (!flag) request.status = rejected
  tell(state, flag ? 'request_accepted' : 'request_declined', actor, [user])
  return [[user, null]]
}

/** Others bring users in: at once, by invitation, or not at all (rules F4, F4b, F7). */
function bring(turn: Turn): Result {
  const { state, actor, rank, users, text, kind } = turn
  const isOwnWill = rank === roleRank.member
  const wayOf = new Map(users.map((user) => [user, additionOf(turn, user)]))
  const by = (way: string) => users.filter((user) => wayOf.get(user) === way)
  const checked = [...by('invitation'), ...by('refusal')].map((user): Outcome => {
    const otherwise = wayOf.get(user) === 'refusal' ? 'in_block_list' : null
    return [user, refusal(state, user, isOwnWill) ?? otherwise]
  })
  const invited = accepted(checked)
  const reason = kind === 'invite' ? text : ''
  for (const user of invited)
    state.invitations[user] = { status: pending, isClosed: false, reason, from: actor }
  if (invited.length > 0) tell(state, 'invited', actor, invited)
  const outcomes = new Map([...checked, ...addUsers(state, actor, by('member'), isOwnWill)])
  return users.map((user) => [user, outcomes.get(user) ?? null])
}

function additionOf({ state, actor, kind, caller }: Turn, user: number): string {
  const confirms = state.isCautious[user] === true
  if (caller.hasAdminToken) return confirms && kind === 'invite' ? 'invitation' : 'member'
  if (state.isShunning[user] && shunnedBy(user) === actor) return 'refusal'
  return confirms || state.refusesStrangers[user] ? 'invitation' : 'member'
}

/** The call names the inviter, or the caller. */
function handleInvitation({ state, actor, user, flag }: Turn): Result {
  const invitation = state.invitations[actor]
  const isNamed = user === actor || user === invitation?.from
  if (!invitation || !isOpen(invitation) || !isNamed) return 'group_invitation_not_open'
  if (flag) return acceptInvitation(state, actor)
  invitation.status = rejected
  tell(state, 'invitation_declined', actor, [invitation.from])
  return null
}

/** An invitation that cannot be followed stays. */
function acceptInvitation(state: State, user: number): ErrorName | null {
  const reason = enter(state, user, user, false)
  if (reason === null)
    tell(state, 'invitation_accepted', user, [state.invitations[user]?.from ?? system])
  return reason
}

function joinByQr({ state, actor }: Turn): Result {
  const { qrSigner } = state
  if (qrSigner === null) return 'qr_code_invalid'
  const needed = state.flags.member_invite ? roleRank.member : roleRank.admin
  if (qrSigner !== system && rankOf(state, qrSigner) < needed) return 'qr_code_invalid'
  return enter(state, actor, actor, true)
}

function blockUsers(turn: Turn): Result {
  const { state, users, actor } = turn
  const outcomes = each(users, (user) => {
    if (user === nobody) return 'user_not_found'
    if (user === deletedUser) return 'user_deleted'
    return refusalOver(turn, user)
  })
  const changed = accepted(outcomes).filter((user) => !state.isBlocked[user])
  remove(
    state,
    actor,
    changed.filter((user) => state.members[user]),
    'blocked',
  )
  for (const user of changed) block(state, user)
  if (changed.length > 0) tell(state, 'blocked', actor, changed)
  return outcomes
}

function unblockUsers({ state, users, actor }: Turn): Result {
  const changed = users.filter((user) => state.isBlocked[user])
  for (const user of changed) state.isBlocked[user] = false
  if (changed.length > 0) tell(state, 'unblocked', actor, changed)
  return each(users, () => null)
}

function setBans(turn: Turn, isOn: boolean): Result {
  const { state, actor, flag } = turn
  const next = isOn ? (flag ? 'permanent' : 'hour') : 'none'
  return moderate(turn, (users) => {
    // A ban for some time ends at another instant than the one before.
    const changed = users.filter((user) => (isOn && !flag) || state.members[user]?.ban !== next)
    for (const user of changed) Object.assign(state.members[user] ?? {}, { ban: next })
    if (changed.length > 0) tell(state, isOn ? 'banned' : 'unbanned', actor, changed)
  })
}

/** Ends also the bans that wait for those who are out. */
function unban(turn: Turn): Result {
  const { state, users, actor } = turn
  const freed = users.filter(
    (user) => !state.members[user] && (state.keptBans[user] ?? 'none') !== 'none',
  )
  for (const user of freed) state.keptBans[user] = 'none'
  if (freed.length > 0) tell(state, 'unbanned', actor, freed)
  const others = setBans(
    { ...turn, users: users.filter((user) => !freed.includes(user)) },
    false,
  ) as readonly Outcome[]
  const outcomes = new Map<number, ErrorName | null>([
    ...freed.map((user) => [user, null] as const),
    ...others,
  ])
  return users.map((user) => [user, outcomes.get(user) ?? null])
}

function transfer({ state, user, actor }: Turn): Result {
  const owner = ownerOf(state)
  const [from, to] = [state.members[owner], state.members[user]]
  if (!from || !to) return 'new_owner_not_member'
  if (from !== to) {
    from.rank = roleRank.member
    Object.assign(to, { rank: roleRank.owner, ban: 'none' })
    tell(state, 'owner_assigned', actor, [user])
  }
  return [[user, null]]
}

/** Sets what belongs to the group; there is an event when it has changed. */
function set<T extends object, K extends keyof T>(
  { state, actor }: Turn,
  target: T,
  key: K,
  value: T[K],
): null {
  if (target[key] === value) return null
  target[key] = value
  tell(state, 'info_updated', actor, [])
  return null
}

function setMute({ state, actor }: Turn, mode: number): null {
  const member = state.members[actor]
  if (!member || member.mute === mode) return null
  tell(state, 'message_setting', actor, [actor])
  if (member.mute === 0) tell(state, 'muted', actor, [actor])
  if (mode === 0) tell(state, 'unmuted', actor, [actor])
  member.mute = mode
  return null
}

function setPush({ state, actor, choice }: Turn): null {
  const member = state.members[actor]
  const mode = choice % 5
  if (!member || member.push === mode) return null
  member.push = mode
  tell(state, 'message_setting', actor, [actor])
  return null
}

function setOwnName({ state, actor, text }: Turn): null {
  const member = state.members[actor]
  if (!member || member.name === text) return null
  member.name = text
  tell(state, 'info_updated', actor, [actor])
  return null
}

/** A capacity that is soon reached; 0 stands for one that the application does not allow. */
export const capacityOf = ({ choice }: Pick<Call, 'choice'>) => (choice === 0 ? 100_001 : choice)

function setCapacity(turn: Turn): Result {
  const { state } = turn
  const capacity = capacityOf(turn)
  if (capacity < count(state) || capacity > 100_000) return 'capacity_invalid'
  return set(turn, state.group, 'capacity', capacity)
}

export const looks = [
  ['/group/info', 'info'],
  ['/group/settings', 'info'],
  ['/group/member_list', 'member'],
  ['/group/admin_list', 'member'],
  ['/group/banned_list', 'member'],
  ['/group/blocked_list', 'admin'],
] as const satisfies readonly (readonly [string, Right])[]
export const lookOf = ({ choice }: Pick<Call, 'choice'>) =>
  looks[choice % looks.length] as (typeof looks)[number]
export const flagOf = ({ choice }: Pick<Call, 'choice'>) =>
  flags[choice % flags.length] as (typeof flags)[number]
export const wishingUserOf = ({ choice }: Pick<Call, 'choice'>) => choice % userCount
export const textOf = ({ choice }: Pick<Call, 'choice'>) =>
  texts[choice % texts.length] as (typeof texts)[number]

export const rules = {
  apply: { right: 'join', run: apply },
  handleContactRequest: { right: 'admin', run: handleContactRequest },
  invite: { right: 'invite', run: bring },
  handleInvitation: { right: 'join', run: handleInvitation },
  signQr: {
    right: 'invite',
    run: ({ state, actor }) => {
      state.qrSigner = actor
      return null
    },
  },
  joinByQr: { right: 'join', run: joinByQr },
  add: { right: 'admin', run: bring },
  kick: {
    right: 'admin',
    run: (turn) => moderate(turn, (users) => remove(turn.state, turn.actor, users, 'kicked')),
  },
  ban: { right: 'admin', run: (turn) => setBans(turn, true) },
  unban: { right: 'admin', run: unban },
  block: { right: 'admin', run: blockUsers },
  unblock: { right: 'admin', run: unblockUsers },
  appoint: { right: 'owner', run: (turn) => appoint(turn, roleRank.admin, 'admin_granted') },
  dismiss: { right: 'owner', run: (turn) => appoint(turn, roleRank.member, 'admin_revoked') },
  transfer: { right: 'owner', run: transfer },
  leave: {
    right: 'own',
    run: ({ state, actor }) => {
      if (rankOf(state, actor) === roleRank.owner) return 'owner_cannot_leave'
      remove(state, actor, [actor], 'left')
      return null
    },
  },
  destroy: {
    right: 'owner',
    run: ({ state, actor }) => {
      dissolve(state)
      tell(state, 'destroyed', actor, [])
      return null
    },
  },
  flag: { right: 'admin', run: (turn) => set(turn, turn.state.flags, flagOf(turn), turn.flag) },
  text: {
    right: 'modify',
    run: (turn) => set(turn, turn.state.texts, textOf(turn), turn.text || 'c'),
  },
  approval: {
    right: 'admin',
    run: (turn) => set(turn, turn.state.group, 'approval', turn.choice % 3),
  },
  capacity: { right: 'owner', run: setCapacity },
  banAll: { right: 'admin', run: (turn) => set(turn, turn.state.group, 'isBanned', true) },
  unbanAll: { right: 'admin', run: (turn) => set(turn, turn.state.group, 'isBanned', false) },
  ownName: { right: 'own', run: setOwnName },
  mute: { right: 'own', run: (turn) => setMute(turn, turn.choice % 3) },
  notDisturb: { right: 'own', run: (turn) => setMute(turn, Number(turn.flag)) },
  push: { right: 'own', run: setPush },
  announce: {
    right: 'admin',
    run: ({ state, actor, text }) => {
      state.announcements.push({ author: actor, title: text })
      tell(state, 'announcement_updated', actor, [])
      return null
    },
  },
  look: { right: (call) => lookOf(call)[1], run: () => null },
} as const satisfies Record<string, Rule>

export type Kind = keyof typeof rules | Wish

const errorOfRole = {
  own: 'not_group_member',
  member: 'member_required',
  admin: 'group_admin_required',
  owner: 'group_owner_required',
} as const
const openTypes: readonly number[] = [types.public, types.chatroom]

/** @returns what the call is answered with */
export function step(state: State, call: Call): Result {
  const { caller } = call
  if (isWish(call.kind)) {
    state[wishes[call.kind]][wishingUserOf(call)] = call.flag
    return null
  }
  const { right, run }: Rule = rules[call.kind]
  const needed = typeof right === 'function' ? right(call) : right
  const isPersonal = needed === 'join' || needed === 'own'
  if (isPersonal && caller.user === system) return 'invalid_parameter'
  // A text that is none names no group.
  if (call.kind === 'joinByQr' && state.qrSigner === null) return 'qr_code_invalid'
  if (caller.header === 'other') return 'no_permission'
  const rank = rankFor(state, caller)
  const reason = refusalOfRight(state, caller, rank, needed)
  return reason ?? run({ ...call, state, rank, actor: caller.user })
}

function rankFor(state: State, { hasAdminToken, user, header }: Caller): number {
  const own = rankOf(state, user)
  if (!hasAdminToken) return own
  if (header === 'this') return Math.max(own, roleRank.admin)
  return user === system ? roleRank.owner : own
}

function refusalOfRight(
  state: State,
  { user }: Caller,
  rank: number,
  right: Right,
): ErrorName | null {
  if (state.group.isDissolved)
    return right === 'info' && rank > roleRank.outsider ? null : 'group_not_found'
  if (right === 'join') return null
  if (right === 'own') return state.members[user] ? null : errorOfRole.own
  if (right === 'info') {
    const isOpen = openTypes.includes(state.group.type) || hasOpenInvitation(state, user)
    return isOpen || rank >= roleRank.member ? null : errorOfRole.member
  }
  const opened =
    (right === 'invite' && state.flags.member_invite) ||
    (right === 'modify' && state.flags.member_modify)
  const needed = opened ? 'member' : right === 'invite' || right === 'modify' ? 'admin' : right
  return rank >= roleRank[needed] ? null : errorOfRole[needed]
}
