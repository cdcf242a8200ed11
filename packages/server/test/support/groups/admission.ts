/** Applications to a group and invitations to it, as tests make them and look at them. */
import type { Answer, Api } from '@hermod/testkit'
import { expect } from 'vitest'
import { answerCode } from '../answer-codes.js'
import { changeSettings, PeoplePool, type Person, type Tuple } from '../contacts.js'
import type { InProcessServer } from '../in-process-server.js'
import {
  aGroup,
  expectSuccess,
  type GroupEvent,
  groupCall,
  groupEventsOf,
  groupInfo,
  groupInvitations,
  joinRequests,
  memberIds,
} from './groups.js'

/** Positive and never issued. */
export const nobody = 1
/** Calls that are made at once. */
export const crowd = 8
export const approvals = { all: 0, confirmed: 1, none: 2 } as const
export const status = { pending: 0, agreed: 1, rejected: 2 } as const

/** Four users of a test: an owner, a helper who is an admin of the group, a member and a guest. */
interface AdmissionCast {
  readonly owner: Person
  readonly helper: Person
  readonly member: Person
  readonly guest: Person
}

/** Its methods can be used on their own. */
export class Admission {
  readonly #pool: PeoplePool
  #cast: AdmissionCast | undefined

  constructor(private readonly server: InProcessServer) {
    this.#pool = new PeoplePool(server, 60)
  }

  /** Takes new users for the next test. */
  async begin(): Promise<AdmissionCast> {
    const [owner, helper, member, guest] = await this.people(4)
    this.#cast = { owner, helper, member, guest }
    return this.#cast
  }

  get #owner(): Api {
    if (!this.#cast) throw new Error('the test has not begun')
    return this.#cast.owner.api
  }

  people = <Count extends number>(count: Count): Promise<Tuple<Person, Count>> =>
    this.#pool.take(count)

  /** People who want to be asked before they are in a group. */
  cautiousPeople = async <Count extends number>(count: Count): Promise<Tuple<Person, Count>> => {
    const found = await this.people(count)
    for (const person of found as readonly Person[])
      await changeSettings(person, { group_confirm: true })
    return found
  }

  /** A group of the owner, with the helper as admin and the member. */
  theGroup = async (more: object = {}): Promise<number> => {
    if (!this.#cast) throw new Error('the test has not begun')
    const { owner, helper, member } = this.#cast
    return aGroup(owner, { members: [member], admins: [helper], more })
  }

  apply = ({ api }: Pick<Person, 'api'>, group_id: number, more: object = {}): Promise<Answer> =>
    groupCall(api, '/group/apply', group_id, more)

  handle = (
    api: Api,
    group_id: number,
    { id }: Pick<Person, 'id'>,
    approval: boolean,
  ): Promise<Answer> => groupCall(api, '/group/apply/handle', group_id, { user_id: id, approval })

  invite = (
    api: Api,
    group_id: number,
    users: readonly Pick<Person, 'id'>[],
    more: object = {},
  ): Promise<Answer> =>
    groupCall(api, '/group/invite', group_id, { user_list: users.map(({ id }) => id), ...more })

  respond = (
    { api }: Pick<Person, 'api'>,
    group_id: number,
    user_id: number,
    approval: boolean,
  ): Promise<Answer> => groupCall(api, '/group/invite/handle', group_id, { user_id, approval })

  /** A call by the owner that succeeds. */
  changeGroup = async (path: string, group_id: number, params: object = {}): Promise<void> => {
    expectSuccess(await groupCall(this.#owner, path, group_id, params))
  }

  take = (group_id: number, apply_approval: number): Promise<void> =>
    this.changeGroup('/group/settings/require_admin_approval', group_id, { apply_approval })

  setCapacity = (group_id: number, value: number): Promise<void> =>
    this.changeGroup('/group/settings/capacity', group_id, { value })

  kickTimes = async (times: number, group_id: number, { id }: Person): Promise<void> => {
    for (let kick = 0; kick < times; kick++) {
      await this.changeGroup('/group/admin/member_join', group_id, { user_list: [id] })
      await this.changeGroup('/group/kick', group_id, { user_list: [id] })
    }
  }

  expire = (table: 'group_join_requests' | 'group_invitations', group_id: number) =>
    this.server.sql.run(`update ${table} set expires_at = 1 where group_id = ${group_id}`)

  events = async (group_id: number, ...kinds: string[]): Promise<GroupEvent[]> =>
    (await groupEventsOf(this.server.sql, group_id)).filter(({ kind }) => kinds.includes(kind))

  applicationStatus = async (group_id: number, { id }: Person): Promise<number | undefined> =>
    (await joinRequests(this.#owner, group_id)).find(({ applicant_id }) => applicant_id === id)
      ?.status

  invitationStatus = async (group_id: number, { api }: Person): Promise<number | undefined> =>
    (await groupInvitations(api)).find((each) => each.group_id === group_id)?.status

  /** The members, as the list and the count of them agree. */
  members = async (group_id: number): Promise<number[]> => {
    const ids = await memberIds(this.#owner, group_id)
    expect((await groupInfo(this.#owner, group_id)).count).toBe(ids.length)
    return ids
  }
}

/** Checks that the call is refused because of this parameter. */
export async function expectFault(call: Promise<Answer>, name: string): Promise<void> {
  const { code, message, data } = (await call).envelope
  expect([code, message, data]).toEqual([
    answerCode.invalid_parameter,
    expect.stringContaining(name),
    null,
  ])
}
