/** The ways of calling about a group, and what the table of rights makes of each. */
import {
  callerRules,
  type ErrorName,
  type GroupRight,
  type GroupRole,
  groupRights,
  groupRoles,
  type MemberSetting,
  type Operation,
  roleErrors,
} from '@hermod/protocol'
import type { GroupFixture } from '../walk/walk-fixtures-groups.js'

/** An operation that asks for a right. */
export type OperationWithRight = Operation & { readonly right: keyof typeof groupRights }

/** A call by a user's own token, or by an Admin token with the headers that it may have. */
export interface GroupCallerKind {
  readonly name: string
  readonly token: 'user' | 'admin'
  /** Whose token, or who is in the user_id header: a user of this role. */
  readonly as?: GroupRole
  /** The group is in the group_id header. */
  readonly hasGroupHeader?: true
}

const roles = groupRoles.toReversed()

export const callerKinds: readonly GroupCallerKind[] = [
  ...roles.map((as) => ({ name: `the ${as}`, token: 'user', as }) as const),
  { name: 'an Admin token', token: 'admin' },
  { name: 'an Admin token for the group', token: 'admin', hasGroupHeader: true },
  ...roles.map((as) => ({ name: `an Admin token for the ${as}`, token: 'admin', as }) as const),
  ...roles.map(
    (as) =>
      ({
        name: `an Admin token for the ${as} and the group`,
        token: 'admin',
        as,
        hasGroupHeader: true,
      }) as const,
  ),
]

/** What of a group the table asks about. */
export interface GroupCircumstances {
  readonly settings: Readonly<Record<MemberSetting, boolean>>
  /** A public group, a chatroom, or one that the outsider is invited to. */
  readonly isOpen: boolean
  /** The things that the call names are the caller's own. */
  readonly isOwnThing: boolean
}

export function isBelow(a: GroupRole, b: GroupRole): boolean {
  return groupRoles.indexOf(a) < groupRoles.indexOf(b)
}

/** How the caller stands in the group; for what is personal, how the user does. */
export function roleOf(
  { token, as, hasGroupHeader }: GroupCallerKind,
  { right }: OperationWithRight,
): GroupRole {
  const own = as ?? 'outsider'
  if (token === 'user' || (groupRights[right] as GroupRight).isPersonal) return own
  if (hasGroupHeader) return isBelow(own, 'admin') ? 'admin' : own
  return as ?? 'owner'
}

/** The user_id header is missing. */
export function lacksUser(
  { token, as }: GroupCallerKind,
  { callers }: OperationWithRight,
): boolean {
  return token === 'admin' && as === undefined && callerRules[callers].subject === 'required'
}

/** What the table of rights refuses the caller with, or null. */
export function refusalOf(
  kind: GroupCallerKind,
  operation: OperationWithRight,
  { settings, isOpen, isOwnThing }: GroupCircumstances,
): ErrorName | null {
  if (lacksUser(kind, operation)) return 'invalid_parameter'
  const { from, membersWith, ownThings, opensToOutsiders, refusal }: GroupRight =
    groupRights[operation.right]
  const lowest = membersWith && settings[membersWith] ? 'member' : from
  const role = roleOf(kind, operation)
  if (lowest === 'outsider' || !isBelow(role, lowest) || (opensToOutsiders && isOpen)) return null
  if (ownThings) return role === 'outsider' ? roleErrors.member : isOwnThing ? null : ownThings
  return refusal ?? roleErrors[lowest]
}

const alreadyIn = {
  member: 'already_group_member',
  admin: 'already_group_member',
  owner: 'already_group_member',
} as const
const notInvited = {
  member: 'group_invitation_not_open',
  admin: 'group_invitation_not_open',
  owner: 'group_invitation_not_open',
} as const

/** What users with the right are refused all the same, as there is nothing to do for them. */
const pointless: Readonly<Record<string, Partial<Record<GroupRole, ErrorName>>>> = {
  'group.leave': { owner: 'owner_cannot_leave' },
  'group.apply': alreadyIn,
  'group.qrcode.invite': alreadyIn,
  'app.qrcode.group_invite': alreadyIn,
  'group.invite.handle': notInvited,
}

export function pointlessFor(
  { as }: GroupCallerKind,
  { id }: OperationWithRight,
): ErrorName | null {
  return (as && pointless[id]?.[as]) ?? null
}

/** Fixtures of operations that ask for a right, with the right known to be there. */
export function needsRight(
  fixture: GroupFixture,
): fixture is GroupFixture & { readonly operation: OperationWithRight } {
  return fixture.operation.right !== undefined
}
