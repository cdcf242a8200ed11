/** A group with a user of every role, and every caller about it. */
import { type Answer, type Api, sharedPassword } from '@hermod/testkit'
import { answerCode } from '../answer-codes.js'
import { type Person, registerPeople } from '../contacts.js'
import type { TestServer } from '../watched-server.js'
import { aGroup, type GroupOptions } from './groups.js'

const roles = ['owner', 'admin', 'member', 'outsider'] as const
type Role = (typeof roles)[number]

/** By user token, or by Admin token with these headers. */
const callerNames = [
  ...roles,
  'Admin token',
  'Admin token, group_id',
  'Admin token, another group_id',
  'Admin token, user_id of the member',
  'Admin token, user_id of the member, group_id',
] as const
export type CallerName = (typeof callerNames)[number]

export const owners: readonly CallerName[] = ['owner', 'Admin token']
export const admins: readonly CallerName[] = [
  ...owners,
  'admin',
  'Admin token, group_id',
  'Admin token, user_id of the member, group_id',
]
export const members: readonly CallerName[] = [
  ...admins,
  'member',
  'Admin token, user_id of the member',
]

export interface GroupCast extends Readonly<Record<Role, Person>> {
  readonly group_id: number
  /** Logs in those who call by user token. */
  callers(): Promise<Readonly<Record<CallerName, Api>>>
}

/** @param more further parameters of /group/create */
export async function aCast(
  server: TestServer,
  more: GroupOptions['more'] = {},
): Promise<GroupCast> {
  const people = await registerPeople(server, roles.length)
  const [owner, admin, member, outsider] = people
  if (!owner || !admin || !member || !outsider) throw new Error('nobody')
  const group_id = await aGroup(owner, { members: [member], admins: [admin], more })
  const callers = async () => {
    const byToken = await Promise.all(
      people.map(({ id, username }) =>
        server.api.sessionOf({ id, username, password: sharedPassword }),
      ),
    )
    const apis = byToken.map(({ api }, index) => [roles[index], api])
    return {
      ...(Object.fromEntries(apis) as Record<Role, Api>),
      'Admin token': server.api.admin(),
      'Admin token, group_id': server.api.admin({ groupId: group_id }),
      'Admin token, another group_id': server.api.admin({ groupId: group_id - 1 }),
      'Admin token, user_id of the member': server.api.admin({ userId: member.id }),
      'Admin token, user_id of the member, group_id': server.api.admin({
        userId: member.id,
        groupId: group_id,
      }),
    }
  }
  return { group_id, owner, admin, member, outsider, callers }
}

type Codes = Readonly<Record<string, number>>

interface Without {
  /** Callers who do not call. */
  readonly without?: readonly CallerName[]
}

/** The code of the answer to each caller, one after the other. */
export async function codesOf(
  cast: GroupCast,
  call: (api: Api) => Promise<Answer>,
  { without = [] }: Without = {},
): Promise<Codes> {
  const callers = await cast.callers()
  const codes: Record<string, number> = {}
  for (const name of callerNames)
    if (!without.includes(name)) codes[name] = (await call(callers[name])).code
  return codes
}

/** What {@link codesOf} gives when these callers may and the others are refused with this code. */
export function only(
  allowed: readonly CallerName[],
  refusal: number,
  { without = [] }: Without = {},
): Codes {
  const codeOf = (name: CallerName) =>
    name === 'Admin token, another group_id' ? answerCode.no_permission : refusal
  const calling = callerNames.filter((name) => !without.includes(name))
  return Object.fromEntries(
    calling.map((name) => [name, allowed.includes(name) ? 200 : codeOf(name)]),
  )
}
