/** Applications to groups. */
import type { GroupApplication } from '@hermod/protocol'
import { anyBackend } from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode, expectSuccesses } from '../support/answer-codes.js'
import { codes, type Person } from '../support/contacts.js'
import { Admission, approvals, crowd, nobody, status } from '../support/groups/admission.js'
import { aGroup, expectSuccess, groupCall, joinRequests, types } from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

const dayMs = 24 * 3_600_000

describe.each(anyBackend())('applications to groups on $name', (backend) => {
  const server = sharedServer(backend)
  const admission = new Admission(server)
  const {
    apply,
    applicationStatus,
    cautiousPeople,
    changeGroup,
    events,
    expire,
    handle,
    invitationStatus,
    invite,
    kickTimes,
    members,
    people,
    respond,
    setCapacity,
    take,
    theGroup,
  } = admission
  let owner: Person
  let helper: Person
  let member: Person
  let guest: Person

  beforeEach(async () => {
    ;({ owner, helper, member, guest } = await admission.begin())
  })

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
      expectSuccesses(joined, 1, 'already_group_member')
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
      expectSuccesses(answers, 1, 'group_full')
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
        expectSuccesses(answers, 1, 'joined_group_limit_reached')
        await groupCall(guest.api, '/group/destroy', other)
        expectSuccesses(
          [await apply(guest, first), await apply(guest, second)],
          1,
          'already_group_member',
        )
      } finally {
        await setLimit(5_000)
      }
    })

    it('takes a reason of 1,024 characters', async () => {
      expectSuccess(await apply(guest, await theGroup(), { reason: 'ü'.repeat(1024) }))
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
      expectSuccesses(answers, 1, 'join_request_not_open')
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
        expectSuccesses([approved, rejected], 1, 'join_request_not_open')
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
  })
})
