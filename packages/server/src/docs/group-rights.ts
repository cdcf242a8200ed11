/** The page of docs/reference on who may do what in a group. Pure, as the other pages. */
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
  const head = [
    'Right',
    'Allows to',
    ...shownRoles.map(capitalised),
    'On whom or what',
    'Operations',
  ]
  const errors = Object.entries(roleErrors).map(
    ([role, error]) => `${code(error)} where ${a(role)} is asked for`,
  )
  return markdownPage('Rights in groups', [
    'Every operation about a group asks for one right, and this table says who has it. Standings, from high to low: the owner, admins, members, outsiders (users of the application who are no members). An empty cell means no.',
    markdownTable(head, rows),
    `A call without the right changes nothing and fails as a whole: ${errors.join(', ')}. What is personal answers ${code(groupRights.own.refusal)}, a shared file of somebody else ${code(groupRights.files.ownThings)}. ${code('/group/info/batch')} and ${code('/group/application_list')} take several groups and leave out those in which the caller lacks the right.`,
    ...prose.flatMap(([title, text]) => [`## ${title}`, text]),
  ])
}

/** Whether somebody of the role has the right, and when. */
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
  if (overLower) return 'users of lower role'
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
    `How a call with an Admin token stands in a group depends on its headers:

- alone: as the owner;
- with ${'`group_id`'}: as an admin of that group, and an outsider in every other: a call about another group, by its ${'`group_id`'} or by a QR code, is refused with ${'`no_permission`'}, in a list of groups it is left out. This holds whether or not an operation lists the header. Operations about no group, and those on messages, ignore it;
- with ${'`user_id`'}: as that user, with no right that the user has not;
- with both: as an admin of the group, or as the user where the user is the owner.

What a user does for oneself (rights ${'`join`'} and ${'`own`'}) is done for the user in the ${'`user_id`'} header and needs it; what that user is decides, whatever the token may do.`,
  ],
  [
    'Users of lower role',
    'Owner and admins kick, ban, unban and block only users whose role is below their own: the owner everybody else, admins members and outsiders. So nobody acts on an equal or on oneself, and the owner is safe from everybody. Users of the list who are not lower fail one by one with `no_permission`; the others are acted on.',
  ],
  [
    'Sending',
    'Members send. A member under a ban does not until the ban ends (`member_banned`), and goes on reading; leaving and coming back does not end it. While the whole group is banned, only the owner and admins send. An Admin token passes over bans, also for a user, but not over membership: a user who is no member sends nothing (`not_group_member`). The system, user 0, is a member everywhere.',
  ],
  [
    'Recalling messages',
    'Senders recall their own messages for as long as the application allows (5 minutes by default). The owner and admins recall messages of users of lower role, also of those who have left, however old they are. Nobody recalls anything while the application has recalls turned off. An Admin token recalls any message at any time. `/message/recall` does it, and a send of content_type 10.',
  ],
  [
    'Dissolved groups',
    'For those who were members at the end, `/group/info`, `/group/settings`, `/group/info/batch` and the history of messages stay readable. Everything else answers `group_not_found`, as for a group that never was; to everybody else it is gone altogether.',
  ],
]
