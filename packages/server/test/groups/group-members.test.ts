/**
 * What is done to members, and the lists of who is in a group and who may not be, on both databases
 * (rules F3, F5, F6, F9).
 */
import type { BlacklistEntry, GroupMember, GroupMemberInfo } from '@hermod/protocol'
import { type Answer, type Api, anyBackend } from '@hermod/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { changeSettings, codes, type Person, registerPeople } from '../support/contacts.js'
import {
  aGroup,
  allPages,
  expectSuccess,
  groupCall,
  groupEventsOf,
  groupInfo,
  groupMembers,
  groupQuery,
  memberIds,
  outcomes,
  roles,
  types,
} from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'
import { syncPage } from '../support/messaging/sync-client.js'

const success = 200

const reasons = {
  noPermission: 'no permission',
  notMember: 'user is not a member of the group',
  unknown: 'user does not exist',
  deleted: 'user has been deregistered',
  full: 'group is full',
  blocked: 'user is on the block list of the group',
}

/** The kind of user changes that owner and admins get. */
const joinRequestsChange = 3
const minuteMs = 60_000
const permanent = -1
const maxMinutes = 100_000_000_000

const appointing = ['/group/admin/add', '/group/admin/remove']
const moderating = ['/group/ban', '/group/unban', '/group/block', '/group/unblock', '/group/kick']
const readLists = ['/group/member_list', '/group/banned_list', '/group/admin_list']
const lookUps = ['/group/members/display_name', '/group/members/info']
const pagedLists = ['/group/member_list', '/group/banned_list', '/group/blocked_list']

type Act = (
  api: Api,
  group_id: unknown,
  ...users: readonly (Pick<Person, 'id'> | number | bigint)[]
) => Promise<Answer>

const idOf = (user: Pick<Person, 'id'> | number | bigint) =>
  typeof user === 'object' ? user.id : user
const act =
  (path: string, more: object = {}): Act =>
  (api, group_id, ...users) =>
    groupCall(api, path, group_id, {
      user_list: users.map(idOf),
      ...(path === '/group/ban' ? { duration: 5 } : {}),
      ...more,
    })

const appoint = act('/group/admin/add')
const dismiss = act('/group/admin/remove')
const ban = act('/group/ban')
const unban = act('/group/unban')
const block = act('/group/block')
const unblock = act('/group/unblock')
const kick = act('/group/kick')
const add = act('/group/admin/member_join')
const leave = (api: Api, group_id: number) =>
  api.call('POST', '/group/leave', { query: { group_id } })

describe.each(anyBackend())('members of groups on $name', (backend) => {
  const server = sharedServer(backend)

  afterAll(async () => {})

  const events = (group_id: number) => groupEventsOf(server.sql, group_id)
  const kinds = async (group_id: number) => (await events(group_id)).map(({ kind }) => kind)

  /** The events from now on, without those before. */
  async function since(group_id: number) {
    const before = (await events(group_id)).length
    return async () => (await events(group_id)).slice(before)
  }

  /** A group with an owner, two admins and two members; and two users who are none. */
  async function cast(more: object = {}) {
    const people = await registerPeople(server, 7)
    const [owner, admin, otherAdmin, member, otherMember, outsider, otherOutsider] = people as [
      Person,
      Person,
      Person,
      Person,
      Person,
      Person,
      Person,
    ]
    const group_id = await aGroup(owner, {
      admins: [admin, otherAdmin],
      members: [member, otherMember],
      more,
    })
    return { group_id, owner, admin, otherAdmin, member, otherMember, outsider, otherOutsider }
  }

  const admins = async (api: Api, group_id: number) =>
    (await groupQuery(api, '/group/admin_list', group_id)).data.map(
      ({ user_id }: GroupMember) => user_id,
    )
  const bannedList = (api: Api, group_id: number, limit?: number) =>
    allPages<GroupMember>(api, '/group/banned_list', { group_id }, limit)
  const bannedIds = async (api: Api, group_id: number) =>
    (await bannedList(api, group_id)).map(({ user_id }) => user_id)
  const blockList = (api: Api, group_id: number, limit?: number) =>
    allPages<BlacklistEntry>(api, '/group/blocked_list', { group_id }, limit)
  const blockedIds = async (api: Api, group_id: number) =>
    (await blockList(api, group_id)).map(({ user_id }) => user_id)
  const infoOf = async (
    api: Api,
    group_id: number,
    ...users: readonly Pick<Person, 'id'>[]
  ): Promise<GroupMemberInfo[]> =>
    expectSuccess(await act('/group/members/info')(api, group_id, ...users)).data

  async function roleOf(api: Api, group_id: number, user: Person) {
    const [info] = await infoOf(api, group_id, user)
    return info?.role
  }

  async function expirationOf(api: Api, group_id: number, user: Person) {
    const [info] = await infoOf(api, group_id, user)
    return info?.expired_time
  }

  const versionOf = async (api: Api, path: string, group_id: number): Promise<number> =>
    expectSuccess(await groupQuery(api, path, group_id)).envelope.version

  /** All ways to call about the group of the cast, by their role. */
  function callers({ owner, admin, member, outsider, group_id }: Awaited<ReturnType<typeof cast>>) {
    const { api } = server
    return {
      owners: [owner.api, api.admin(), api.admin({ userId: owner.id, groupId: group_id })],
      admins: [
        admin.api,
        api.admin({ groupId: group_id }),
        api.admin({ userId: member.id, groupId: group_id }),
        api.admin({ userId: outsider.id, groupId: group_id }),
      ],
      members: [member.api],
      outsiders: [outsider.api],
    }
  }

  /** The state of a group as its owner sees it, and how many events it has. */
  async function everythingOf(owner: Person, group_id: number) {
    const ids = (await memberIds(owner.api, group_id)).map((id) => ({ id }))
    return {
      info: await groupInfo(owner.api, group_id),
      members: await infoOf(owner.api, group_id, ...ids),
      blocks: await blockList(owner.api, group_id),
      told: await kinds(group_id),
    }
  }

  describe('admins', () => {
    it('are appointed and dismissed by the owner, one by one', async () => {
      const { group_id, owner, admin, otherAdmin, member, outsider } = await cast()
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
      expect(await roleOf(outsiderView(), group_id, member)).toBe(roles.admin)
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
      const { group_id, owner, member, otherMember, admin, otherAdmin } = await cast()
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

    const outsiderView = () => server.api.admin()

    it('have their rights at once, and lose them at once', async () => {
      const { group_id, owner, member, otherMember } = await cast()
      await expectCode(ban(member.api, group_id, otherMember), 'group_admin_required')
      expectSuccess(await appoint(owner.api, group_id, member))
      expectSuccess(await ban(member.api, group_id, otherMember))
      expectSuccess(await dismiss(owner.api, group_id, member))
      await expectCode(unban(member.api, group_id, otherMember), 'group_admin_required')
    })

    it('are free of the ban that they had as members', async () => {
      const { group_id, owner, admin, member, otherMember } = await cast()
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

    it('are appointed and dismissed by nobody else', async () => {
      const people = await cast()
      const { group_id, owner, admin, member } = people
      const { owners, ...others } = callers(people)
      const before = await everythingOf(owner, group_id)
      for (const api of Object.values(others).flat())
        for (const path of appointing)
          expect((await act(path)(api, group_id, member, admin)).code, path).toBe(
            answerCode.group_owner_required,
          )
      expect(await everythingOf(owner, group_id)).toEqual(before)
      for (const api of owners) {
        expectSuccess(await appoint(api, group_id, member))
        expectSuccess(await dismiss(api, group_id, member))
      }
    })
  })

  describe('who may moderate', () => {
    it('is an admin, and no one of a lower role', async () => {
      const people = await cast()
      const { group_id, owner, admin, otherMember } = people
      const { owners, admins, members, outsiders } = callers(people)
      const before = await everythingOf(owner, group_id)
      for (const api of [...members, ...outsiders]) {
        for (const path of moderating)
          expect((await act(path)(api, group_id, otherMember)).code, path).toBe(
            answerCode.group_admin_required,
          )
        await expectCode(groupQuery(api, '/group/blocked_list', group_id), 'group_admin_required')
      }
      const otherHeader = server.api.admin({ groupId: group_id + 1 })
      for (const path of moderating)
        expect((await act(path)(otherHeader, group_id, otherMember)).code, path).toBe(
          answerCode.no_permission,
        )
      expect(await everythingOf(owner, group_id)).toEqual(before)

      for (const api of [...owners, ...admins]) {
        for (const path of ['/group/ban', '/group/unban', '/group/kick'])
          expectSuccess(await act(path)(api, group_id, otherMember))
        for (const path of ['/group/block', '/group/unblock', '/group/admin/member_join'])
          expectSuccess(await act(path)(api, group_id, otherMember))
      }
      for (const api of [owner.api, admin.api, server.api.admin()])
        expect((await groupQuery(api, '/group/blocked_list', group_id)).code).toBe(success)
    })

    it('acts on those of a lower role only, and never on oneself', async () => {
      const people = await cast()
      const { group_id, owner, admin, otherAdmin, member, outsider } = people
      const { api } = server
      const everybody = [owner, admin, otherAdmin, member]
      const refused = {
        [owner.id]: reasons.noPermission,
        [admin.id]: reasons.noPermission,
        [otherAdmin.id]: reasons.noPermission,
      }
      for (const path of ['/group/ban', '/group/unban', '/group/kick', '/group/block']) {
        const told = await since(group_id)
        for (const each of [
          admin.api,
          api.admin({ groupId: group_id }),
          api.admin({ userId: outsider.id, groupId: group_id }),
        ])
          expect(outcomes(await act(path)(each, group_id, owner, admin, otherAdmin)), path).toEqual(
            refused,
          )
        expect(outcomes(await act(path)(owner.api, group_id, owner)), path).toEqual({
          [owner.id]: reasons.noPermission,
        })
        expect(outcomes(await act(path)(api.admin(), group_id, owner)), path).toEqual({
          [owner.id]: reasons.noPermission,
        })
        const raised = api.admin({ userId: member.id, groupId: group_id })
        expect(outcomes(await act(path)(raised, group_id, member)), path).toEqual({
          [member.id]: reasons.noPermission,
        })
        expect(await told(), path).toEqual([])
      }
      const own = api.admin({ userId: outsider.id, groupId: group_id })
      expect(outcomes(await block(own, group_id, outsider))).toEqual({
        [outsider.id]: reasons.noPermission,
      })
      expect(await memberIds(owner.api, group_id)).toEqual(
        expect.arrayContaining(everybody.map(({ id }) => id)),
      )

      expect(outcomes(await ban(owner.api, group_id, admin))).toEqual({ [admin.id]: null })
      expect(outcomes(await kick(api.admin(), group_id, admin))).toEqual({ [admin.id]: null })
      expect(outcomes(await block(owner.api, group_id, otherAdmin))).toEqual({
        [otherAdmin.id]: null,
      })
    })

    it('names the actor in its event: the user, or the system for an Admin token', async () => {
      const { group_id, admin, member } = await cast()
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
      const { group_id, owner, admin, member, otherMember, outsider } = await cast()
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
      const { group_id, owner } = await cast()
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
      const { group_id, owner, admin, member } = await cast()
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
      const { group_id, owner, admin, member, otherMember } = await cast()
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
      const { group_id, owner, admin, member, otherMember, otherAdmin } = await cast()
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
      const { group_id, owner, admin, member, otherMember } = await cast()
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

    it('has a length that is a number of minutes or -1, with an end that can be given exactly', async () => {
      const { group_id, owner, member } = await cast()
      const told = await since(group_id)
      for (const duration of [
        0,
        -2,
        maxMinutes + 1,
        2n ** 63n - 1n,
        2n ** 63n,
        '',
        'long',
        1.5,
        null,
        undefined,
      ]) {
        const { code, envelope } = await act('/group/ban', { duration })(
          owner.api,
          group_id,
          member,
        )
        expect(code, String(duration)).toBe(answerCode.invalid_parameter)
        expect(envelope.message, String(duration)).toContain('duration')
      }
      expect(await told()).toEqual([])
      expectSuccess(await act('/group/ban', { duration: maxMinutes })(owner.api, group_id, member))
      const end = (await expirationOf(owner.api, group_id, member)) ?? 0
      expect(Number.isSafeInteger(end)).toBe(true)
      expect(end).toBeGreaterThan(maxMinutes * minuteMs)
    })
  })

  describe('the block list', () => {
    it('removes members and keeps everybody on it out', async () => {
      const { group_id, owner, admin, member, outsider } = await cast()
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
      const { group_id, owner, admin, member, outsider, otherOutsider } = await cast()
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
      const { group_id, owner, admin, member, outsider } = await cast()
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
      const { owner, outsider, otherOutsider, member } = await cast()
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
      const { group_id, owner } = await cast()
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

  describe('going', () => {
    it('is kicking: members are out, all others who are named stay as they are', async () => {
      const { group_id, owner, admin, member, otherMember, outsider } = await cast()
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
      const { group_id, owner, admin, member, outsider } = await cast()
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
      const { group_id, owner, admin } = await cast()
      expect((await leave(admin.api, group_id)).code).toBe(success)
      expectSuccess(await add(owner.api, group_id, admin))
      expect(await roleOf(owner.api, group_id, admin)).toBe(roles.member)
    })

    it('makes an event of absence in a chatroom', async () => {
      const { group_id, admin, member, otherMember } = await cast({ type: types.chatroom })
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

  describe('the lists', () => {
    it('are read by members', async () => {
      const people = await cast()
      const { group_id, member } = people
      const { owners, admins, members, outsiders } = callers(people)
      // The group_id header is none of the GET operations.
      const readers = [...owners.slice(0, 2), ...admins.slice(0, 1), ...members]
      for (const path of readLists) {
        for (const api of readers)
          expect((await groupQuery(api, path, group_id)).code, path).toBe(success)
        for (const api of outsiders)
          expect((await groupQuery(api, path, group_id)).code, path).toBe(
            answerCode.member_required,
          )
      }
      for (const path of lookUps) {
        for (const api of [...owners, ...admins, ...members])
          expect((await act(path)(api, group_id, member)).data, path).toHaveLength(1)
        for (const api of outsiders)
          expect((await act(path)(api, group_id, member)).code, path).toBe(
            answerCode.member_required,
          )
      }
      const open = await aGroup(people.owner, { more: { type: types.public } })
      for (const path of readLists)
        expect((await groupQuery(people.outsider.api, path, open)).code, path).toBe(
          answerCode.member_required,
        )
    })

    it('show every member once, by user ID, whatever the length of a page', async () => {
      const [owner, ...others] = (await registerPeople(server, 23)) as [Person, ...Person[]]
      const group_id = await aGroup(owner, { members: [...others].reverse() })
      const ids = [owner, ...others].map(({ id }) => id).sort((a, b) => a - b)
      for (const limit of [1, 5, 22, 23, 24, 5_000, undefined]) {
        const members = await groupMembers(owner.api, group_id, limit)
        expect(members.map(({ user_id }) => user_id)).toEqual(ids)
      }
      const { envelope } = await groupQuery(owner.api, '/group/member_list', group_id, {
        limit: 5,
        cursor: '',
        version: 1,
      })
      expect(envelope.data[0]).toEqual({
        display_name: '',
        expired_time: 0,
        join_time: expect.any(Number),
        user_id: ids[0],
      })
      expect(envelope.total).toBe(23)
      const last = await groupQuery(owner.api, '/group/member_list', group_id, { limit: 23 })
      expect('cursor' in last.envelope).toBe(false)

      expectSuccess(await ban(owner.api, group_id, ...others))
      const banned = await bannedList(owner.api, group_id, 4)
      expect(banned.map(({ user_id }) => user_id)).toEqual(ids.filter((id) => id !== owner.id))
      expect(
        (await groupQuery(owner.api, '/group/banned_list', group_id, { limit: 4 })).envelope.total,
      ).toBe(22)
    })

    it('go on behind the last entry of the page before, also when it is gone', async () => {
      const { group_id, owner, admin, otherAdmin, member, otherMember } = await cast()
      const first = await groupQuery(owner.api, '/group/member_list', group_id, { limit: 4 })
      expect(first.data.map(({ user_id }: GroupMember) => user_id)).toEqual([
        owner.id,
        admin.id,
        otherAdmin.id,
        member.id,
      ])
      expectSuccess(await kick(owner.api, group_id, member, otherAdmin))
      const { cursor } = first.envelope
      const second = await groupQuery(owner.api, '/group/member_list', group_id, {
        limit: 4,
        cursor,
      })
      expect(second.data.map(({ user_id }: GroupMember) => user_id)).toEqual([otherMember.id])
    })

    it('have versions that grow with every change of them, and with nothing else', async () => {
      const { group_id, owner, member, otherMember, outsider } = await cast()
      const versions = async () =>
        Object.fromEntries(
          await Promise.all(
            pagedLists.map(async (path) => [path, await versionOf(owner.api, path, group_id)]),
          ),
        )
      const changed = async (change: () => Promise<Answer>) => {
        const before = await versions()
        expectSuccess(await change())
        const after = await versions()
        return pagedLists
          .filter((path) => Number(after[path]) > Number(before[path]))
          .map((path) => path.slice('/group/'.length, -'_list'.length))
      }
      const rename = ({ api }: Person, value: string) =>
        groupCall(api, '/group/display_name', group_id, { value })
      expect(await changed(() => rename(member, 'free'))).toEqual(['member'])
      expect(await changed(() => ban(owner.api, group_id, member))).toEqual(['member', 'banned'])
      expect(await changed(() => rename(member, 'banned'))).toEqual(['member', 'banned'])
      expect(await changed(() => appoint(owner.api, group_id, otherMember))).toEqual(['member'])
      expect(await changed(() => appoint(owner.api, group_id, otherMember))).toEqual([])
      expect(await changed(() => dismiss(owner.api, group_id, otherMember))).toEqual(['member'])
      expect(await changed(() => dismiss(owner.api, group_id, otherMember))).toEqual([])
      expect(await changed(() => unban(owner.api, group_id, member))).toEqual(['member', 'banned'])
      expect(await changed(() => unban(owner.api, group_id, member))).toEqual([])
      expect(await changed(() => block(owner.api, group_id, outsider))).toEqual(['blocked'])
      expect(await changed(() => block(owner.api, group_id, outsider))).toEqual([])
      expect(await changed(() => block(owner.api, group_id, otherMember))).toEqual([
        'member',
        'blocked',
      ])
      expect(await changed(() => unblock(owner.api, group_id, outsider))).toEqual(['blocked'])
      expect(await changed(() => unblock(owner.api, group_id, outsider))).toEqual([])
      expect(await changed(() => kick(owner.api, group_id, member))).toEqual(['member'])
    })

    it('refuse cursors that they have not made', async () => {
      const { group_id, owner } = await cast()
      for (const path of pagedLists) {
        for (const cursor of [
          'x',
          '-1',
          '1e3',
          ' 1',
          '9007199254740993',
          '12345678901234567',
          "1' or 1=1",
          'null',
        ]) {
          const { code, envelope } = await groupQuery(owner.api, path, group_id, { cursor })
          expect([code, envelope.message], `${path} ${cursor}`).toEqual([
            answerCode.invalid_parameter,
            expect.stringContaining('cursor'),
          ])
        }
        for (const limit of [0, -1, 'x', 1.5]) {
          const { code, envelope } = await groupQuery(owner.api, path, group_id, { limit })
          expect([code, envelope.message], `${path} ${limit}`).toEqual([
            answerCode.invalid_parameter,
            expect.stringContaining('limit'),
          ])
        }
      }
    })

    it('look members up in the order asked for and each once', async () => {
      const { group_id, owner, admin, member, outsider } = await cast()
      for (const path of lookUps) {
        const found = await act(path)(
          member.api,
          group_id,
          member,
          outsider,
          owner,
          1,
          member,
          2n ** 63n - 1n,
          admin,
        )
        expect(
          found.data.map(({ user_id }: GroupMember) => user_id),
          path,
        ).toEqual([member.id, owner.id, admin.id])
        expect((await act(path)(member.api, group_id)).data, path).toEqual([])
      }
      expect(
        (await infoOf(member.api, group_id, member, owner, admin)).map(({ role }) => role),
      ).toEqual([roles.member, roles.owner, roles.admin])
    })

    it('look 10,000 users up at once and refuse more', async () => {
      const { group_id, owner, member } = await cast()
      const unknown = Array.from({ length: 9_998 }, (_, index) => index + 1)
      for (const path of lookUps) {
        const { data } = await act(path)(owner.api, group_id, member, ...unknown, owner)
        expect(
          data.map(({ user_id }: GroupMember) => user_id),
          path,
        ).toEqual([member.id, owner.id])
        const { code, envelope } = await act(path)(
          owner.api,
          group_id,
          member,
          ...unknown,
          owner,
          1,
        )
        expect([code, envelope.message], path).toEqual([
          answerCode.invalid_parameter,
          expect.stringContaining('user_list'),
        ])
      }
    })

    it('hide the names of others from ordinary members where the group and the application say so', async () => {
      const { group_id, owner, admin, member, otherMember } = await cast()
      await server.sql.run(
        `update group_members set display_name = case when user_id = ${member.id} then 'me' else 'other' end where group_id = ${group_id}`,
      )
      const namesSeenBy = async (api: Api) => {
        const seen = [
          await groupMembers(api, group_id),
          await infoOf(api, group_id, owner, admin, member, otherMember),
        ]
        return [
          ...new Set(
            seen
              .flat()
              .map(
                ({ user_id, display_name }) =>
                  `${user_id === member.id ? 'self' : 'others'}: ${display_name}`,
              ),
          ),
        ].sort()
      }
      const all = ['others: other', 'self: me']
      const hide = (on: number) =>
        server.sql.run(`update groups set hide_member_info = ${on} where group_id = ${group_id}`)
      const allow = (hide_member_info: boolean) =>
        server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', {
          body: { app_id: server.api.options.appId, settings: { hide_member_info } },
        })

      expect(await namesSeenBy(member.api)).toEqual(all)
      await hide(1)
      expect(await namesSeenBy(member.api)).toEqual(['others: ', 'self: me'])
      for (const api of [admin.api, owner.api, server.api.admin()])
        expect(await namesSeenBy(api)).toEqual(all)
      expectSuccess(await ban(owner.api, group_id, otherMember))
      expect(
        (await bannedList(member.api, group_id)).map(({ display_name }) => display_name),
      ).toEqual([''])
      expect(
        (await groupQuery(member.api, '/group/admin_list', group_id)).data[0].display_name,
      ).toBe('')
      await allow(false)
      try {
        expect(await namesSeenBy(member.api)).toEqual(all)
      } finally {
        await allow(true)
      }
      await hide(0)
      expect(await namesSeenBy(member.api)).toEqual(all)
    })
  })

  describe('many callers at once', () => {
    it('do not have their way when they are two admins who kick each other', async () => {
      const { group_id, owner, admin, otherAdmin } = await cast()
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
      const { group_id, owner, admin, otherAdmin, member } = await cast()
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
        const { group_id, owner, admin, otherAdmin, member } = await cast()
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
        const { group_id, owner, admin, member } = await cast()
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
      const { group_id, owner, admin, otherAdmin } = await cast()
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
        const { group_id, owner, admin, otherAdmin, outsider, otherOutsider } = await cast()
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

  it('cannot be reached in a group that is unknown or dissolved', async () => {
    const { group_id, owner, member } = await cast()
    await server.sql.run(`update groups set status = 1 where group_id = ${group_id}`)
    for (const id of [group_id, 1, 2n ** 63n - 1n]) {
      for (const path of [...appointing, ...moderating, ...lookUps])
        expect((await act(path)(owner.api, id, member)).code, path).toBe(answerCode.group_not_found)
      for (const path of [...readLists, '/group/blocked_list'])
        expect((await owner.api.call('GET', path, { query: { group_id: id } })).code, path).toBe(
          answerCode.group_not_found,
        )
      await expectCode(
        member.api.call('POST', '/group/leave', { query: { group_id: id } }),
        'group_not_found',
      )
    }
  })

  it('are named by well-formed lists', async () => {
    const { group_id, owner, member } = await cast()
    const tooMany = Array.from({ length: 501 }, () => member.id)
    for (const path of [...appointing, ...moderating]) {
      for (const user_list of [[], tooMany, ['x'], [1.5], [null], [2n ** 63n], 'x', undefined]) {
        const { code, envelope } = await act(path, { user_list })(owner.api, group_id)
        expect([code, envelope.message], `${path} ${String(user_list).slice(0, 20)}`).toEqual([
          answerCode.invalid_parameter,
          expect.stringContaining('user_list'),
        ])
      }
      const { code, envelope } = await act(path)(owner.api, undefined, member)
      expect([code, envelope.message], path).toEqual([
        answerCode.invalid_parameter,
        expect.stringContaining('group_id'),
      ])
    }
    for (const path of [...readLists, '/group/blocked_list', '/group/leave']) {
      const { code, envelope } = await owner.api.call(
        path === '/group/leave' ? 'POST' : 'GET',
        path,
      )
      expect([code, envelope.message], path).toEqual([
        answerCode.invalid_parameter,
        expect.stringContaining('group_id'),
      ])
    }
    expect(await memberIds(owner.api, group_id)).toHaveLength(5)
  })
})
