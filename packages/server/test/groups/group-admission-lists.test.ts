/** The lists of applications to groups and of invitations. */
import type { GroupApplication } from '@hermod/protocol'
import { type Api, anyBackend } from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import type { Person } from '../support/contacts.js'
import { Admission, expectFault, nobody, status } from '../support/groups/admission.js'
import { aGroup, allPages, expectSuccess, groupInvitations } from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

describe.each(anyBackend())('lists of applications and invitations on $name', (backend) => {
  const server = sharedServer(backend)
  const admission = new Admission(server)
  const {
    apply,
    cautiousPeople,
    changeGroup,

    handle,
    invite,
    people,
    respond,
    theGroup,
  } = admission
  let owner: Person
  let helper: Person
  let member: Person
  let guest: Person

  beforeEach(async () => {
    ;({ owner, helper, member, guest } = await admission.begin())
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
      expect(await groupsSeenBy(server.api.admin())).toEqual([mine, other, foreign].toSorted())
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
      for (const api of [owner.api, server.api.admin()]) {
        const page = await list(api, groups, { limit: 1_000_000 })
        expect([page.data.length, page.envelope.total, page.data[0]?.group_id]).toEqual([
          500,
          9_999,
          first + 9_998,
        ])
        const next = await list(api, groups, { cursor: page.envelope.cursor })
        expect(next.code, next.text).toBe(answerCode.ok)
        expect([next.data.length, next.envelope.total, next.data[0]?.group_id]).toEqual([
          100,
          9_999,
          first + 9_498,
        ])
      }
      expect((await list(member.api, groups)).data).toEqual([])
      await expectFault(list(owner.api, [...groups, nobody]), 'group_list')
    })

    it('names a cursor that it has not made', async () => {
      const group_id = await theGroup()
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

    it('names a cursor that it has not made', async () => {
      const list = (query: Record<string, string | number>) =>
        guest.api.call('GET', '/group/invitation_list', { query })
      for (const cursor of ['x', '1', '1-2-3', '1-x']) await expectFault(list({ cursor }), 'cursor')
    })
  })
})
