/** Applications to groups and invitations, on both databases. */
import type { GroupApplication } from '@hermod/protocol'
import { type Answer, type Api, anyBackend } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { changeSettings, codes, PeoplePool, type Person } from '../support/contacts.js'
import {
  aGroup,
  allPages,
  expectSuccess,
  groupCall,
  groupEventsOf,
  groupInfo,
  groupInvitations,
  joinRequests,
  memberIds,
  outcomes,
  types,
} from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

/** Positive and never issued. */
const nobody = 1
const dayMs = 24 * 3_600_000
const crowd = 8
const approvals = { all: 0, confirmed: 1, none: 2 } as const
const status = { pending: 0, agreed: 1, rejected: 2 } as const
const kickedText = 'user was kicked too often and cannot join'

describe.each(anyBackend())('coming into groups on $name', (backend) => {
  const server = sharedServer(backend)
  let admin: Api
  let pool: PeoplePool
  let owner: Person
  let helper: Person
  let member: Person
  let guest: Person

  beforeAll(async () => {
    admin = server.api.admin()
    pool = new PeoplePool(server, 120)
  })

  beforeEach(async () => {
    ;[owner, helper, member, guest] = (await people(4)) as [Person, Person, Person, Person]
  })

  const people = (count: number): Promise<Person[]> => pool.take(count)

  /** People who want to be asked before they are in a group. */
  async function cautiousPeople(count: number): Promise<Person[]> {
    const found = await people(count)
    for (const person of found) await changeSettings(person, { group_confirm: true })
    return found
  }

  /** Of the owner, with the helper as admin and the member. */
  const theGroup = (more: object = {}) =>
    aGroup(owner, { members: [member], admins: [helper], more })

  const apply = ({ api }: Pick<Person, 'api'>, group_id: number, more: object = {}) =>
    groupCall(api, '/group/apply', group_id, more)
  const handle = (api: Api, group_id: number, { id }: Pick<Person, 'id'>, approval: boolean) =>
    groupCall(api, '/group/apply/handle', group_id, { user_id: id, approval })
  const invite = (
    api: Api,
    group_id: number,
    users: readonly Pick<Person, 'id'>[],
    more: object = {},
  ) => groupCall(api, '/group/invite', group_id, { user_list: users.map(({ id }) => id), ...more })
  const respond = (
    { api }: Pick<Person, 'api'>,
    group_id: number,
    user_id: number,
    approval: boolean,
  ) => groupCall(api, '/group/invite/handle', group_id, { user_id, approval })

  async function changeGroup(path: string, group_id: number, params: object = {}): Promise<void> {
    expectSuccess(await groupCall(owner.api, path, group_id, params))
  }

  const take = (group_id: number, apply_approval: number) =>
    changeGroup('/group/settings/require_admin_approval', group_id, { apply_approval })
  const setCapacity = (group_id: number, value: number) =>
    changeGroup('/group/settings/capacity', group_id, { value })

  async function kickTimes(times: number, group_id: number, { id }: Person): Promise<void> {
    for (let kick = 0; kick < times; kick++) {
      await changeGroup('/group/admin/member_join', group_id, { user_list: [id] })
      await changeGroup('/group/kick', group_id, { user_list: [id] })
    }
  }

  const expire = (table: 'group_join_requests' | 'group_invitations', group_id: number) =>
    server.sql.run(`update ${table} set expires_at = 1 where group_id = ${group_id}`)

  async function events(group_id: number, ...kinds: string[]) {
    return (await groupEventsOf(server.sql, group_id)).filter(({ kind }) => kinds.includes(kind))
  }

  async function applicationStatus(group_id: number, { id }: Person): Promise<number | undefined> {
    return (await joinRequests(owner.api, group_id)).find(({ applicant_id }) => applicant_id === id)
      ?.status
  }

  async function invitationStatus(group_id: number, { api }: Person): Promise<number | undefined> {
    return (await groupInvitations(api)).find((each) => each.group_id === group_id)?.status
  }

  /** The members, as everything agrees on that tells how many there are. */
  async function members(group_id: number): Promise<number[]> {
    const ids = await memberIds(owner.api, group_id)
    expect((await groupInfo(owner.api, group_id)).count).toBe(ids.length)
    return ids
  }

  async function expectFault(call: Promise<Answer>, name: string): Promise<void> {
    const { code: found, message, data } = (await call).envelope
    expect([found, message, data]).toEqual([
      answerCode.invalid_parameter,
      expect.stringContaining(name),
      null,
    ])
  }

  describe('applying', () => {
    it('waits for an admin, and tells the admins why', async () => {
      const group_id = await theGroup()
      const applied = await apply(guest, group_id, { reason: 'let me in' })
      expect(applied.envelope).toMatchObject({
        code: answerCode.ok,
        data: { user_id: guest.id, result: 'success' },
      })
      expect(applied.data).not.toHaveProperty('reason')
      const [request] = await joinRequests(owner.api, group_id)
      const { expired_time, ...rest } = request as GroupApplication
      expect(rest).toEqual({
        applicant_id: guest.id,
        group_id,
        reason: 'let me in',
        status: status.pending,
      })
      const [row] = await server.sql.run(
        `select created_at from group_join_requests where group_id = ${group_id}`,
      )
      expect(expired_time).toBe(Number(row?.created_at) + 7 * dayMs)
      expect(await events(group_id, 'applied')).toEqual([
        { kind: 'applied', actor: guest.id, users: [guest.id], content: 'let me in' },
      ])
      expect(await members(group_id)).not.toContain(guest.id)
    })

    it.each(Object.entries(types))('is possible for a group of type %s', async (_, type) => {
      const group_id = await theGroup({ type })
      await expectCode(apply(guest, group_id), 'ok')
      expect(await applicationStatus(group_id, guest)).toBe(status.pending)
      await take(group_id, approvals.all)
      await expectCode(apply(guest, group_id), 'ok')
      expect(await members(group_id)).toContain(guest.id)
    })

    it('is joining where the group takes all', async () => {
      const group_id = await theGroup()
      await take(group_id, approvals.all)
      expect((await apply(guest, group_id, { reason: 'hello' })).data).toEqual({
        user_id: guest.id,
        result: 'success',
      })
      expect(await members(group_id)).toContain(guest.id)
      expect(await joinRequests(owner.api, group_id)).toEqual([])
      expect((await events(group_id, 'joined', 'applied')).at(-1)).toEqual({
        kind: 'joined',
        actor: guest.id,
        users: [guest.id],
        content: '',
      })
      await expectCode(apply(guest, group_id), 'already_group_member')
    })

    it('is refused where the group takes none', async () => {
      const group_id = await theGroup()
      await take(group_id, approvals.none)
      await expectCode(apply(guest, group_id), 'join_requests_closed')
      await expectCode(apply(member, group_id), 'already_group_member')
      expect(await joinRequests(owner.api, group_id)).toEqual([])
      expect(await events(group_id, 'applied')).toEqual([])
    })

    it.each(Object.entries(approvals))(
      'is refused to members, the blocked, and those kicked more than 3 times: %s',
      async (_, approval) => {
        const group_id = await theGroup()
        await take(group_id, approval)
        const [blocked] = (await people(1)) as [Person]
        await changeGroup('/group/block', group_id, { user_list: [blocked.id] })
        await kickTimes(3, group_id, guest)
        expect((await apply(guest, group_id)).code).toBe(
          approval === approvals.none ? answerCode.join_requests_closed : answerCode.ok,
        )
        await kickTimes(approval === approvals.all ? 0 : 1, group_id, guest)
        if (approval === approvals.all)
          await changeGroup('/group/kick', group_id, { user_list: [guest.id] })
        expect(
          codes([
            await apply(guest, group_id),
            await apply(blocked, group_id),
            await apply(owner, group_id),
          ]),
        ).toEqual([
          answerCode.kicked_too_often,
          answerCode.in_group_block_list,
          answerCode.already_group_member,
        ])
        expect(await members(group_id)).toEqual([owner.id, helper.id, member.id])
      },
    )

    it('meets a full group only when it would be joining', async () => {
      const group_id = await theGroup()
      await setCapacity(group_id, 3)
      await expectCode(apply(guest, group_id), 'ok')
      await take(group_id, approvals.all)
      await expectCode(apply(guest, group_id), 'group_full')
      expect(await applicationStatus(group_id, guest)).toBe(status.pending)
    })

    it('again renews the reason and the time, and leaves one application', async () => {
      const group_id = await theGroup()
      expectSuccess(await apply(guest, group_id, { reason: 'first' }))
      await expire('group_join_requests', group_id)
      await expectCode(handle(owner.api, group_id, guest, true), 'join_request_not_open')
      expectSuccess(await apply(guest, group_id, { reason: 'second' }))
      const requests = await joinRequests(owner.api, group_id)
      expect(requests.map(({ reason, status }) => [reason, status])).toEqual([
        ['second', status.pending],
      ])
      await expectCode(handle(owner.api, group_id, guest, true), 'ok')
    })

    it('makes an event each time, with its new reason', async () => {
      const group_id = await theGroup()
      for (const reason of ['first', 'second', 'third'])
        expectSuccess(await apply(guest, group_id, { reason }))
      expect((await events(group_id, 'applied')).map(({ content }) => content)).toEqual([
        'first',
        'second',
        'third',
      ])
      expect((await joinRequests(owner.api, group_id)).map(({ reason }) => reason)).toEqual([
        'third',
      ])
    })

    it('is possible again after a rejection and after leaving', async () => {
      const group_id = await theGroup()
      for (const approval of [false, true]) {
        expectSuccess(await apply(guest, group_id))
        expectSuccess(await handle(owner.api, group_id, guest, approval))
      }
      expectSuccess(await groupCall(guest.api, '/group/leave', group_id))
      expectSuccess(await apply(guest, group_id))
      expect(await applicationStatus(group_id, guest)).toBe(status.pending)
    })

    it('joins an invited user at once, whatever the group takes, and the inviter learns it', async () => {
      for (const approval of Object.values(approvals)) {
        const [invited] = (await cautiousPeople(1)) as [Person]
        const group_id = await theGroup()
        await take(group_id, approval)
        expectSuccess(await invite(member.api, group_id, [invited]))
        await expectCode(apply(invited, group_id), 'ok')
        expect(await members(group_id)).toContain(invited.id)
        expect(await invitationStatus(group_id, invited)).toBe(status.agreed)
        expect(await events(group_id, 'applied', 'invitation_accepted')).toEqual([
          { kind: 'invitation_accepted', actor: invited.id, users: [member.id], content: '' },
        ])
      }
    })

    it('does not join a user whose invitation has run out', async () => {
      const [invited] = (await cautiousPeople(1)) as [Person]
      const group_id = await theGroup()
      expectSuccess(await invite(owner.api, group_id, [invited]))
      await expire('group_invitations', group_id)
      await expectCode(apply(invited, group_id), 'ok')
      expect(await applicationStatus(group_id, invited)).toBe(status.pending)
      expect(await members(group_id)).not.toContain(invited.id)
    })

    it('twice at once leaves one application, or one member', async () => {
      const group_id = await theGroup()
      const applied = await Promise.all(Array.from({ length: crowd }, () => apply(guest, group_id)))
      expect(codes(applied)).toEqual(Array(crowd).fill(answerCode.ok))
      expect(await joinRequests(owner.api, group_id)).toHaveLength(1)
      await take(group_id, approvals.all)
      const joined = await Promise.all(Array.from({ length: crowd }, () => apply(guest, group_id)))
      expect(codes(joined).toSorted()).toEqual([
        answerCode.ok,
        ...Array(crowd - 1).fill(answerCode.already_group_member),
      ])
      expect(await members(group_id)).toHaveLength(4)
      expect(await applicationStatus(group_id, guest)).toBe(status.agreed)
    })

    it('and being invited at once can both be answered, and make one member', async () => {
      const crossing = await cautiousPeople(crowd)
      const group_id = await theGroup()
      await Promise.all(
        crossing.flatMap((each) => [apply(each, group_id), invite(owner.api, group_id, [each])]),
      )
      const joined = await members(group_id)
      for (const each of crossing.filter(({ id }) => !joined.includes(id))) {
        expect([
          await applicationStatus(group_id, each),
          await invitationStatus(group_id, each),
        ]).toEqual([status.pending, status.pending])
        expectSuccess(await respond(each, group_id, each.id, true))
        expect(await applicationStatus(group_id, each)).toBe(status.agreed)
      }
      expect(await members(group_id)).toHaveLength(3 + crowd)
      for (const each of crossing)
        expect(await invitationStatus(group_id, each)).toBe(status.agreed)
    })

    it('lets as many in as there is room for', async () => {
      const crowding = await people(crowd)
      const group_id = await theGroup()
      await take(group_id, approvals.all)
      await setCapacity(group_id, 4)
      const answers = await Promise.all(crowding.map((each) => apply(each, group_id)))
      expect(codes(answers).toSorted()).toEqual([
        answerCode.ok,
        ...Array(crowd - 1).fill(answerCode.group_full),
      ])
      expect(await members(group_id)).toHaveLength(4)
    })

    it('keeps to how many groups a user may be in', async () => {
      const setLimit = (group_member_limit: number) =>
        server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', {
          body: { app_id: server.appId, settings: { group_member_limit } },
        })
      const [first, second] = [await theGroup(), await theGroup()]
      await take(first, approvals.all)
      await take(second, approvals.all)
      await setLimit(2)
      try {
        const other = await aGroup(guest)
        const answers = await Promise.all([apply(guest, first), apply(guest, second)])
        expect(codes(answers).toSorted()).toEqual([
          answerCode.ok,
          answerCode.joined_group_limit_reached,
        ])
        await groupCall(guest.api, '/group/destroy', other)
        expect(codes([await apply(guest, first), await apply(guest, second)]).toSorted()).toEqual([
          answerCode.ok,
          answerCode.already_group_member,
        ])
      } finally {
        await setLimit(5_000)
      }
    })

    it('needs a user, and a group that is there', async () => {
      const group_id = await theGroup()
      await expectFault(groupCall(admin, '/group/apply', group_id), 'header user_id')
      await expectCode(apply(guest, nobody), 'group_not_found')
      await expectCode(apply(guest, guest.id), 'group_not_found')
      await changeGroup('/group/destroy', group_id)
      await expectCode(apply(guest, group_id), 'group_not_found')
    })

    it('names a faulty parameter', async () => {
      const group_id = await theGroup()
      await expectFault(apply(guest, group_id, { reason: 'x'.repeat(1025) }), 'reason')
      await expectFault(apply(guest, group_id, { reason: 5 }), 'reason')
      await expectFault(guest.api.call('POST', '/group/apply', { body: {} }), 'group_id')
      await expectFault(groupCall(guest.api, '/group/apply', 'x'), 'group_id')
      expectSuccess(await apply(guest, group_id, { reason: 'ü'.repeat(1024) }))
    })
  })

  describe('an application', () => {
    it('lets the applicant in when it is approved', async () => {
      const group_id = await theGroup()
      expectSuccess(await apply(guest, group_id))
      expect((await handle(helper.api, group_id, guest, true)).data).toEqual({
        user_id: guest.id,
        result: 'success',
      })
      expect(await members(group_id)).toContain(guest.id)
      expect(await applicationStatus(group_id, guest)).toBe(status.agreed)
      expect(
        (await events(group_id, 'joined', 'request_accepted', 'request_declined')).slice(1),
      ).toEqual(
        expect.arrayContaining([
          { kind: 'request_accepted', actor: helper.id, users: [guest.id], content: '' },
          { kind: 'joined', actor: helper.id, users: [guest.id], content: '' },
        ]),
      )
    })

    it('leaves the applicant outside when it is rejected', async () => {
      const group_id = await theGroup()
      expectSuccess(await apply(guest, group_id))
      await expectCode(
        groupCall(owner.api, '/group/apply/handle', group_id, {
          user_id: guest.id,
          approval: 0,
        }),
        'ok',
      )
      expect(await members(group_id)).not.toContain(guest.id)
      expect(await applicationStatus(group_id, guest)).toBe(status.rejected)
      expect(await events(group_id, 'request_accepted', 'request_declined')).toEqual([
        { kind: 'request_declined', actor: owner.id, users: [guest.id], content: '' },
      ])
      await expectCode(handle(owner.api, group_id, guest, true), 'join_request_not_open')
    })

    it('is handled once', async () => {
      const group_id = await theGroup()
      expectSuccess(await apply(guest, group_id))
      const answers = await Promise.all(
        Array.from({ length: crowd }, (_, index) =>
          handle(index % 2 ? owner.api : helper.api, group_id, guest, true),
        ),
      )
      expect(codes(answers).toSorted()).toEqual([
        answerCode.ok,
        ...Array(crowd - 1).fill(answerCode.join_request_not_open),
      ])
      expect(await members(group_id)).toHaveLength(4)
      expect(await events(group_id, 'request_accepted')).toHaveLength(1)
    })

    it('is approved or rejected when both happen at once', async () => {
      const applicants = await people(crowd)
      const group_id = await theGroup()
      for (const each of applicants) {
        expectSuccess(await apply(each, group_id))
        const [approved, rejected] = await Promise.all([
          handle(owner.api, group_id, each, true),
          handle(helper.api, group_id, each, false),
        ])
        expect(codes([approved, rejected]).toSorted()).toEqual([
          answerCode.ok,
          answerCode.join_request_not_open,
        ])
        const isIn = approved.code === answerCode.ok
        expect((await members(group_id)).includes(each.id)).toBe(isIn)
        expect(await applicationStatus(group_id, each)).toBe(isIn ? status.agreed : status.rejected)
      }
    })

    it('cannot be handled when there is none, when it has run out, or when the applicant came in otherwise', async () => {
      const group_id = await theGroup()
      const [invited] = (await people(1)) as [Person]
      expectSuccess(await apply(guest, group_id))
      expectSuccess(await apply(invited, group_id))
      expect(
        codes([
          await handle(owner.api, group_id, member, true),
          await handle(owner.api, group_id, { id: nobody }, true),
        ]),
      ).toEqual([answerCode.join_request_not_open, answerCode.join_request_not_open])
      expectSuccess(await invite(member.api, group_id, [invited]))
      await expire('group_join_requests', group_id)
      for (const approval of [true, false]) {
        await expectCode(handle(owner.api, group_id, guest, approval), 'join_request_not_open')
        await expectCode(handle(owner.api, group_id, invited, approval), 'join_request_not_open')
      }
      expect(await applicationStatus(group_id, invited)).toBe(status.agreed)
      expect(await joinRequests(owner.api, group_id)).toContainEqual({
        applicant_id: guest.id,
        expired_time: 1,
        group_id,
        reason: '',
        status: status.pending,
      })
    })

    it('stays pending while the group is full', async () => {
      const group_id = await theGroup()
      await setCapacity(group_id, 3)
      expectSuccess(await apply(guest, group_id))
      expect((await handle(owner.api, group_id, guest, true)).envelope).toMatchObject({
        code: answerCode.group_full,
        data: null,
      })
      expect(await applicationStatus(group_id, guest)).toBe(status.pending)
      expect(await events(group_id, 'request_accepted')).toEqual([])
      await setCapacity(group_id, 4)
      await expectCode(handle(owner.api, group_id, guest, true), 'ok')
      expect(await members(group_id)).toContain(guest.id)
    })

    it('ends when the applicant is blocked or deleted', async () => {
      const group_id = await theGroup()
      const [leaving] = (await people(1)) as [Person]
      expectSuccess(await apply(guest, group_id))
      expectSuccess(await apply(leaving, group_id))
      await changeGroup('/group/block', group_id, { user_list: [guest.id] })
      await leaving.api.succeed('POST', '/user/delete', { body: {} })
      await expectCode(handle(owner.api, group_id, guest, true), 'join_request_not_open')
      expect((await handle(owner.api, group_id, leaving, true)).code).not.toBe(answerCode.ok)
      // Nobody has answered it, and nobody can any more.
      const request = (await joinRequests(owner.api, group_id)).find(
        ({ applicant_id }) => applicant_id === guest.id,
      )
      expect(Number(request?.expired_time)).toBeLessThanOrEqual(Date.now())
      expect(await applicationStatus(group_id, guest)).toBe(status.pending)
      expect(await members(group_id)).toEqual([owner.id, helper.id, member.id])
    })

    it('is handled by the owner, admins and an Admin token only', async () => {
      const other = await aGroup(guest)
      const callers: [Api, number][] = [
        [guest.api, answerCode.group_admin_required],
        [member.api, answerCode.group_admin_required],
        [server.api.admin({ userId: member.id }), answerCode.group_admin_required],
        [server.api.admin({ groupId: other }), answerCode.no_permission],
        [owner.api, answerCode.ok],
        [helper.api, answerCode.ok],
        [admin, answerCode.ok],
      ]
      const group_id = await theGroup()
      callers.push([server.api.admin({ groupId: group_id }), answerCode.ok])
      callers.push([server.api.admin({ groupId: group_id, userId: member.id }), answerCode.ok])
      const applicants = await people(callers.length)
      for (const [index, [api, expected]] of callers.entries()) {
        const applicant = applicants[index] as Person
        expectSuccess(await apply(applicant, group_id))
        expect([index, (await handle(api, group_id, applicant, true)).code]).toEqual([
          index,
          expected,
        ])
        expect((await members(group_id)).includes(applicant.id)).toBe(expected === answerCode.ok)
      }
      await expectCode(handle(owner.api, nobody, guest, true), 'group_not_found')
    })

    it('and a dissolution at once leave no member behind whom nobody let in', async () => {
      for (let round = 0; round < 3; round++) {
        const group_id = await theGroup()
        expectSuccess(await apply(guest, group_id))
        const [handled] = await Promise.all([
          handle(helper.api, group_id, guest, true),
          changeGroup('/group/destroy', group_id),
        ])
        expect([answerCode.ok, answerCode.group_not_found]).toContain(handled.code)
        const rows = await server.sql.run(
          `select user_id from group_members where group_id = ${group_id} and user_id = ${guest.id}`,
        )
        expect(rows).toHaveLength(handled.code === answerCode.ok ? 1 : 0)
        const [request] = await server.sql.run(
          `select status from group_join_requests where group_id = ${group_id}`,
        )
        expect(request?.status).toBe(
          handled.code === answerCode.ok ? status.agreed : status.pending,
        )
      }
    })

    it('names a faulty parameter when it is handled', async () => {
      const group_id = await theGroup()
      await expectFault(
        groupCall(owner.api, '/group/apply/handle', group_id, { user_id: guest.id }),
        'approval',
      )
      await expectFault(
        groupCall(owner.api, '/group/apply/handle', group_id, { user_id: guest.id, approval: 2 }),
        'approval',
      )
      await expectFault(
        groupCall(owner.api, '/group/apply/handle', group_id, { approval: true }),
        'user_id',
      )
    })
  })

  describe('the list of applications', () => {
    const list = (
      api: Api,
      group_list: readonly unknown[],
      query: Record<string, string | number> = {},
    ) =>
      api.call<GroupApplication[]>('POST', '/group/application_list', {
        query,
        body: { group_list },
      })

    it('is of the groups that the caller may manage', async () => {
      const [mine, other, foreign] = [await theGroup(), await theGroup(), await aGroup(guest)]
      const [applicant] = (await people(1)) as [Person]
      for (const group_id of [mine, other, foreign]) expectSuccess(await apply(applicant, group_id))
      await changeGroup('/group/admin/remove', other, { user_list: [helper.id] })
      const all = [foreign, nobody, mine, mine, other]
      const groupsSeenBy = async (api: Api) => {
        const { data, envelope } = await list(api, all)
        expect(envelope.total).toBe(data.length)
        return data.map(({ group_id }) => group_id).toSorted()
      }
      expect(await groupsSeenBy(owner.api)).toEqual([mine, other].toSorted())
      expect(await groupsSeenBy(helper.api)).toEqual([mine])
      expect(await groupsSeenBy(member.api)).toEqual([])
      expect(await groupsSeenBy(applicant.api)).toEqual([])
      expect(await groupsSeenBy(guest.api)).toEqual([foreign])
      expect(await groupsSeenBy(admin)).toEqual([mine, other, foreign].toSorted())
      expect(await groupsSeenBy(server.api.admin({ groupId: other }))).toEqual([other])
      expect(await groupsSeenBy(server.api.admin({ groupId: other, userId: guest.id }))).toEqual(
        [other, foreign].toSorted(),
      )
      await changeGroup('/group/destroy', mine)
      expect(await groupsSeenBy(owner.api)).toEqual([other])
    })

    it('is empty for no groups and where nobody has applied', async () => {
      const group_id = await theGroup()
      for (const groups of [[], [group_id], [nobody]])
        expect((await list(owner.api, groups)).envelope).toEqual({
          code: answerCode.ok,
          message: null,
          data: [],
          total: 0,
          version: 0,
        })
    })

    it('goes from new to old over all groups, page by page', async () => {
      const groups = [await theGroup(), await theGroup()]
      const applicants = await people(5)
      for (const each of applicants)
        for (const group_id of groups) expectSuccess(await apply(each, group_id))
      // Some at the same time, so that the IDs decide.
      await server.sql.run(
        `update group_join_requests set created_at = 5 where applicant_id in (${applicants[0]?.id}, ${applicants[1]?.id})`,
      )
      const place = ({ group_id, applicant_id }: GroupApplication) => `${group_id}/${applicant_id}`
      const whole = (await list(owner.api, groups)).data.map(place)
      expect(whole).toHaveLength(10)
      const rows = await server.sql.run(
        `select group_id, applicant_id from group_join_requests where group_id in (${groups}) order by created_at desc, group_id desc, applicant_id desc`,
      )
      expect(whole).toEqual(rows.map(({ group_id, applicant_id }) => `${group_id}/${applicant_id}`))
      for (const limit of [1, 3, 9]) {
        const paged: string[] = []
        let cursor = ''
        do {
          const { envelope } = await list(owner.api, groups, { cursor, limit })
          expect(envelope.data.length).toBe(Math.min(limit, 10 - paged.length))
          expect(envelope.total).toBe(10)
          paged.push(...envelope.data.map(place))
          cursor = envelope.cursor ?? ''
        } while (cursor !== '')
        expect(paged).toEqual(whole)
      }
      expect((await list(owner.api, groups, { limit: 10 })).envelope).not.toHaveProperty('cursor')
    })

    it('has the newest change as its version', async () => {
      const group_id = await theGroup()
      expectSuccess(await apply(guest, group_id))
      await server.sql.run(
        `update group_join_requests set updated_at = 5 where group_id = ${group_id}`,
      )
      expect((await list(owner.api, [group_id])).envelope.version).toBe(5)
      expectSuccess(await handle(owner.api, group_id, guest, false))
      const { version } = (await list(owner.api, [group_id], { version: 5 })).envelope
      expect(version).toBeGreaterThan(5)
    })

    it('takes 10,000 groups, and holds at most 500 applications a page', async () => {
      const { sql } = server
      const group_id = await theGroup()
      const first = 1_001
      const [columns, values] = [
        'app_id, group_id, applicant_id, reason, status, created_at, expires_at, updated_at',
        "'', 0, 1, 1, 1",
      ]
      /** The groups are copies of one, with one application each. */
      const each = `with recursive n (i) as (select ${first} union all select i + 1 from n where i < ${first + 9_998})`
      const copied =
        'type, name, avatar, description, owner_id, capacity, member_count, created_at, updated_at, members_changed_at'
      await sql.run(`${each} insert into groups (app_id, group_id, join_request_count, ${copied})
          select app_id, i, 1, ${copied} from groups cross join n where group_id = ${group_id}`)
      await sql.run(`${each} insert into group_members (app_id, group_id, user_id, role, joined_at)
          select app_id, i, user_id, role, joined_at from group_members cross join n where group_id = ${group_id}`)
      await sql.run(
        `${each} insert into group_join_requests (${columns}) select '${server.appId}', i, ${guest.id}, ${values} from n`,
      )
      const groups = [...Array.from({ length: 9_999 }, (_, index) => first + index), group_id]
      for (const api of [owner.api, admin]) {
        const page = await list(api, groups, { limit: 1_000_000 })
        expect([page.data.length, page.envelope.total, page.data[0]?.group_id]).toEqual([
          500,
          9_999,
          first + 9_998,
        ])
        const next = await list(api, groups, { cursor: page.envelope.cursor })
        expect([next.data.length, next.envelope.total, next.data[0]?.group_id]).toEqual([
          100,
          9_999,
          first + 9_498,
        ])
      }
      expect((await list(member.api, groups)).data).toEqual([])
      await expectFault(list(owner.api, [...groups, nobody]), 'group_list')
    })

    it('names a faulty parameter', async () => {
      const group_id = await theGroup()
      await expectFault(
        owner.api.call('POST', '/group/application_list', { body: {} }),
        'group_list',
      )
      await expectFault(list(owner.api, ['x']), 'group_list')
      await expectFault(list(owner.api, [group_id], { limit: 0 }), 'limit')
      for (const cursor of [
        'x',
        '1-2',
        '1-2-3-4',
        '1-2-',
        '-1-2-3',
        '1-2-9999999999999999',
        `${'1'.repeat(600)}-1-1`,
      ])
        await expectFault(list(owner.api, [group_id], { cursor }), 'cursor')
    })
  })

  describe('inviting', () => {
    it('takes in who does not want to be asked, and asks the others', async () => {
      const [asked, sure, deleted] = [...(await cautiousPeople(1)), ...(await people(2))] as [
        Person,
        Person,
        Person,
      ]
      await deleted.api.succeed('POST', '/user/delete', { body: {} })
      const group_id = await theGroup()
      const user_list = [asked.id, sure.id, nobody, asked.id, deleted.id, member.id, sure.id]
      const invited = await groupCall(member.api, '/group/invite', group_id, {
        user_list,
        reason: 'come',
      })
      expect(invited.data.map(({ user_id }: { user_id: number }) => user_id)).toEqual([
        asked.id,
        sure.id,
        nobody,
        deleted.id,
        member.id,
      ])
      expect(outcomes(invited)).toEqual({
        [asked.id]: null,
        [sure.id]: null,
        [nobody]: 'user does not exist',
        [deleted.id]: 'user has been deregistered',
        [member.id]: 'user is already a member of the group',
      })
      expect(await members(group_id)).toEqual([owner.id, helper.id, member.id, sure.id].toSorted())
      const [received, ...more] = await groupInvitations(asked.api)
      expect(more).toEqual([])
      const [row] = await server.sql.run(
        `select * from group_invitations where group_id = ${group_id}`,
      )
      expect(received).toEqual({
        expired_time: Number(row?.created_at) + 7 * dayMs,
        group_id,
        invitee_id: asked.id,
        inviter_id: member.id,
        reason: 'come',
        status: status.pending,
        updated_at: new Date(Number(row?.created_at)).toISOString(),
      })
      expect(await groupInvitations(sure.api)).toEqual([])
      expect((await events(group_id, 'invited', 'joined')).slice(-2)).toEqual([
        { kind: 'invited', actor: member.id, users: [asked.id], content: 'come' },
        { kind: 'joined', actor: member.id, users: [sure.id], content: '' },
      ])
    })

    it('is for members while member_invite is on, for admins always', async () => {
      const group_id = await theGroup()
      const [other] = (await people(1)) as [Person]
      const callers = [
        owner.api,
        helper.api,
        member.api,
        other.api,
        admin,
        server.api.admin({ groupId: group_id }),
        server.api.admin({ groupId: group_id, userId: other.id }),
      ]
      const inviting = async () => {
        const answers: Answer[] = []
        for (const api of callers) answers.push(await invite(api, group_id, await people(1)))
        return codes(answers)
      }
      expect(await inviting()).toEqual([
        answerCode.ok,
        answerCode.ok,
        answerCode.ok,
        answerCode.member_required,
        answerCode.ok,
        answerCode.ok,
        answerCode.ok,
      ])
      expect(await members(group_id)).toHaveLength(9)
      await changeGroup('/group/settings/allow_member_invitation', group_id, { value: false })
      expect(await inviting()).toEqual([
        answerCode.ok,
        answerCode.ok,
        answerCode.group_admin_required,
        answerCode.group_admin_required,
        answerCode.ok,
        answerCode.ok,
        answerCode.ok,
      ])
      await expectCode(invite(owner.api, nobody, [guest]), 'group_not_found')
    })

    it('by an ordinary member does not bring back who was kicked more than 3 times, an admin may', async () => {
      const [asked] = (await cautiousPeople(1)) as [Person]
      const group_id = await theGroup()
      await kickTimes(3, group_id, guest)
      expect(outcomes(await invite(member.api, group_id, [guest]))).toEqual({ [guest.id]: null })
      await changeGroup('/group/kick', group_id, { user_list: [guest.id] })
      await kickTimes(4, group_id, asked)
      const refused = await invite(member.api, group_id, [guest, asked])
      expect(outcomes(refused)).toEqual({ [guest.id]: kickedText, [asked.id]: kickedText })
      expect(await groupInvitations(asked.api)).toEqual([])
      expect(outcomes(await invite(helper.api, group_id, [guest, asked]))).toEqual({
        [guest.id]: null,
        [asked.id]: null,
      })
      expectSuccess(await respond(asked, group_id, helper.id, true))
      expect(await members(group_id)).toEqual(expect.arrayContaining([guest.id, asked.id]))
      await changeGroup('/group/kick', group_id, { user_list: [guest.id] })
      expectSuccess(
        await groupCall(helper.api, '/group/admin/member_join', group_id, {
          user_list: [guest.id],
        }),
      )
    })

    it('does not reach the blocked, nor more than there is room for', async () => {
      const [asked, ...crowding] = [...(await cautiousPeople(1)), ...(await people(crowd))] as [
        Person,
        ...Person[],
      ]
      const group_id = await theGroup()
      await changeGroup('/group/block', group_id, { user_list: [guest.id] })
      await setCapacity(group_id, 4)
      expect(outcomes(await invite(owner.api, group_id, [guest, asked]))).toEqual({
        [guest.id]: 'user is on the block list of the group',
        [asked.id]: null,
      })
      const answers = await Promise.all(
        crowding.map((each, index) => invite(index % 2 ? owner.api : member.api, group_id, [each])),
      )
      const reasons = answers.flatMap((answer) => Object.values(outcomes(answer)))
      expect(reasons.filter((reason) => reason === null)).toHaveLength(1)
      expect(reasons.filter((reason) => reason === 'group is full')).toHaveLength(crowd - 1)
      expect(await members(group_id)).toHaveLength(4)
    })

    it('at once by several leaves one invitation, of one of them', async () => {
      const [asked] = (await cautiousPeople(1)) as [Person]
      const group_id = await theGroup()
      const inviters = [owner, helper, member]
      for (const answer of await Promise.all(
        inviters.map(({ api }) => invite(api, group_id, [asked])),
      ))
        expectSuccess(answer)
      const received = await groupInvitations(asked.api)
      expect(received).toHaveLength(1)
      expect(inviters.map(({ id }) => id)).toContain(received[0]?.inviter_id)
      expectSuccess(await respond(asked, group_id, Number(received[0]?.inviter_id), true))
    })

    it('names a faulty parameter', async () => {
      const group_id = await theGroup()
      await expectFault(
        invite(owner.api, group_id, [guest], { reason: 'x'.repeat(1025) }),
        'reason',
      )
      await expectFault(invite(owner.api, group_id, []), 'user_list')
      await expectFault(
        groupCall(owner.api, '/group/invite', group_id, { user_list: ['x'] }),
        'user_list',
      )
      await expectFault(
        groupCall(owner.api, '/group/invite', group_id, { user_list: Array(501).fill(guest.id) }),
        'user_list',
      )
      await expectFault(
        owner.api.call('POST', '/group/invite', { body: { user_list: [guest.id] } }),
        'group_id',
      )
    })
  })

  describe('an invitation', () => {
    let invited: Person

    beforeEach(async () => {
      ;[invited] = (await cautiousPeople(1)) as [Person]
    })

    /** A group that the user is invited to by the member. */
    async function anInvitation(): Promise<number> {
      const group_id = await theGroup()
      expectSuccess(await invite(member.api, group_id, [invited]))
      return group_id
    }

    it.each(['the inviter', 'the invited user'])('is accepted by naming %s', async (named) => {
      const group_id = await anInvitation()
      expect(
        (await respond(invited, group_id, named === 'the inviter' ? member.id : invited.id, true))
          .data,
      ).toBe(true)
      expect(await members(group_id)).toContain(invited.id)
      expect(await invitationStatus(group_id, invited)).toBe(status.agreed)
      expect(await events(group_id, 'invitation_accepted', 'invitation_declined')).toEqual([
        { kind: 'invitation_accepted', actor: invited.id, users: [member.id], content: '' },
      ])
    })

    it('is declined, and can be sent again', async () => {
      const group_id = await anInvitation()
      expect((await respond(invited, group_id, invited.id, false)).data).toBe(true)
      expect(await members(group_id)).not.toContain(invited.id)
      expect(await invitationStatus(group_id, invited)).toBe(status.rejected)
      expect(await events(group_id, 'invitation_accepted', 'invitation_declined')).toEqual([
        { kind: 'invitation_declined', actor: invited.id, users: [member.id], content: '' },
      ])
      await expectCode(respond(invited, group_id, invited.id, true), 'group_invitation_not_open')
      expectSuccess(await invite(helper.api, group_id, [invited]))
      await expectCode(respond(invited, group_id, helper.id, true), 'ok')
    })

    it('of several is accepted in the name of the one that the list shows, and of nobody else', async () => {
      const group_id = await anInvitation()
      expectSuccess(await invite(helper.api, group_id, [invited]))
      const [{ inviter_id: inviterId } = { inviter_id: -1 }] = await groupInvitations(invited.api)
      for (const other of [guest.id, owner.id, 5])
        await expectCode(respond(invited, group_id, other, true), 'group_invitation_not_open')
      expect(await members(group_id)).not.toContain(invited.id)
      await expectCode(respond(invited, group_id, Number(inviterId), true), 'ok')
      expect(await members(group_id)).toContain(invited.id)
    })

    it('of an Admin token alone is of the system', async () => {
      const group_id = await theGroup()
      expectSuccess(await invite(admin, group_id, [invited]))
      expect(await groupInvitations(invited.api)).toMatchObject([{ inviter_id: 0 }])
      await expectCode(respond(invited, group_id, 0, true), 'ok')
    })

    it('is nobody else’s to answer', async () => {
      const group_id = await anInvitation()
      expect(
        codes([
          await respond(guest, group_id, invited.id, true),
          await respond(guest, group_id, member.id, true),
        ]),
      ).toEqual([answerCode.group_invitation_not_open, answerCode.group_invitation_not_open])
      await expectFault(
        groupCall(admin, '/group/invite/handle', group_id, { user_id: invited.id, approval: true }),
        'header user_id',
      )
      expect(await invitationStatus(group_id, invited)).toBe(status.pending)
      expect(await members(group_id)).not.toContain(invited.id)
    })

    it('is answered once', async () => {
      const group_id = await anInvitation()
      const answers = await Promise.all(
        Array.from({ length: crowd }, () => respond(invited, group_id, invited.id, true)),
      )
      expect(codes(answers).toSorted()).toEqual([
        answerCode.ok,
        ...Array(crowd - 1).fill(answerCode.group_invitation_not_open),
      ])
      expect(await members(group_id)).toHaveLength(4)
    })

    it('is accepted or declined when both happen at once', async () => {
      for (let round = 0; round < 3; round++) {
        const group_id = await anInvitation()
        const [accepted, declined] = await Promise.all([
          respond(invited, group_id, invited.id, true),
          respond(invited, group_id, invited.id, false),
        ])
        expect(codes([accepted, declined]).toSorted()).toEqual([
          answerCode.ok,
          answerCode.group_invitation_not_open,
        ])
        const isIn = accepted.code === answerCode.ok
        expect((await members(group_id)).includes(invited.id)).toBe(isIn)
        expect(await invitationStatus(group_id, invited)).toBe(
          isIn ? status.agreed : status.rejected,
        )
      }
    })

    it('that has run out cannot be answered and stays pending in the list', async () => {
      const group_id = await anInvitation()
      await expire('group_invitations', group_id)
      for (const approval of [true, false])
        await expectCode(
          respond(invited, group_id, invited.id, approval),
          'group_invitation_not_open',
        )
      expect(await groupInvitations(invited.api)).toMatchObject([
        { group_id, expired_time: 1, status: status.pending },
      ])
      expectSuccess(await invite(member.api, group_id, [invited]))
      await expectCode(respond(invited, group_id, invited.id, true), 'ok')
    })

    it('stays open while the group is full', async () => {
      const group_id = await anInvitation()
      await setCapacity(group_id, 3)
      expect((await respond(invited, group_id, invited.id, true)).envelope).toMatchObject({
        code: answerCode.group_full,
        data: null,
      })
      expect(await invitationStatus(group_id, invited)).toBe(status.pending)
      expect(await events(group_id, 'invitation_accepted')).toEqual([])
      await setCapacity(group_id, 4)
      await expectCode(respond(invited, group_id, invited.id, true), 'ok')
    })

    it('is worth nothing to a user who is blocked meanwhile', async () => {
      const group_id = await anInvitation()
      await changeGroup('/group/block', group_id, { user_list: [invited.id] })
      await expectCode(respond(invited, group_id, invited.id, true), 'group_invitation_not_open')
      await expectCode(apply(invited, group_id), 'in_group_block_list')
    })

    it('lets one in of those who accept for the last place', async () => {
      const racing = await cautiousPeople(crowd)
      const group_id = await theGroup()
      expectSuccess(await invite(owner.api, group_id, racing))
      await setCapacity(group_id, 4)
      const answers = await Promise.all(
        racing.map((each) => respond(each, group_id, owner.id, true)),
      )
      expect(codes(answers).toSorted()).toEqual([
        answerCode.ok,
        ...Array(crowd - 1).fill(answerCode.group_full),
      ])
      const winner = racing[answers.findIndex((answer) => answer.code === answerCode.ok)] as Person
      expect(await members(group_id)).toEqual(
        [owner.id, helper.id, member.id, winner.id].toSorted(),
      )
      for (const each of racing)
        expect(await invitationStatus(group_id, each)).toBe(
          each === winner ? status.agreed : status.pending,
        )
    })

    it('accepted while the user is blocked leaves the user outside', async () => {
      for (let round = 0; round < 3; round++) {
        const group_id = await anInvitation()
        const [accepted] = await Promise.all([
          respond(invited, group_id, invited.id, true),
          changeGroup('/group/block', group_id, { user_list: [invited.id] }),
        ])
        expect([answerCode.ok, answerCode.group_invitation_not_open]).toContain(accepted.code)
        expect(await members(group_id)).not.toContain(invited.id)
        expect(await invitationStatus(group_id, invited)).toBe(
          accepted.code === answerCode.ok ? status.agreed : status.pending,
        )
      }
    })

    it('accepted while the user is kicked makes a member or not, and never both', async () => {
      const group_id = await anInvitation()
      const [accepted, kicked] = await Promise.all([
        respond(invited, group_id, invited.id, true),
        groupCall(owner.api, '/group/kick', group_id, { user_list: [invited.id] }),
      ])
      expect(accepted.code).toBe(answerCode.ok)
      const wasKicked = outcomes(kicked)[invited.id] === null
      expect((await members(group_id)).includes(invited.id)).toBe(!wasKicked)
    })

    it('accepted while the group is dissolved is agreed or closed', async () => {
      for (let round = 0; round < 3; round++) {
        const group_id = await anInvitation()
        const [accepted] = await Promise.all([
          respond(invited, group_id, invited.id, true),
          changeGroup('/group/destroy', group_id),
        ])
        expect([answerCode.ok, answerCode.group_not_found]).toContain(accepted.code)
        expect(await invitationStatus(group_id, invited)).toBe(
          accepted.code === answerCode.ok ? status.agreed : status.pending,
        )
        const rows = await server.sql.run(
          `select user_id from group_members where group_id = ${group_id} and user_id = ${invited.id}`,
        )
        expect(rows).toHaveLength(accepted.code === answerCode.ok ? 1 : 0)
      }
    })

    it('names a faulty parameter when it is answered', async () => {
      const group_id = await anInvitation()
      await expectFault(
        groupCall(invited.api, '/group/invite/handle', group_id, { user_id: invited.id }),
        'approval',
      )
      await expectFault(
        groupCall(invited.api, '/group/invite/handle', group_id, { approval: true }),
        'user_id',
      )
      await expectFault(
        invited.api.call('PUT', '/group/invite/handle', {
          body: { approval: true, user_id: invited.id },
        }),
        'group_id',
      )
    })
  })

  describe('the list of invitations', () => {
    it('is of what the user received, from new to old, page by page', async () => {
      const [invited, other] = (await cautiousPeople(2)) as [Person, Person]
      const groups: number[] = []
      for (let count = 0; count < 5; count++) groups.push(await aGroup(owner))
      for (const group_id of groups) expectSuccess(await invite(owner.api, group_id, [invited]))
      expectSuccess(await invite(owner.api, groups[0] as number, [other]))
      await server.sql.run(
        `update group_invitations set created_at = 5 where group_id in (${groups.slice(0, 3)})`,
      )
      const rows = await server.sql.run(
        `select group_id from group_invitations where invitee_id = ${invited.id} order by created_at desc, group_id desc`,
      )
      const newestFirst = rows.map(({ group_id }) => group_id)
      const places = async (api: Api, limit?: number) =>
        (await allPages<{ group_id: number }>(api, '/group/invitation_list', {}, limit)).map(
          ({ group_id }) => group_id,
        )
      for (const limit of [undefined, 1, 2, 4, 5])
        expect(await places(invited.api, limit)).toEqual(newestFirst)
      expect(await places(other.api)).toEqual([groups[0]])
      expect(await places(owner.api)).toEqual([])
      const { total, cursor } = await invited.api.succeed('GET', '/group/invitation_list', {
        query: { limit: 2 },
      })
      expect([total, typeof cursor]).toEqual([5, 'string'])
    })

    it('keeps those of dissolved groups, which nobody has answered and which end with the group', async () => {
      const [invited] = (await cautiousPeople(1)) as [Person]
      const group_id = await theGroup()
      expectSuccess(await invite(owner.api, group_id, [invited]))
      const before = Date.now()
      await changeGroup('/group/destroy', group_id)
      const [invitation] = await groupInvitations(invited.api)
      expect(invitation).toMatchObject({ group_id, status: status.pending })
      const end = Number(invitation?.expired_time)
      expect(end).toBeGreaterThanOrEqual(before)
      expect(end).toBeLessThanOrEqual(Date.now())
      expect(new Date(end).toISOString()).toBe(invitation?.updated_at)
    })

    it('has the newest change as its version, 0 without any invitation', async () => {
      const [invited] = (await cautiousPeople(1)) as [Person]
      const list = () =>
        invited.api.succeed('GET', '/group/invitation_list', { query: { version: 1 } })
      expect(await list()).toEqual({
        code: answerCode.ok,
        message: null,
        data: [],
        total: 0,
        version: 0,
      })
      const group_id = await theGroup()
      expectSuccess(await invite(owner.api, group_id, [invited]))
      await server.sql.run(
        `update group_invitations set updated_at = 5 where group_id = ${group_id}`,
      )
      expect((await list()).version).toBe(5)
      expectSuccess(await respond(invited, group_id, invited.id, false))
      const { version, data } = await list()
      expect(version).toBeGreaterThan(5)
      expect(data[0].updated_at).toBe(new Date(version).toISOString())
    })

    it('names a faulty parameter', async () => {
      const list = (query: Record<string, string | number>) =>
        guest.api.call('GET', '/group/invitation_list', { query })
      await expectFault(list({ limit: 0 }), 'limit')
      for (const cursor of ['x', '1', '1-2-3', '1-x']) await expectFault(list({ cursor }), 'cursor')
      await expectFault(admin.call('GET', '/group/invitation_list'), 'header user_id')
    })
  })
})
