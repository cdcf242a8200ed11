import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { codes, type Person, registerPeople } from '../support/contacts.js'
import {
  aGroup,
  expectSuccess,
  groupEventsOf,
  groupInfo,
  groupQuery,
  memberIds,
  outcomes,
  roles,
  types,
} from '../support/groups/groups.js'
import {
  add,
  admins,
  ban,
  bannedIds,
  block,
  blockedIds,
  cast,
  dismiss,
  infoOf,
  kick,
  leave,
  reasons,
  roleOf,
  success,
  unblock,
} from '../support/groups/members.js'
import { sharedServer } from '../support/in-process-server.js'

describe.each(anyBackend())('members of groups on $name', (backend) => {
  const server = sharedServer(backend)

  const events = (group_id: number) => groupEventsOf(server.sql, group_id)

  /** The events from now on, without those before. */
  async function since(group_id: number) {
    const before = (await events(group_id)).length
    return async () => (await events(group_id)).slice(before)
  }

  describe('going', () => {
    it('is kicking: members are out, all others who are named stay as they are', async () => {
      const { group_id, owner, admin, member, otherMember, outsider } = await cast(server)
      const told = await since(group_id)
      const kicked = await kick(
        admin.api,
        group_id,
        otherMember,
        outsider,
        member,
        otherMember,
        1,
        2n ** 63n - 1n,
      )
      expect(kicked.text).toContain('"user_id":9223372036854775807')
      expect(outcomes(kicked)).toMatchObject({
        [otherMember.id]: null,
        [outsider.id]: reasons.notMember,
        [member.id]: null,
        1: reasons.notMember,
      })
      expect(outcomes(await kick(admin.api, group_id, member))).toEqual({
        [member.id]: reasons.notMember,
      })
      expect(await infoOf(owner.api, group_id, member, otherMember)).toEqual([])
      expect((await groupInfo(owner.api, group_id)).count).toBe(3)
      expect((await groupInfo(server.api.admin(), group_id)).count).toBe(3)
      expect(await told()).toEqual([
        { kind: 'kicked', actor: admin.id, users: [otherMember.id, member.id], content: '' },
      ])
    })

    it('is leaving, for everybody but the owner', async () => {
      const { group_id, owner, admin, member, outsider } = await cast(server)
      const told = await since(group_id)
      for (const method of ['DELETE', 'POST'])
        expect(
          (
            await (method === 'POST' ? admin : member).api.call(method, '/group/leave', {
              query: { group_id },
            })
          ).data,
        ).toBe(true)
      await expectCode(leave(member.api, group_id), 'not_group_member')
      await expectCode(leave(outsider.api, group_id), 'not_group_member')
      await expectCode(leave(owner.api, group_id), 'owner_cannot_leave')
      expect((await leave(server.api.admin(), group_id)).envelope.message).toContain('user_id')
      expect((await groupInfo(owner.api, group_id)).count).toBe(3)
      expect(await told()).toEqual([
        { kind: 'left', actor: member.id, users: [member.id], content: '' },
        { kind: 'left', actor: admin.id, users: [admin.id], content: '' },
      ])
    })

    it('of an admin makes an ordinary member of one who comes back', async () => {
      const { group_id, owner, admin } = await cast(server)
      expect((await leave(admin.api, group_id)).code).toBe(success)
      expectSuccess(await add(owner.api, group_id, admin))
      expect(await roleOf(owner.api, group_id, admin)).toBe(roles.member)
    })

    it('makes an event of absence in a chatroom', async () => {
      const { group_id, admin, member, otherMember } = await cast(server, { type: types.chatroom })
      const told = await since(group_id)
      expectSuccess(await kick(admin.api, group_id, member))
      expectSuccess(await block(admin.api, group_id, otherMember))
      const seen = (await told()).map(({ kind, users }) => [kind, ...users]).sort()
      expect(seen).toEqual([
        ['absence', member.id],
        ['absence', otherMember.id],
        ['blocked', otherMember.id],
        ['kicked', member.id],
      ])
    })
  })

  describe('many callers at once', () => {
    it('do not have their way when they are two admins who kick each other', async () => {
      const { group_id, owner, admin, otherAdmin } = await cast(server)
      const answers = await Promise.all([
        kick(admin.api, group_id, otherAdmin),
        kick(otherAdmin.api, group_id, admin),
      ])
      expect(answers.map(outcomes)).toEqual([
        { [otherAdmin.id]: reasons.noPermission },
        { [admin.id]: reasons.noPermission },
      ])
      expect(await admins(owner.api, group_id)).toEqual([admin.id, otherAdmin.id])
    })

    it('kick one member once', async () => {
      const { group_id, owner, admin, otherAdmin, member } = await cast(server)
      const told = await since(group_id)
      const apis = [owner.api, admin.api, otherAdmin.api, server.api.admin()]
      const answers = await Promise.all(apis.map((api) => kick(api, group_id, member)))
      const results = answers.map((each) => outcomes(each)[member.id])
      expect(results.filter((result) => result === null)).toHaveLength(1)
      expect(results.filter((result) => result === reasons.notMember)).toHaveLength(3)
      expect((await told()).map(({ kind }) => kind)).toEqual(['kicked'])
      expect((await groupInfo(owner.api, group_id)).count).toBe(4)
      const [removal] = await server.sql.run(
        `select kicks from group_removals where group_id = ${group_id} and user_id = ${member.id}`,
      )
      expect(removal?.kicks).toBe(1)
    })

    it('let one of a dismissal and what the admin does come first', async () => {
      for (let round = 0; round < 5; round++) {
        const { group_id, owner, admin, otherAdmin, member } = await cast(server)
        const told = await since(group_id)
        const [dismissed, byAdmin, ofAdmin] = await Promise.all([
          dismiss(owner.api, group_id, admin),
          ban(admin.api, group_id, member),
          kick(otherAdmin.api, group_id, admin),
        ])
        const seen = (await told()).map(({ kind }) => kind)
        const wasKicked = outcomes(ofAdmin)[admin.id] === null
        expect(outcomes(dismissed)).toEqual({ [admin.id]: null })
        expect(seen.filter((kind) => kind === 'admin_revoked')).toHaveLength(1)
        expect(seen.includes('kicked')).toBe(wasKicked)
        if (wasKicked) expect(seen.indexOf('admin_revoked')).toBeLessThan(seen.indexOf('kicked'))
        expect(byAdmin.code).toBe(
          seen.includes('banned') ? success : answerCode.group_admin_required,
        )
        if (byAdmin.code === success)
          expect(seen.indexOf('banned')).toBeLessThan(seen.indexOf('admin_revoked'))
        expect(await bannedIds(owner.api, group_id)).toEqual(
          byAdmin.code === success ? [member.id] : [],
        )
      }
    })

    it('end a membership once, by a kick or by leaving', async () => {
      for (let round = 0; round < 10; round++) {
        const { group_id, owner, admin, member } = await cast(server)
        const told = await since(group_id)
        const [kicked, left] = await Promise.all([
          kick(admin.api, group_id, member),
          leave(member.api, group_id),
        ])
        const wasKicked = outcomes(kicked)[member.id] === null
        expect(left.code).toBe(wasKicked ? answerCode.not_group_member : success)
        expect((await told()).map(({ kind }) => kind)).toEqual([wasKicked ? 'kicked' : 'left'])
        expect((await groupInfo(owner.api, group_id)).count).toBe(4)
        expect(await memberIds(owner.api, group_id)).toHaveLength(4)
      }
    })

    it('fill a group up to its capacity and no further', async () => {
      const { group_id, owner, admin, otherAdmin } = await cast(server)
      const strangers = await registerPeople(server, 30)
      await server.sql.run(`update groups set capacity = 15 where group_id = ${group_id}`)
      const apis = [owner.api, admin.api, otherAdmin.api, server.api.admin()]
      const calls = strangers.flatMap((stranger, index) => {
        const next = strangers[(index + 1) % strangers.length] ?? stranger
        return [add(apis[index % 4] ?? owner.api, group_id, stranger, next)]
      })
      const answers = await Promise.all(calls)
      expect(codes(answers)).toEqual(strangers.map(() => success))
      const results = answers.flatMap((each) => Object.values(outcomes(each)))
      expect(results.filter((result) => result === null)).toHaveLength(10)
      expect(results).toContain(reasons.full)
      expect((await groupInfo(owner.api, group_id)).count).toBe(15)
      expect(await memberIds(owner.api, group_id)).toHaveLength(15)
      expect((await groupQuery(owner.api, '/group/member_list', group_id)).envelope.total).toBe(15)
    })

    it('never have somebody both in the group and on its block list', async () => {
      for (let round = 0; round < 5; round++) {
        const { group_id, owner, admin, otherAdmin, outsider, otherOutsider } = await cast(server)
        const [blocked, added] = await Promise.all([
          block(admin.api, group_id, outsider, otherOutsider),
          add(otherAdmin.api, group_id, otherOutsider, outsider),
        ])
        expect(outcomes(blocked)).toEqual({ [outsider.id]: null, [otherOutsider.id]: null })
        const reason = outcomes(added)[outsider.id]
        expect([null, reasons.blocked]).toContain(reason)
        expect(outcomes(added)[otherOutsider.id]).toBe(reason)
        expect(await blockedIds(owner.api, group_id)).toEqual([outsider.id, otherOutsider.id])
        expect(await memberIds(owner.api, group_id)).toHaveLength(5)
        expect((await groupInfo(owner.api, group_id)).count).toBe(5)
      }
    })

    it('settle crossing lists of the same users', async () => {
      const [owner, ...others] = (await registerPeople(server, 41)) as [Person, ...Person[]]
      const group_id = await aGroup(owner, { members: others })
      const backwards = [...others].reverse()
      const calls = Array.from({ length: 8 }, (_, index) => {
        const users = index % 2 === 0 ? others : backwards
        return [kick, block, add, unblock, ban][index % 5]?.(owner.api, group_id, ...users)
      })
      const answers = await Promise.all(calls)
      for (const each of answers) expect(each?.code).toBe(success)
      expectSuccess(await unblock(owner.api, group_id, ...others))
      const ids = await memberIds(owner.api, group_id)
      expect((await groupInfo(owner.api, group_id)).count).toBe(ids.length)
    })
  })
})
