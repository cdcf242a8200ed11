/** What becomes of groups when users are deleted, on both databases (rule D5). */
import type { GroupMemberInfo } from '@hermod/protocol'
import { type Answer, type Api, anyBackend, waitFor } from '@hermod/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { changeSettings, codes, type Person, registerPeople } from '../support/contacts.js'
import {
  aGroup,
  announcements,
  expectSuccess,
  type GroupEvent,
  groupCall,
  groupEventsOf,
  groupInfo,
  groupInvitations,
  groupQuery,
  joinRequests,
  memberIds,
  roles,
  types,
} from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { integrityFaults } from '../support/messaging/messaging.js'

const succeeded = 200
const dissolved = 1
const pending = 0
const system = 0
const groupTables = {
  group_members: ['user_id'],
  group_mute_gaps: ['user_id'],
  group_blocks: ['user_id'],
  group_removals: ['user_id'],
  group_join_requests: ['applicant_id'],
  group_invitations: ['invitee_id', 'inviter_id'],
  pinned_conversations: ['user_id'],
} as const

type People = [Person, Person, Person, Person, Person]

describe.each(anyBackend())('groups of deleted users on $name', (backend) => {
  const server = ownServer(backend)

  afterAll(async () => {})

  const people = async () => (await registerPeople(server, 5)) as People
  const sql = (statement: string) => server.sql.run(statement)
  const admin = () => server.api.admin()

  async function remove({ id }: Pick<Person, 'id'>): Promise<Answer> {
    return server.api.admin({ userId: id }).call('POST', '/user/delete', { body: {} })
  }

  async function rolesIn(
    api: Api,
    group_id: number,
    list: readonly Person[],
  ): Promise<Record<number, number>> {
    const body = { group_id, user_list: list.map(({ id }) => id) }
    const { data } = await api.succeed<GroupMemberInfo[]>('POST', '/group/members/info', { body })
    return Object.fromEntries(data.map(({ user_id, role }) => [user_id, role]))
  }

  /** As if they had joined in this order. */
  async function joinedInOrder(group_id: number, ...order: readonly Person[]): Promise<void> {
    for (const [index, { id }] of order.entries())
      await sql(
        `update group_members set joined_at = ${index + 1} where group_id = ${group_id} and user_id = ${id}`,
      )
  }

  async function eventsSince(
    group_id: number,
    before: readonly GroupEvent[],
  ): Promise<GroupEvent[]> {
    return (await groupEventsOf(server.sql, group_id)).slice(before.length)
  }

  const event = (kind: string, users: readonly Person[], actor = system) => ({
    kind,
    actor,
    users: users.map(({ id }) => id),
    content: '',
  })

  /** Nothing of them in any group, and everything derived agrees. */
  async function expectNothingOf(...gone: readonly Person[]): Promise<void> {
    for (const [table, columns] of Object.entries(groupTables))
      for (const column of columns)
        expect([
          table,
          await sql(
            `select * from ${table} where ${column} in (${gone.map(({ id }) => id).join(', ')})`,
          ),
        ]).toEqual([table, []])
    const named = await sql(
      `select * from groups where status = 0 and owner_id in (${gone.map(({ id }) => id).join(', ')})`,
    )
    expect(named).toEqual([])
    expect(await integrityFaults(server)).toEqual([])
  }

  it('pass to the admin who has been there for longest, and to an admin before any member', async () => {
    const [owner, older, younger, first, other] = await people()
    const group_id = await aGroup(owner, { members: [first, other], admins: [younger, older] })
    await joinedInOrder(group_id, first, owner, older, younger, other)
    const before = await groupEventsOf(server.sql, group_id)
    const { updated_at } = await groupInfo(first.api, group_id)
    expect(await remove(owner)).toMatchObject({ code: succeeded })
    const group = await groupInfo(first.api, group_id)
    expect(group).toMatchObject({ owner_id: older.id, count: 4, status: 0 })
    expect(group.updated_at).toBeGreaterThan(Number(updated_at))
    expect(await rolesIn(first.api, group_id, [owner, older, younger, first, other])).toEqual({
      [older.id]: roles.owner,
      [younger.id]: roles.admin,
      [first.id]: roles.member,
      [other.id]: roles.member,
    })
    expect(await eventsSince(group_id, before)).toEqual([
      event('left', [owner]),
      event('owner_assigned', [older]),
    ])
    expectSuccess(
      await groupCall(older.api, '/group/admin/add', group_id, { user_list: [first.id] }),
    )
    await expectNothingOf(owner)
  })

  it('pass to the member who has been there for longest where there is no admin, of equals to the one with the smaller ID', async () => {
    const [owner, second, first, third, fourth] = await people()
    const [ranked, equal] = [
      await aGroup(owner, { members: [second, first, third] }),
      await aGroup(owner, { members: [fourth, third] }),
    ]
    await joinedInOrder(ranked, first, second, third)
    await sql(`update group_members set joined_at = 5 where group_id = ${equal}`)
    await remove(owner)
    expect((await groupInfo(first.api, ranked)).owner_id).toBe(first.id)
    expect((await groupInfo(third.api, equal)).owner_id).toBe(Math.min(third.id, fourth.id))
    await expectNothingOf(owner)
  })

  it('have an owner who is not banned', async () => {
    const [owner, heir] = await people()
    const group_id = await aGroup(owner, { members: [heir] })
    expectSuccess(
      await groupCall(owner.api, '/group/ban', group_id, { user_list: [heir.id], duration: -1 }),
    )
    const banned = async () => (await groupQuery(heir.api, '/group/banned_list', group_id)).envelope
    const before = await banned()
    expect(before.data).toHaveLength(1)
    await remove(owner)
    const after = await banned()
    expect(after).toMatchObject({ data: [], total: 0 })
    expect(after.version).toBeGreaterThan(before.version)
    await expectNothingOf(owner)
  })

  it('are dissolved when nobody is left, with what was open', async () => {
    const [owner, applicant, invitee] = await people()
    const group_id = await aGroup(owner, { more: { type: types.public } })
    await changeSettings(invitee, { group_confirm: true })
    expectSuccess(await groupCall(applicant.api, '/group/apply', group_id, { reason: 'hello' }))
    expectSuccess(await groupCall(admin(), '/group/invite', group_id, { user_list: [invitee.id] }))
    const before = await groupEventsOf(server.sql, group_id)
    await remove(owner)
    await expectCode(groupCall(applicant.api, '/group/apply', group_id), 'group_not_found')
    expect(
      await sql(`select status, member_count from groups where group_id = ${group_id}`),
    ).toEqual([{ status: dissolved, member_count: 0 }])
    expect(await groupInvitations(invitee.api)).toMatchObject([{ group_id, status: pending }])
    expect(
      await sql(`select status from group_join_requests where group_id = ${group_id}`),
    ).toEqual([{ status: pending }])
    expect(await eventsSince(group_id, before)).toEqual([
      event('left', [owner]),
      event('destroyed', []),
    ])
    await expectNothingOf(owner)
  })

  it('go on without an ordinary member, of whom the lists tell nothing any more', async () => {
    const [owner, member, banned, outsider] = await people()
    const group_id = await aGroup(owner, { members: [member, banned] })
    const chatroom = await aGroup(owner, { members: [member], more: { type: types.chatroom } })
    expectSuccess(
      await groupCall(owner.api, '/group/ban', group_id, { user_list: [banned.id], duration: -1 }),
    )
    expectSuccess(
      await groupCall(owner.api, '/group/block', group_id, { user_list: [outsider.id] }),
    )
    const lists = ['/group/member_list', '/group/banned_list', '/group/blocked_list']
    const read = () =>
      Promise.all(lists.map(async (path) => (await groupQuery(owner.api, path, group_id)).envelope))
    const before = await read()
    const eventsBefore = [
      await groupEventsOf(server.sql, group_id),
      await groupEventsOf(server.sql, chatroom),
    ] as const
    expect(before.map(({ total }) => total)).toEqual([3, 1, 1])
    expect(await member.api.call('POST', '/user/delete', { body: {} })).toMatchObject({
      code: succeeded,
    })
    for (const person of [banned, outsider]) await remove(person)
    const after = await read()
    expect(after.map(({ total }) => total)).toEqual([1, 0, 0])
    for (const [index, { version }] of after.entries())
      expect(version).toBeGreaterThan(before[index]?.version)
    expect(await memberIds(owner.api, group_id)).toEqual([owner.id])
    expect(await groupInfo(owner.api, group_id)).toMatchObject({
      owner_id: owner.id,
      count: 1,
      status: 0,
    })
    expect(await eventsSince(group_id, eventsBefore[0])).toEqual([
      event('left', [member]),
      event('left', [banned]),
    ])
    expect(await eventsSince(chatroom, eventsBefore[1])).toEqual([
      event('left', [member]),
      event('absence', [member]),
    ])
    expect(await rolesIn(owner.api, group_id, [member, banned, outsider])).toEqual({})
    await expectNothingOf(member, banned, outsider)
  })

  it('name the user as the one who left where the user did it', async () => {
    const owner = await server.api.newSession()
    const [heir] = await people()
    const group_id = await aGroup(owner, { members: [heir] })
    const before = await groupEventsOf(server.sql, group_id)
    await owner.api.succeed('POST', '/user/delete', { body: { password: 'correct horse' } })
    const left = await eventsSince(group_id, before)
    expect(left.map(({ kind, actor }) => [kind, actor])).toEqual([
      ['left', owner.id],
      ['owner_assigned', owner.id],
    ])
  })

  it('keep what they have from the user: announcements and files', async () => {
    const [owner, heir] = await people()
    const group_id = await aGroup(owner, { members: [heir] })
    expectSuccess(
      await groupCall(owner.api, '/group/announcement/edit', group_id, {
        title: 'News',
        content: 'Some',
      }),
    )
    expectSuccess(
      await groupCall(owner.api, '/group/file/upload', group_id, {
        name: 'map',
        size: 1,
        url: '/map',
      }),
    )
    await remove(owner)
    expect(await announcements(heir.api, group_id)).toMatchObject([
      { author: owner.id, title: 'News' },
    ])
    expect((await groupQuery(heir.api, '/group/file/list', group_id)).data).toMatchObject([
      { uploader: owner.id, name: 'map' },
    ])
  })

  it('lose their former members too when they are dissolved, and tell nobody', async () => {
    const [owner, member] = await people()
    const group_id = await aGroup(owner, { members: [member] })
    await owner.api.succeed('POST', '/group/destroy', { query: { group_id } })
    const before = await groupEventsOf(server.sql, group_id)
    await remove(owner)
    expect(await groupInfo(member.api, group_id)).toMatchObject({ status: dissolved, count: 1 })
    expect(await rows(group_id)).toEqual([{ user_id: member.id, role: roles.member }])
    expect(await eventsSince(group_id, before)).toEqual([])
    await expectNothingOf(owner)
  })

  async function rows(group_id: number) {
    return await sql(
      `select user_id, role from group_members where group_id = ${group_id} order by user_id`,
    )
  }

  it('take no invitation of the user, and none to the user', async () => {
    const [owner, inviter, invitee] = await people()
    const group_id = await aGroup(owner, { members: [inviter] })
    await changeSettings(invitee, { group_confirm: true })
    expectSuccess(
      await groupCall(inviter.api, '/group/invite', group_id, { user_list: [invitee.id] }),
    )
    expect(await groupInvitations(invitee.api)).toHaveLength(1)
    await remove(inviter)
    expect(await groupInvitations(invitee.api)).toEqual([])
    expectSuccess(
      await groupCall(owner.api, '/group/invite', group_id, { user_list: [invitee.id] }),
    )
    await remove(invitee)
    await expectNothingOf(inviter, invitee)
  })

  it('have no application of the user, and keep the user out of everything', async () => {
    const [owner, applicant] = await people()
    const group_id = await aGroup(owner, { more: { type: types.public } })
    expectSuccess(await groupCall(applicant.api, '/group/apply', group_id, { reason: 'hello' }))
    expect(await joinRequests(owner.api, group_id)).toHaveLength(1)
    await remove(applicant)
    expect(await joinRequests(owner.api, group_id)).toEqual([])
    const list = { user_list: [applicant.id] }
    for (const path of ['/group/admin/member_join', '/group/invite', '/group/block']) {
      const { data } = await groupCall(owner.api, path, group_id, list)
      expect([path, (data.list ?? data)[0].result]).toEqual([path, 'fail'])
    }
    await expectCode(groupCall(applicant.api, '/group/apply', group_id), 'user_deleted')
    await expectNothingOf(applicant)
  })

  it('are all cared for, however many one user owns', async () => {
    const many = 1_003
    const [owner, heir] = await people()
    const { appId } = server
    const ids = Array.from({ length: many }, (_, index) => index + 1_000)
    const groups = ids.map(
      (id) =>
        `('${appId}', ${id}, 0, '', '', '', ${owner.id}, 10, ${id % 2 === 0 ? 2 : 1}, 1, 1, 1)`,
    )
    const columns =
      'app_id, group_id, type, name, avatar, description, owner_id, capacity, member_count, created_at, updated_at, members_changed_at'
    await sql(`insert into groups (${columns}) values ${groups.join(', ')}`)
    const member = (id: number, { id: userId }: Person, role: number) =>
      `('${appId}', ${id}, ${userId}, ${role}, 1)`
    const members = ids.flatMap((id) => [
      member(id, owner, roles.owner),
      ...(id % 2 === 0 ? [member(id, heir, roles.member)] : []),
    ])
    await sql(
      `insert into group_members (app_id, group_id, user_id, role, joined_at) values ${members.join(', ')}`,
    )
    await sql(`insert into conversations (app_id, low_id, high_id, seq, last_msg_id, created_at, last_recalled_seq)
      select app_id, group_id, group_id, 0, 0, 0, 0 from groups where group_id in (${ids.join(', ')})`)
    await sql(`insert into readers (app_id, user_id, low_id, high_id)
      select app_id, user_id, group_id, group_id from group_members where group_id in (${ids.join(', ')})`)
    expect(await remove(owner)).toMatchObject({ code: succeeded })
    const { data: joined } = await heir.api.succeed('GET', '/group/user_joined')
    expect(joined).toHaveLength(Math.ceil(many / 2))
    expect(await groupInfo(heir.api, joined[0])).toMatchObject({ owner_id: heir.id, count: 1 })
    expect(
      await sql(`select count(*) as n from groups where owner_id = ${owner.id} and status = 1`),
    ).toEqual([{ n: Math.floor(many / 2) }])
    await expectNothingOf(owner)
    await remove(heir)
    await expectNothingOf(owner, heir)
  })

  it('let the new owner act at once', async () => {
    const [owner] = await people()
    // With tokens of their own: an Admin token passes over bans.
    const [heir, member] = [await server.api.newSession(), await server.api.newSession()]
    const group_id = await aGroup(owner, { members: [heir, member] })
    await sql(
      `update group_members set joined_at = 1 where group_id = ${group_id} and user_id = ${heir.id}`,
    )
    expectSuccess(await groupCall(owner.api, '/group/settings/ban_all', group_id, { duration: -1 }))
    const send = async ({ api }: { readonly api: Api }) =>
      (
        await api.call('POST', '/message/send', {
          body: { type: 2, content_type: 0, content: 'hello', targets: [group_id] },
        })
      ).code
    expect([await send(heir), await send(member)]).toEqual([
      answerCode.member_banned,
      answerCode.member_banned,
    ])
    await remove(owner)
    expect([await send(heir), await send(member)]).toEqual([succeeded, answerCode.member_banned])
  })

  it('have one owner who is a member, or are dissolved, when everybody is deleted at once', async () => {
    for (let round = 0; round < 4; round++) {
      const cast = await people()
      const [owner, one, two, three] = cast
      const groups = [
        await aGroup(owner, { members: [one, two], admins: [three] }),
        await aGroup(one, { members: [owner, two, three] }),
        await aGroup(two, { admins: [owner, one] }),
      ]
      const survivors = round % 2 === 0 ? [] : [two]
      const gone = cast.filter((person) => !survivors.includes(person))
      const answers = await Promise.all(gone.map(remove))
      expect(codes(answers)).toEqual(gone.map(() => succeeded))
      await expectNothingOf(...gone)
      const states = await sql(
        `select status, owner_id from groups where group_id in (${groups.join(', ')})`,
      )
      if (survivors.length === 0) expect(states.map(({ status }) => status)).toEqual([1, 1, 1])
      else expect(states).toEqual(Array(3).fill({ status: 0, owner_id: two.id }))
    }
  })

  // The embedded database has one writer, so nothing is under way there.
  if (backend.name === 'postgres') {
    it('pass to somebody who is still there once a change that is under way has ended', async () => {
      const [owner, heir, next] = await people()
      const group_id = await aGroup(owner, { members: [heir, next] })
      await joinedInOrder(group_id, owner, heir, next)
      await sql('begin')
      try {
        await sql(`update groups set member_count = member_count - 1 where group_id = ${group_id}`)
        const removed = remove(owner)
        const isWaiting = async () =>
          (
            await sql(
              'select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))',
            )
          ).length > 0
        await waitFor(isWaiting, { what: 'the deletion to wait for the group', timeoutMs: 10_000 })
        // As a kick does it.
        for (const table of [
          'group_members where group_id',
          'readers where low_id = high_id and low_id',
        ])
          await sql(`delete from ${table} = ${group_id} and user_id = ${heir.id}`)
        await sql('commit')
        expect(await removed).toMatchObject({ code: succeeded })
      } finally {
        await sql('rollback')
      }
      expect(await groupInfo(next.api, group_id)).toMatchObject({ owner_id: next.id, count: 1 })
      await expectNothingOf(owner)
    })
  }

  it('hold nothing of a user who joins, creates, is given or leaves groups meanwhile', async () => {
    for (let round = 0; round < 5; round++) {
      const [owner, gone, heir, other, fourth] = await people()
      await changeSettings(fourth, { group_confirm: true })
      const open = await aGroup(owner, { more: { type: types.public } })
      const given = await aGroup(owner, { members: [gone, heir] })
      const own = await aGroup(gone, { members: [heir], admins: [other] })
      const left = await aGroup(owner, { members: [gone, other] })
      const list = { user_list: [gone.id] }
      const busy = [
        groupCall(owner.api, '/group/admin/member_join', open, list),
        groupCall(gone.api, '/group/apply', open, { reason: 'hello' }),
        groupCall(owner.api, '/group/transfer', given, { new_owner: gone.id }),
        groupCall(owner.api, '/group/kick', left, list),
        groupCall(owner.api, '/group/invite', left, list),
        groupCall(owner.api, '/group/block', open, list),
        groupCall(owner.api, '/group/ban', given, { ...list, duration: 5 }),
        gone.api.call('POST', '/group/leave', { query: { group_id: left } }),
        gone.api.call('POST', '/user/conversation/pin', { body: { conversation_id: left } }),
        gone.api.call('POST', '/user/conversation/pin', { body: { conversation_id: own } }),
        groupCall(gone.api, '/group/display_name', own, { value: 'me' }),
        groupCall(gone.api, '/group/transfer', own, { new_owner: heir.id }),
        groupCall(gone.api, '/group/invite', own, { user_list: [fourth.id], reason: 'come' }),
        groupCall(other.api, '/group/kick', own, { user_list: [heir.id] }),
        gone.api.call('POST', '/group/create', {
          body: { name: 'late', type: 0, user_list: [owner.id] },
        }),
        owner.api.call('POST', '/group/create', {
          body: { name: 'late', type: 0, user_list: [gone.id] },
        }),
      ]
      // At another moment of the others' work in every round.
      await Promise.all(busy.slice(0, round * 2))
      const [deleted, ...answers] = await Promise.all([remove(gone), ...busy])
      expect(deleted.code).toBe(succeeded)
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      await expectNothingOf(gone)
      const { owner_id, status } = await groupInfo(admin(), own)
      expect(status).toBe(0)
      expect([heir.id, other.id]).toContain(owner_id)
      expect((await groupInfo(owner.api, given)).status).toBe(0)
    }
  })

  it('answer a deleted member as anybody who is none', async () => {
    const [owner, gone] = await people()
    const group_id = await aGroup(owner, { members: [gone] })
    await remove(gone)
    await expectCode(gone.api.call('GET', '/group/info', { query: { group_id } }), 'user_deleted')
    const kicked = await groupCall(owner.api, '/group/kick', group_id, { user_list: [gone.id] })
    expect(kicked.data[0]).toMatchObject({ user_id: gone.id, result: 'fail' })
    await expectCode(
      groupCall(owner.api, '/group/transfer', group_id, { new_owner: gone.id }),
      'new_owner_not_member',
    )
  })
})
