/** The page of docs/reference on the rights in a group. Pure, as the other pages. */
import {
  type GroupRight,
  type GroupRole,
  groupRights,
  groupRoles,
  type Operation,
  roleErrors,
} from '@hermod/protocol'
import { code, markdownPage, markdownTable } from './render.js'

/** From high to low, as the page shows them. */
const shownRoles = groupRoles.toReversed()

export function renderGroupRights(operations: readonly Operation[]): string {
  const rows = Object.entries<GroupRight>(groupRights).map(([name, right]) => [
    code(name),
    right.meaning,
    ...shownRoles.map((role) => holding(right, role)),
    target(right),
    operations
      .filter((operation) => operation.right === name)
      .map(({ methods, path }) => code(`${methods.join('|')} ${path}`))
      .join(', ') || 'see below',
  ])
  const head = ['Right', 'Allows to', ...shownRoles.map(capitalised), 'Target', 'Operations']
  const errors = Object.entries(roleErrors).map(
    ([role, error]) => `${code(error)} where ${a(role)} is required`,
  )
  return markdownPage('Rights in groups', [
    'Every operation about a group requires one right, and this table says who has it. Roles, from high to low: the owner, admins, members, outsiders (users of the application who are not members). An empty cell means no.',
    markdownTable(head, rows),
    `A call without the right changes nothing and fails as a whole: ${errors.join(', ')}. A personal right answers ${code(groupRights.own.refusal)}, a shared file of another user ${code(groupRights.files.ownThings)}. ${code('/group/info/batch')} and ${code('/group/application_list')} take several groups and leave out those in which the caller lacks the right.`,
    ...prose.flatMap(([title, text]) => [`## ${title}`, text]),
  ])
}

/** Tells whether a user with the role has the right, and when. */
function holding(
  { from, membersWith, ownThings, opensToOutsiders }: GroupRight,
  role: GroupRole,
): string {
  if (groupRoles.indexOf(role) >= groupRoles.indexOf(from)) return 'yes'
  if (role === 'outsider')
    return opensToOutsiders ? 'in public groups and chatrooms, and when invited' : ''
  if (role !== 'member') return ''
  return membersWith ? `while ${code(membersWith)} is on` : ownThings ? 'own ones' : ''
}

function target({ overLower, isPersonal, ownThings }: GroupRight): string {
  if (overLower) return 'users with a lower role'
  if (isPersonal) return 'oneself'
  return ownThings ? 'any file; members: files that they shared' : 'the group'
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function a(role: string): string {
  return /^[aeiou]/.test(role) ? `an ${role}` : `a ${role}`
}

const prose: readonly (readonly [title: string, text: string])[] = [
  [
    'Admin tokens',
    `The rights of a call with an Admin token depend on its headers:

- alone: those of the owner;
- with ${'`group_id`'}: those of an admin of that group, and of an outsider in every other. A call about another group, by its ${'`group_id`'} or by a QR code, is refused with ${'`no_permission`'}; in a list of groups the others are left out. This is so whether or not an operation lists the header. Operations that are not about a group, and those on messages, ignore it;
- with ${'`user_id`'}: those of that user, and no others;
- with both: those of an admin of the group, or of the owner where the user is the owner.

The personal rights ${'`join`'} and ${'`own`'} need the ${'`user_id`'} header: the role of that user decides, whatever rights the token has.`,
  ],
  [
    'Users with a lower role',
    'Owner and admins kick, ban, unban and block only users with a role below their own: the owner acts on all others, admins on members and outsiders. No user can do this to a user with the same role, to themselves or to the owner. Users of the list without a lower role fail one by one with `no_permission`; the call works for the others.',
  ],
  [
    'Sending',
    'Members send. A banned member cannot send until the ban ends (`member_banned`), but can still read; leaving and coming back does not end a ban. While the whole group is banned, only the owner and admins send. Bans do not apply to an Admin token, also when it acts for a user, but membership does: a user who is not a member cannot send (`not_group_member`). The system, user 0, is a member everywhere.',
  ],
  [
    'Recalling messages',
    'Senders recall their own messages for as long as the application allows (5 minutes by default). The owner and admins recall messages of users with a lower role, also of those who have left, at any age. No user recalls anything while the application has recalls turned off. An Admin token recalls any message at any time. Both `/message/recall` and a send of content_type 10 do this.',
  ],
  [
    'Dissolved groups',
    'For those who were members at the end, `/group/info`, `/group/settings`, `/group/info/batch` and the history of messages stay readable. Everything else answers `group_not_found`, as for a group that never existed; so does every call of other users.',
  ],
]
