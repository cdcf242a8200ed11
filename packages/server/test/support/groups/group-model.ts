/**
 * A small model of a group: who is in it, who may not be, and what is open between it and users.
 * Plain data, so that it can be copied. It is written from the rules (rules F1 to F8) and shares
 * nothing with the server but the names of errors.
 */
import type { ErrorName } from '@hermod/protocol'
import { types } from './groups.js'

/** The users of a history; the next two numbers name a user who was deleted and one who never existed. */
export const userCount = 5
export const deletedUser = userCount
export const nobody = userCount + 1

export const flags = [
  'hide_member_info',
  'history_visible',
  'member_invite',
  'member_modify',
  'read_ack',
] as const
export const texts = ['name', 'avatar', 'description', 'ext'] as const
export const pending = 0
const agreed = 1
export const rejected = 2
const maxKicks = 3

/** In ascending order; the role of a member is one less. */
export const roleRank = { outsider: 0, member: 1, admin: 2, owner: 3 } as const

export type Ban = 'none' | 'hour' | 'permanent'

export interface Member {
  rank: number
  name: string
  ban: Ban
  mute: number
  push: number
}

/** An application, or an invitation, which comes from somebody. */
export interface Asked {
  status: number
  /** Nobody has answered it, and nobody can any more. */
  isClosed: boolean
  reason: string
  from: number
}

export interface ModelEvent {
  readonly kind: string
  readonly actor: number
  readonly users: readonly number[]
}

export interface State {
  readonly group: {
    readonly type: number
    isDissolved: boolean
    capacity: number
    approval: number
    isBanned: boolean
  }
  readonly flags: Record<(typeof flags)[number], boolean>
  readonly texts: Record<(typeof texts)[number], string>
  readonly members: (Member | null)[]
  readonly isBlocked: boolean[]
  readonly kicks: number[]
  /** The bans of those who are out. */
  readonly keptBans: Ban[]
  readonly joinRequests: (Asked | null)[]
  readonly invitations: (Asked | null)[]
  /** group_confirm */
  readonly isCautious: boolean[]
  /** stranger_chat 2; no users of a history are contacts. */
  readonly refusesStrangers: boolean[]
  /** The user blocks the user of {@link shunnedBy}. */
  readonly isShunning: boolean[]
  /** Who made the latest QR code. */
  qrSigner: number | null
  readonly announcements: { readonly author: number; readonly title: string }[]
  readonly events: ModelEvent[]
}

/** What became of each user of a list. */
export type Outcome = readonly [user: number, refusal: ErrorName | null]

const all = <T>(value: () => T) => Array.from({ length: userCount }, value)
export const everybody = Array.from({ length: userCount }, (_, user) => user)

/** A group as its owner, user 0, has made it. */
export function newState(type: number): State {
  const state: State = {
    group: { type, isDissolved: false, capacity: 2_000, approval: 1, isBanned: false },
    flags: {
      hide_member_info: false,
      history_visible: false,
      member_invite: true,
      member_modify: false,
      read_ack: false,
    },
    texts: { name: 'Group', avatar: '', description: '', ext: '' },
    members: all(() => null),
    isBlocked: all(() => false),
    kicks: all(() => 0),
    keptBans: all(() => 'none' as Ban),
    joinRequests: all(() => null),
    invitations: all(() => null),
    isCautious: all(() => false),
    refusesStrangers: all(() => false),
    isShunning: all(() => false),
    qrSigner: null,
    announcements: [],
    events: [{ kind: 'created', actor: 0, users: [0] }],
  }
  state.members[0] = newMember(roleRank.owner, 'none')
  return state
}

const newMember = (rank: number, ban: Ban): Member => ({
  rank,
  name: '',
  ban,
  mute: 0,
  push: 0,
})

/** Calls that change a setting of one user, which no group has a say in, with the flag of the state. */
export const wishes = {
  caution: 'isCautious',
  refuseStrangers: 'refusesStrangers',
  shun: 'isShunning',
} as const satisfies Record<string, keyof State>
export type Wish = keyof typeof wishes
export const wishKinds = Object.keys(wishes) as Wish[]
export const isWish = (kind: string): kind is Wish => kind in wishes

/** The user whom a user of a history blocks, if any. */
export const shunnedBy = (user: number): number => (user === 0 ? 1 : 0)

export const rankOf = (state: State, user: number): number =>
  state.members[user]?.rank ?? roleRank.outsider
export const count = (state: State): number =>
  state.members.filter((member) => member !== null).length
export const ownerOf = (state: State): number =>
  state.members.findIndex((member) => member?.rank === roleRank.owner)
export const isOpen = (asked: Asked | null | undefined): boolean =>
  asked?.status === pending && !asked.isClosed
export const hasOpenInvitation = (state: State, user: number) => isOpen(state.invitations[user])

export function tell(state: State, kind: string, actor: number, users: readonly number[]): void {
  state.events.push({ kind, actor, users })
}

/** Why a user may not come in, apart from the room in the group. */
export function refusal(state: State, user: number, isOwnWill: boolean): ErrorName | null {
  if (user === nobody) return 'user_not_found'
  if (user === deletedUser) return 'user_deleted'
  if (state.members[user]) return 'already_group_member'
  if (state.isBlocked[user]) return 'in_group_block_list'
  return isOwnWill && (state.kicks[user] as number) > maxKicks ? 'kicked_too_often' : null
}

export function addUsers(
  state: State,
  actor: number,
  users: readonly number[],
  isOwnWill: boolean,
): Outcome[] {
  const entered: number[] = []
  const outcomes = users.map((user): Outcome => {
    const reason =
      refusal(state, user, isOwnWill) ?? (count(state) < state.group.capacity ? null : 'group_full')
    if (reason === null) {
      entered.push(user)
      state.members[user] = newMember(roleRank.member, state.keptBans[user] as Ban)
      state.keptBans[user] = 'none'
      settle(state, user, agreed)
    }
    return [user, reason]
  })
  if (entered.length > 0) {
    tell(state, 'joined', actor, entered)
    if (state.group.type === types.chatroom) tell(state, 'presence', actor, entered)
  }
  return outcomes
}

export function remove(
  state: State,
  actor: number,
  users: readonly number[],
  how: 'left' | 'kicked' | 'blocked',
): void {
  if (users.length === 0) return
  for (const user of users) {
    state.keptBans[user] = state.members[user]?.ban ?? 'none'
    if (how === 'kicked') state.kicks[user] = (state.kicks[user] as number) + 1
    state.members[user] = null
  }
  if (how !== 'blocked') tell(state, how, actor, users)
  if (state.group.type === types.chatroom) tell(state, 'absence', actor, users)
}

export function block(state: State, user: number): void {
  state.isBlocked[user] = true
  close(state, user)
}

export function dissolve(state: State): void {
  state.group.isDissolved = true
  for (const user of everybody) close(state, user)
}

function settle(state: State, user: number, status: number): void {
  for (const asked of [state.joinRequests[user], state.invitations[user]])
    if (asked && isOpen(asked)) asked.status = status
}

function close(state: State, user: number): void {
  for (const asked of [state.joinRequests[user], state.invitations[user]])
    if (asked && isOpen(asked)) asked.isClosed = true
}
