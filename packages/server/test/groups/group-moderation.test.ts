import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { changeSettings, type Person, registerPeople } from '../support/contacts.js'
import {
  aGroup,
  expectSuccess,
  groupEventsOf,
  groupInfo,
  groupQuery,
  memberIds,
  outcomes,
  roles,
} from '../support/groups/groups.js'
import {
  act,
  add,
  admins,
  appoint,
  ban,
  bannedIds,
  bannedList,
  block,
  blockedIds,
  blockList,
  cast,
  dismiss,
  expirationOf,
  joinRequestsChange,
  kick,
  leave,
  maxMinutes,
  minuteMs,
  permanent,
  reasons,
  roleOf,
  success,
  unban,
  unblock,
} from '../support/groups/members.js'
import { sharedServer } from '../support/in-process-server.js'
import { syncPage } from '../support/messaging/sync-client.js'

describe.each(anyBackend())('moderation of groups on $name', (backend) => {
  const server = sharedServer(backend)

  const events = (group_id: number) => groupEventsOf(server.sql, group_id)

  /** The events from now on, without those before. */
  async function since(group_id: number) {
    const before = (await events(group_id)).length
    return async () => (await events(group_id)).slice(before)
  }

  describe('admins', () => {
    it('are appointed and dismissed by the owner, one by one', async () => {
      const { group_id, owner, admin, otherAdmin, member, outsider } = await cast(server)
      const told = await since(group_id)
      const appointed = await appoint(
        owner.api,
        group_id,
        member,
        outsider,
        owner,
        admin,
        member,
        1,
      )
      expect(outcomes(appointed)).toEqual({
        [member.id]: null,
        [outsider.id]: reasons.notMember,
        [owner.id]: reasons.noPermission,
        [admin.id]: null,
        1: reasons.notMember,
      })
      expect(appointed.data.map(({ user_id }: { user_id: number }) => user_id)).toEqual([
        member.id,
        outsider.id,
        owner.id,
        admin.id,
        1,
      ])
      expect(await admins(owner.api, group_id)).toEqual([admin.id, otherAdmin.id, member.id])
      expect(await roleOf(server.api.admin(), group_id, member)).toBe(roles.admin)
      expect(await roleOf(owner.api, group_id, owner)).toBe(roles.owner)

      const dismissed = await dismiss(
        owner.api,
        group_id,
        member,
        outsider,
        owner,
        otherAdmin,
        member,
      )
      expect(outcomes(dismissed)).toEqual({
        [member.id]: null,
        [outsider.id]: reasons.notMember,
        [owner.id]: reasons.noPermission,
        [otherAdmin.id]: null,
      })
      expect(await admins(owner.api, group_id)).toEqual([admin.id])
      expect(outcomes(await dismiss(owner.api, group_id, member))).toEqual({ [member.id]: null })
      expect(await told()).toEqual([
        { kind: 'admin_granted', actor: owner.id, users: [member.id], content: '' },
        { kind: 'admin_revoked', actor: owner.id, users: [member.id, otherAdmin.id], content: '' },
      ])
    })

    it('are at most 500, also when they are appointed at once', async () => {
      const { group_id, owner, member, otherMember, admin, otherAdmin } = await cast(server)
      const columns = 'app_id, group_id, user_id, role, joined_at'
      const row = (id: number) => `('${server.appId}', ${group_id}, ${id}, 1, 1)`
      await server.sql.run(
        `insert into group_members (${columns}) values ${Array.from({ length: 497 }, (_, id) => row(id + 1)).join(', ')}`,
      )
      const answers = await Promise.all([
        appoint(owner.api, group_id, member),
        appoint(owner.api, group_id, otherMember),
      ])
      const failures = answers
        .flatMap((answer) => Object.values(outcomes(answer)))
        .filter((reason) => reason !== null)
      expect(failures).toEqual(['group has too many admins'])
      expect(await admins(owner.api, group_id)).toHaveLength(500)
      expect(outcomes(await appoint(owner.api, group_id, admin))).toEqual({ [admin.id]: null })
      expectSuccess(await dismiss(owner.api, group_id, otherAdmin))
      expectSuccess(await appoint(owner.api, group_id, member, otherMember))
    })

    it('have their rights at once, and lose them at once', async () => {
      const { group_id, owner, member, otherMember } = await cast(server)
      await expectCode(ban(member.api, group_id, otherMember), 'group_admin_required')
      expectSuccess(await appoint(owner.api, group_id, member))
      expectSuccess(await ban(member.api, group_id, otherMember))
      expectSuccess(await dismiss(owner.api, group_id, member))
      await expectCode(unban(member.api, group_id, otherMember), 'group_admin_required')
    })

    it('are free of the ban that they had as members', async () => {
      const { group_id, owner, admin, member, otherMember } = await cast(server)
      expectSuccess(await ban(admin.api, group_id, member, otherMember))
      const told = await since(group_id)
      expectSuccess(await appoint(owner.api, group_id, member))
      expect(await bannedIds(owner.api, group_id)).toEqual([otherMember.id])
      expectSuccess(await dismiss(owner.api, group_id, member))
      expect(await expirationOf(owner.api, group_id, member)).toBe(0)
      expect((await told()).map(({ kind, users }) => [kind, users])).toEqual([
        ['unbanned', [member.id]],
        ['admin_granted', [member.id]],
        ['admin_revoked', [member.id]],
      ])
    })
  })

  describe('who may moderate', () => {
    it('names the actor in its event: the user, or the system for an Admin token', async () => {
      const { group_id, admin, member } = await cast(server)
      const told = await since(group_id)
      expectSuccess(await ban(admin.api, group_id, member))
      expectSuccess(await unban(server.api.admin(), group_id, member))
      expect((await told()).map(({ kind, actor }) => [kind, actor])).toEqual([
        ['banned', admin.id],
        ['unbanned', 0],
      ])
    })
  })

  describe('a ban', () => {
    it('lasts for minutes, is listed, and ends when somebody ends it', async () => {
      const { group_id, owner, admin, member, otherMember, outsider } = await cast(server)
      const told = await since(group_id)
      const banned = await act('/group/ban', { duration: 30 })(
        admin.api,
        group_id,
        otherMember,
        member,
        outsider,
        otherMember,
      )
      expect(outcomes(banned)).toEqual({
        [otherMember.id]: null,
        [member.id]: null,
        [outsider.id]: reasons.notMember,
      })
      const list = await bannedList(member.api, group_id)
      expect(list.map(({ user_id }) => user_id)).toEqual([member.id, otherMember.id])
      const end = list[0]?.expired_time ?? 0
      expect(list[1]?.expired_time).toBe(end)
      expect(await expirationOf(owner.api, group_id, member)).toBe(end)

      expectSuccess(await act('/group/ban', { duration: 60 })(admin.api, group_id, member))
      const longer = (await expirationOf(owner.api, group_id, member)) ?? 0
      expect(Number(longer) - Number(end)).toBeGreaterThan(29 * minuteMs)

      const ended = await unban(admin.api, group_id, member, admin, outsider, owner)
      expect(outcomes(ended)).toEqual({
        [member.id]: null,
        [admin.id]: reasons.noPermission,
        [outsider.id]: reasons.notMember,
        [owner.id]: reasons.noPermission,
      })
      expect(await bannedIds(owner.api, group_id)).toEqual([otherMember.id])
      expect(await expirationOf(owner.api, group_id, member)).toBe(0)
      expect(outcomes(await unban(admin.api, group_id, member))).toEqual({ [member.id]: null })
      expect(await told()).toEqual([
        { kind: 'banned', actor: admin.id, users: [otherMember.id, member.id], content: '30' },
        { kind: 'banned', actor: admin.id, users: [member.id], content: '60' },
        { kind: 'unbanned', actor: admin.id, users: [member.id], content: '' },
      ])
    })

    it('stops sending at once and not reading, until it ends or the member is made an admin', async () => {
      const { group_id, owner } = await cast(server)
      const session = await server.api.newSession()
      expectSuccess(await add(owner.api, group_id, session))
      const send = async () => {
        const body = { type: 2, content_type: 0, targets: [group_id], content: 'hello' }
        return (await session.api.call('POST', '/message/send', { body })).code
      }
      expect(await send()).toBe(success)
      expectSuccess(await ban(owner.api, group_id, session))
      expect(await send()).toBe(answerCode.member_banned)
      expect(await memberIds(session.api, group_id)).toContain(session.id)
      expectSuccess(await unban(owner.api, group_id, session))
      expect(await send()).toBe(success)
      expectSuccess(await ban(owner.api, group_id, session))
      expectSuccess(await appoint(owner.api, group_id, session))
      expect(await send()).toBe(success)
      for (const end of [kick, block]) {
        expectSuccess(await end(owner.api, group_id, session))
        expect(await send()).toBe(answerCode.not_group_member)
        if (end === kick) expectSuccess(await add(owner.api, group_id, session))
      }
    })

    it('without an end makes one event', async () => {
      const { group_id, owner, admin, member } = await cast(server)
      const told = await since(group_id)
      const forEver = act('/group/ban', { duration: permanent })
      for (const each of [
        await forEver(admin.api, group_id, member),
        await forEver(owner.api, group_id, member),
      ])
        expect(outcomes(each)).toEqual({ [member.id]: null })
      expect(
        (await bannedList(owner.api, group_id)).map(({ expired_time }) => expired_time),
      ).toEqual([permanent])
      expect(await told()).toEqual([
        { kind: 'banned', actor: admin.id, users: [member.id], content: '-1' },
      ])
    })

    it('that has passed is none', async () => {
      const { group_id, owner, admin, member, otherMember } = await cast(server)
      expectSuccess(await ban(admin.api, group_id, member, otherMember))
      await server.sql.run(
        `update group_members set ban_expires_at = 1 where group_id = ${group_id} and user_id = ${member.id}`,
      )
      const told = await since(group_id)
      const { envelope } = await groupQuery(owner.api, '/group/banned_list', group_id)
      expect([envelope.total, envelope.data.length, envelope.data[0].user_id]).toEqual([
        1,
        1,
        otherMember.id,
      ])
      expect(await expirationOf(owner.api, group_id, member)).toBe(0)
      expectSuccess(await unban(admin.api, group_id, member))
      expect(await told()).toEqual([])
    })

    it('outlives the membership, however it ends', async () => {
      const { group_id, owner, admin, member, otherMember, otherAdmin } = await cast(server)
      expectSuccess(
        await act('/group/ban', { duration: permanent })(
          owner.api,
          group_id,
          member,
          otherMember,
          otherAdmin,
        ),
      )
      expect((await leave(member.api, group_id)).code).toBe(success)
      expectSuccess(await kick(admin.api, group_id, otherMember))
      expectSuccess(await block(owner.api, group_id, otherAdmin))
      expect(await bannedIds(owner.api, group_id)).toEqual([])
      expectSuccess(await unblock(owner.api, group_id, otherAdmin))
      expectSuccess(await add(owner.api, group_id, member, otherMember, otherAdmin))
      expect(await bannedIds(owner.api, group_id)).toEqual(
        [otherAdmin.id, member.id, otherMember.id].sort((a, b) => a - b),
      )
      expectSuccess(await unban(owner.api, group_id, member))
      expect((await leave(member.api, group_id)).code).toBe(success)
      expectSuccess(await add(owner.api, group_id, member))
      expect(await expirationOf(owner.api, group_id, member)).toBe(0)
    })

    it('is ended for somebody who has left, too', async () => {
      const { group_id, owner, admin, member, otherMember } = await cast(server)
      expectSuccess(await act('/group/ban', { duration: permanent })(owner.api, group_id, member))
      for (const { api } of [member, otherMember])
        expect((await leave(api, group_id)).code).toBe(success)
      const told = await since(group_id)
      expect(outcomes(await unban(admin.api, group_id, member, otherMember))).toEqual({
        [member.id]: null,
        [otherMember.id]: reasons.notMember,
      })
      expect(await told()).toEqual([
        { kind: 'unbanned', actor: admin.id, users: [member.id], content: '' },
      ])
      expect(outcomes(await unban(admin.api, group_id, member))).toEqual({
        [member.id]: reasons.notMember,
      })
      expectSuccess(await add(owner.api, group_id, member))
      expect(await bannedIds(owner.api, group_id)).toEqual([])
    })

    it('does not last 0 minutes, and has an end that can be given exactly', async () => {
      const { group_id, owner, member } = await cast(server)
      const told = await since(group_id)
      const refused = await act('/group/ban', { duration: 0 })(owner.api, group_id, member)
      expect(refused.code).toBe(answerCode.invalid_parameter)
      expect(refused.envelope.message).toContain('duration')
      expect(await told()).toEqual([])
      expectSuccess(await act('/group/ban', { duration: maxMinutes })(owner.api, group_id, member))
      const end = (await expirationOf(owner.api, group_id, member)) ?? 0
      expect(Number.isSafeInteger(end)).toBe(true)
      expect(end).toBeGreaterThan(maxMinutes * minuteMs)
    })
  })

  describe('the block list', () => {
    it('removes members and keeps everybody on it out', async () => {
      const { group_id, owner, admin, member, outsider } = await cast(server)
      const deleted = await server.api.newSession()
      await deleted.api.succeed('POST', '/user/delete', { body: { password: deleted.password } })
      const told = await since(group_id)
      const blocked = await block(
        admin.api,
        group_id,
        outsider,
        member,
        1,
        deleted,
        owner,
        outsider,
      )
      expect(outcomes(blocked)).toEqual({
        [outsider.id]: null,
        [member.id]: null,
        1: reasons.unknown,
        [deleted.id]: reasons.deleted,
        [owner.id]: reasons.noPermission,
      })
      expect(outcomes(await block(admin.api, group_id, member, outsider))).toEqual({
        [member.id]: null,
        [outsider.id]: null,
      })
      expect(await memberIds(owner.api, group_id)).not.toContain(member.id)
      expect((await groupInfo(owner.api, group_id)).count).toBe(4)
      await expectCode(groupQuery(member.api, '/group/member_list', group_id), 'member_required')
      expect(await blockedIds(admin.api, group_id)).toEqual([member.id, outsider.id])
      expect(outcomes(await add(owner.api, group_id, member, outsider))).toEqual({
        [member.id]: reasons.blocked,
        [outsider.id]: reasons.blocked,
      })
      expect(await told()).toEqual([
        { kind: 'blocked', actor: admin.id, users: [outsider.id, member.id], content: '' },
      ])
    })

    it('lets those who are taken off it come back', async () => {
      const { group_id, owner, admin, member, outsider, otherOutsider } = await cast(server)
      expectSuccess(await block(admin.api, group_id, member, outsider))
      const told = await since(group_id)
      const unblocked = await unblock(admin.api, group_id, outsider, otherOutsider, member, 1)
      expect(outcomes(unblocked)).toEqual({
        [outsider.id]: null,
        [otherOutsider.id]: null,
        [member.id]: null,
        1: null,
      })
      expectSuccess(await unblock(admin.api, group_id, outsider))
      expect(await blockList(admin.api, group_id)).toEqual([])
      expect(await told()).toEqual([
        { kind: 'unblocked', actor: admin.id, users: [outsider.id, member.id], content: '' },
      ])
      expectSuccess(await add(owner.api, group_id, member, outsider))
    })

    it('tells owner and admins alone of its end: members miss no version', async () => {
      const { group_id, owner, admin, member, outsider } = await cast(server)
      expectSuccess(await block(admin.api, group_id, outsider))
      const { version } = await groupInfo(owner.api, group_id)
      const { pos: after = '' } = await syncPage(owner.api, {})
      expectSuccess(await unblock(admin.api, group_id, outsider))
      expect((await groupInfo(owner.api, group_id)).version).toBe(version)
      const toldTo = async ({ api }: Person) => (await syncPage(api, { after })).user
      const changed = [{ kind: joinRequestsChange, ref: group_id }]
      expect(await toldTo(owner)).toEqual(changed)
      expect(await toldTo(admin)).toEqual(changed)
      expect(await toldTo(member)).toEqual([])
    })

    it('ends what was open between the group and those who come on it', async () => {
      const { owner, outsider, otherOutsider, member } = await cast(server)
      for (const each of [outsider, otherOutsider])
        await changeSettings(each, { group_confirm: true })
      const group_id = await aGroup(owner, { more: { user_list: [outsider.id, otherOutsider.id] } })
      const app = (
        await server.sql.run(`select app_id from groups where group_id = ${group_id}`)
      )[0]?.app_id
      await server.sql.run(
        `insert into group_join_requests (app_id, group_id, applicant_id, reason, status, created_at, expires_at, updated_at)
           values ('${app}', ${group_id}, ${member.id}, '', 0, 1, 9000000000000, 1)`,
      )
      await server.sql.run(`update groups set join_request_count = 1 where group_id = ${group_id}`)
      expectSuccess(await block(owner.api, group_id, outsider, member))
      const invitations = await server.sql.run(
        `select invitee_id, status, expires_at from group_invitations where group_id = ${group_id}`,
      )
      // Nobody rejected them: they end now, and the other one goes on.
      const isOpen = ({ status, expires_at }: Record<string, unknown>) => [
        status,
        Number(expires_at) > Date.now(),
      ]
      expect(Object.fromEntries(invitations.map((row) => [row.invitee_id, isOpen(row)]))).toEqual({
        [outsider.id]: [0, false],
        [otherOutsider.id]: [0, true],
      })
      const requests = await server.sql.run(
        `select status, expires_at from group_join_requests where group_id = ${group_id}`,
      )
      expect(requests.map(isOpen)).toEqual([[0, false]])
      await expectCode(groupQuery(outsider.api, '/group/info', group_id), 'member_required')
    })

    it('is listed with instants as text, by user ID and a page at a time', async () => {
      const { group_id, owner } = await cast(server)
      const strangers = await registerPeople(server, 25)
      const ids = strangers.map(({ id }) => id)
      expectSuccess(await block(owner.api, group_id, ...[...strangers].reverse()))
      const list = await blockList(owner.api, group_id, 10)
      expect(list.map(({ user_id }) => user_id)).toEqual(ids)
      for (const { created_at, group_id: of } of list) {
        expect(of).toBe(group_id)
        expect(new Date(created_at).toISOString()).toBe(created_at)
      }
      expect(
        (await groupQuery(owner.api, '/group/blocked_list', group_id, { limit: 10 })).envelope
          .total,
      ).toBe(25)
    })

    it('takes 500 users at once, members and others', async () => {
      const [owner, ...others] = (await registerPeople(server, 501)) as [Person, ...Person[]]
      const group_id = await aGroup(owner, { members: others.slice(0, 250) })
      expectSuccess(await block(owner.api, group_id, ...others))
      expect(await memberIds(owner.api, group_id)).toEqual([owner.id])
      expect((await groupQuery(owner.api, '/group/blocked_list', group_id)).envelope.total).toBe(
        500,
      )
      expectSuccess(await unblock(owner.api, group_id, ...others))
      expectSuccess(await add(owner.api, group_id, ...others))
      expectSuccess(await ban(owner.api, group_id, ...others))
      expect(await bannedIds(owner.api, group_id)).toEqual(others.map(({ id }) => id))
      expectSuccess(await kick(owner.api, group_id, ...others))
      expect((await groupInfo(owner.api, group_id)).count).toBe(1)
    })
  })
})
