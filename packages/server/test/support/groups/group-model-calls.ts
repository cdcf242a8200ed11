/** Random calls about a group, and how they look on the wire. */
import fc from 'fast-check'
import { system } from '../model-world.js'
import {
  deletedUser,
  everybody,
  flags,
  hasOpenInvitation,
  isOpen,
  isWish,
  nobody,
  ownerOf,
  rankOf,
  roleRank,
  type State,
  shunnedBy,
  wishKinds,
} from './group-model.js'
import {
  type Call,
  type Caller,
  capacityOf,
  flagOf,
  type Kind,
  lookOf,
  rules,
  textOf,
  wishingUserOf,
} from './group-model-rules.js'

const weights: Partial<Record<Kind, number>> = {
  add: 6,
  announce: 1,
  apply: 6,
  approval: 3,
  appoint: 4,
  capacity: 2,
  caution: 3,
  destroy: 0.4,
  flag: 4,
  handleContactRequest: 5,
  handleInvitation: 5,
  invite: 6,
  joinByQr: 4,
  kick: 5,
  look: 4,
}
const kinds: readonly Kind[] = [...(Object.keys(rules) as (keyof typeof rules)[]), ...wishKinds]

const user = fc.constantFrom(...everybody)
const own = (id: fc.Arbitrary<number>) =>
  id.map((each): Caller => ({ hasAdminToken: false, user: each, header: 'none' }))
const admin = (id: fc.Arbitrary<number>, header: Caller['header']) =>
  id.map((each): Caller => ({ hasAdminToken: true, user: each, header }))
const caller: fc.Arbitrary<Caller> = fc.oneof(
  { weight: 14, arbitrary: own(user) },
  // Who owns the group at first, so that more is done in it than refused.
  { weight: 8, arbitrary: own(fc.constant(0)) },
  { weight: 3, arbitrary: admin(fc.constant(system), 'none') },
  { weight: 3, arbitrary: admin(user, 'none') },
  { weight: 2, arbitrary: admin(fc.constant(system), 'this') },
  { weight: 2, arbitrary: admin(user, 'this') },
  { weight: 1, arbitrary: admin(fc.constantFrom(system, 1), 'other') },
)
const target = fc.oneof(
  { weight: 20, arbitrary: user },
  { weight: 1, arbitrary: fc.constantFrom(deletedUser, nobody) },
)
const call: fc.Arbitrary<Call> = fc.record({
  kind: fc.oneof(
    ...kinds.map((kind) => ({
      weight: Math.ceil((weights[kind] ?? 2) * 10),
      arbitrary: fc.constant(kind),
    })),
  ),
  caller,
  users: fc.uniqueArray(target, { minLength: 1, maxLength: 4 }),
  user: target,
  flag: fc.boolean(),
  choice: fc.nat(6),
  text: fc.constantFrom('', 'a', 'b'),
  isAimed: fc.boolean(),
})

const pick = (users: readonly number[], choice: number) => users[choice % users.length]

/** Whom a call of its kind finds something to do with. */
const aims: Partial<Record<Kind, (state: State, call: Call) => Partial<Call>>> = {
  apply: comesFrom(isOutside),
  joinByQr: comesFrom(isOutside),
  handleInvitation: (state, call) => {
    const { caller, user = 0 } = comesFrom(hasOpenInvitation)(state, call)
    return caller
      ? { caller, user: call.flag ? caller.user : (state.invitations[caller.user]?.from ?? user) }
      : {}
  },
  handleContactRequest: (state, { choice }) => {
    const applicant = pick(
      everybody.filter((each) => isOpen(state.joinRequests[each])),
      choice,
    )
    return applicant === undefined ? {} : { user: applicant, ...byOwner(state) }
  },
  add: isAbout(isOutside),
  invite: isAbout(isOutside),
  kick: isAbout(isOrdinary),
  ban: isAbout(isOrdinary),
  unban: isAbout((state, each) => state.members[each]?.ban !== 'none'),
  unblock: isAbout((state, each) => state.isBlocked[each] === true),
  appoint: isAbout(isOrdinary),
  dismiss: isAbout((state, each) => rankOf(state, each) === roleRank.admin),
  transfer: (state, { choice }) => ({
    user:
      pick(
        everybody.filter((each) => state.members[each]),
        choice,
      ) ?? 0,
  }),
}

type Property = (state: State, user: number) => boolean

function isOutside(state: State, each: number): boolean {
  return !state.members[each]
}

function isOrdinary(state: State, each: number): boolean {
  return rankOf(state, each) === roleRank.member
}

function comesFrom(accepts: Property) {
  return (state: State, { caller: { hasAdminToken, header }, choice }: Call): Partial<Call> => {
    const who = pick(
      everybody.filter((each) => accepts(state, each)),
      choice,
    )
    return who === undefined
      ? {}
      : { caller: { hasAdminToken, header: header === 'other' ? 'none' : header, user: who } }
  }
}

function isAbout(accepts: Property) {
  return (state: State, { users }: Call): Partial<Call> => {
    const found = everybody.filter((each) => accepts(state, each))
    return found.length === 0 ? {} : { users: found.slice(0, users.length), ...byOwner(state) }
  }
}

const byOwner = (state: State) => ({
  caller: { hasAdminToken: false, user: ownerOf(state), header: 'none' } as const,
})

/** A call that more likely does something, if it is one that looks where it goes. */
export function aimed(state: State, each: Call): Call {
  return each.isAimed ? { ...each, ...aims[each.kind]?.(state, each) } : each
}

function byAdmin(kind: Kind, users: readonly number[], more: Partial<Call> = {}): Call {
  const adminToken: Caller = { hasAdminToken: true, user: system, header: 'none' }
  return {
    kind,
    caller: adminToken,
    users,
    user: 0,
    flag: true,
    choice: 0,
    text: '',
    isAimed: false,
    ...more,
  }
}

/** A user who was kicked so often that one more kick, or none, closes the group. */
const kicks = fc
  .constantFrom(0, 3, 4)
  .map((times) =>
    Array.from({ length: times }, () => [byAdmin('add', [4]), byAdmin('kick', [4])]).flat(),
  )
/** A user who is out and still banned. */
const exile = fc.option(fc.boolean(), { nil: null }).map((flag) => {
  return flag === null
    ? []
    : [byAdmin('add', [3]), byAdmin('ban', [3], { flag }), byAdmin('kick', [3])]
})
/** Users who want to be asked before they are in a group, refuse strangers, or block the owner. */
const wishing = fc
  .array(fc.tuple(fc.constantFrom(...wishKinds), fc.constantFrom(1, 2, 3, 4)), { maxLength: 4 })
  .map((wishes) => wishes.map(([kind, choice]) => byAdmin(kind, [], { choice })))
/** A QR code of a user who may not invite any more, or may still. */
const signed: Call = {
  ...byAdmin('signQr', []),
  caller: { hasAdminToken: false, user: 2, header: 'none' },
}
const memberInvite = flags.indexOf('member_invite')
const codes = fc.constantFrom(
  [],
  [signed],
  [signed, byAdmin('kick', [2])],
  [signed, byAdmin('flag', [], { choice: memberInvite, flag: false })],
)
const pasts = fc.tuple(kicks, exile, wishing, codes).map((parts) => parts.flat())

/** What it takes for a group to have members and an admin. */
const beginning = [byAdmin('add', [1, 2]), byAdmin('appoint', [1])]

export const groupTypes = fc.nat(3)
export const histories = fc
  .tuple(fc.boolean(), pasts, fc.array(call, { minLength: 1, maxLength: 50, size: 'max' }))
  .map(([isBegun, past, calls]) => [...(isBegun ? beginning : []), ...past, ...calls])
/**
 * Calls at the same time, few enough to try every order of them; what changes nothing of the group
 * has no place in it.
 */
export const bursts = fc.array(
  fc.array(
    call.filter(({ kind }) => !isWish(kind) && kind !== 'look' && kind !== 'signQr'),
    { minLength: 2, maxLength: 4 },
  ),
  { minLength: 1, maxLength: 4 },
)
export const beginnings = fc
  .tuple(pasts, fc.array(call, { maxLength: 15, size: 'max' }))
  .map(([past, calls]) => [...beginning, ...past, ...calls])

/** The IDs behind the numbers of a history. */
export interface Names {
  readonly groupId: number
  id(user: number): number
  /** Of the call, so that no two bans end at the same instant. */
  readonly serial: number
  /** The text of the latest QR code. */
  readonly qrInfo: string
}

interface Request {
  readonly method: string
  readonly path: string
  readonly query?: Record<string, string | number>
  readonly body?: object
}

const onUsers =
  (path: string, more: (call: Call, names: Names) => object = () => ({})) =>
  (each: Call, names: Names): Request =>
    inBody(path, { user_list: each.users.map((one) => names.id(one)), ...more(each, names) })(
      each,
      names,
    )

const inBody =
  (path: string, params: object | ((call: Call, names: Names) => object) = {}) =>
  (each: Call, names: Names): Request => ({
    method: 'POST',
    path,
    body: {
      group_id: names.groupId,
      ...(typeof params === 'function' ? params(each, names) : params),
    },
  })

const inQuery =
  (method: string, path: string) =>
  (_: Call, { groupId }: Names): Request => ({ method, path, query: { group_id: groupId } })

const onOwnSettings =
  (settings: (call: Call) => object) =>
  (each: Call, names: Names): Request => ({
    method: 'POST',
    path: '/user/settings',
    body: { user_id: names.id(wishingUserOf(each)), ...settings(each) },
  })

const flagPaths: Record<ReturnType<typeof flagOf>, string> = {
  hide_member_info: 'hide_member_info',
  history_visible: 'history_visible',
  member_invite: 'allow_member_invitation',
  member_modify: 'allow_member_modify',
  read_ack: 'enable_read_ack',
}

export const requests: Record<Kind, (call: Call, names: Names) => Request> = {
  apply: inBody('/group/apply', ({ text: reason }) => ({ reason })),
  handleContactRequest: inBody('/group/apply/handle', ({ user: id, flag: approval }, names) => ({
    user_id: names.id(id),
    approval,
  })),
  invite: onUsers('/group/invite', ({ text: reason }) => ({ reason })),
  handleInvitation: inBody('/group/invite/handle', ({ user: id, flag: approval }, names) => ({
    user_id: names.id(id),
    approval,
  })),
  signQr: inQuery('GET', '/group/qrcode/sign'),
  joinByQr: ({ flag }, { qrInfo: qr_info }) =>
    flag
      ? { method: 'POST', path: '/group/qrcode/invite', body: { qr_info } }
      : { method: 'GET', path: '/app/qrcode/group_invite', query: { qr_info } },
  add: onUsers('/group/admin/member_join'),
  kick: onUsers('/group/kick'),
  ban: onUsers('/group/ban', ({ flag }, { serial }) => ({ duration: flag ? -1 : 60 + serial })),
  unban: onUsers('/group/unban'),
  block: onUsers('/group/block'),
  unblock: onUsers('/group/unblock'),
  appoint: onUsers('/group/admin/add'),
  dismiss: onUsers('/group/admin/remove'),
  transfer: inBody('/group/transfer', ({ user: id }, names) => ({ new_owner: names.id(id) })),
  leave: inQuery('DELETE', '/group/leave'),
  destroy: inQuery('DELETE', '/group/destroy'),
  flag: (each, names) =>
    inBody(`/group/settings/${flagPaths[flagOf(each)]}`, { value: each.flag })(each, names),
  text: (each, names) =>
    inBody(`/group/info/${textOf(each)}`, { value: each.text || 'c' })(each, names),
  approval: inBody('/group/settings/require_admin_approval', ({ choice }) => ({
    apply_approval: choice % 3,
  })),
  capacity: inBody('/group/settings/capacity', (each) => ({ value: capacityOf(each) })),
  banAll: inBody('/group/settings/ban_all', { duration: -1 }),
  unbanAll: inBody('/group/settings/unban_all'),
  ownName: inBody('/group/display_name', ({ text: value }) => ({ value })),
  mute: inBody('/group/msg/mute_mode', ({ choice }) => ({ msg_mute_mode: choice % 3 })),
  notDisturb: inBody('/group/msg/not_disturb', ({ flag: value }) => ({ value })),
  push: inBody('/group/msg/push_mode', ({ choice }) => ({ msg_push_mode: choice % 5 })),
  announce: inBody('/group/announcement/edit', ({ text: title }) => ({ title, content: title })),
  look: (each, names) => inQuery('GET', lookOf(each)[0])(each, names),
  caution: onOwnSettings(({ flag }) => ({ group_confirm: flag })),
  refuseStrangers: onOwnSettings(({ flag }) => ({ stranger_chat: flag ? 2 : 0 })),
  shun: (each, names) => ({
    method: 'POST',
    path: each.flag ? '/roster/block' : '/roster/unblock',
    query: { user_id: names.id(shunnedBy(wishingUserOf(each))) },
  }),
}
