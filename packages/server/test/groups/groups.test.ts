/** Making, reading, passing on and dissolving groups, and the limits of an application, on both databases. */
import type { GroupMemberInfo, GroupSummary } from '@hermod/protocol'
import { Api, anyBackend } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectSuccesses } from '../support/answer-codes.js'
import { changeSettings, codes, type Person, registerPeople } from '../support/contacts.js'
import { aCast, codesOf, members, only, owners } from '../support/groups/group-cast.js'
import {
  aGroup,
  expectSuccess,
  groupCall,
  groupEventsOf,
  groupInfo,
  groupQuery,
  outcomes,
  types,
} from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

const unknownId = 1
const dayMs = 24 * 3_600_000

describe.each(anyBackend())('groups on $name', (backend) => {
  const server = sharedServer(backend)

  beforeAll(async () => {})

  /** At least three. */
  async function people(count = 3): Promise<[Person, Person, Person, ...Person[]]> {
    const [alice, bob, carol, ...others] = await registerPeople(server, count)
    if (!alice || !bob || !carol) throw new Error('nobody')
    return [alice, bob, carol, ...others]
  }

  async function joinedBy({ api }: Person): Promise<number[]> {
    return (await api.succeed('GET', '/group/user_joined')).data
  }

  async function rolesIn(
    api: Api,
    group_id: number,
    users: readonly Person[],
  ): Promise<Record<number, number>> {
    const { data } = (
      await groupCall(api, '/group/members/info', group_id, {
        user_list: users.map(({ id }) => id),
      })
    ).envelope
    return Object.fromEntries(data.map(({ user_id, role }: GroupMemberInfo) => [user_id, role]))
  }

  async function kinds(group_id: number): Promise<string[]> {
    return (await groupEventsOf(server.sql, group_id)).map(({ kind }) => kind)
  }

  describe('that are made', () => {
    it('have their creator as owner and member, and the defaults of a fresh group', async () => {
      const [alice] = await people()
      const group_id = await aGroup(alice)
      const { created_at, updated_at, ...group } = await groupInfo(alice.api, group_id)
      expect(updated_at).toBe(created_at)
      expect(group).toEqual({
        apply_approval: 1,
        avatar: '',
        ban_expire_time: 0,
        capacity: 2000,
        count: 1,
        description: '',
        ext: '',
        group_id,
        hide_member_info: false,
        history_visible: false,
        member_invite: true,
        member_modify: false,
        msg_mute_mode: 0,
        msg_push_mode: 0,
        name: 'Group',
        owner_id: alice.id,
        read_ack: false,
        status: 0,
        type: 0,
        version: 1,
      })
      expect(await groupEventsOf(server.sql, group_id)).toEqual([
        { kind: 'created', actor: alice.id, users: [alice.id], content: '' },
      ])
    })

    it('take their texts and type, and need none of them', async () => {
      const [alice] = await people()
      const texts = { avatar: 'https://example.org/a.png', description: 'All of us', name: '家 🏠' }
      for (const type of [1, 2, 3])
        expect(
          await groupInfo(alice.api, await aGroup(alice, { more: { ...texts, type } })),
        ).toMatchObject({ ...texts, type })
      const { data } = await alice.api.succeed('POST', '/group/create', { body: {} })
      expect(data).toMatchObject({ avatar: '', count: 1, description: '', name: '', type: 0 })
    })

    it('contain those of the invited who need not be asked, each once, and leave out unknown users', async () => {
      const [alice, bob, carol] = await people()
      await changeSettings(carol, { group_confirm: true })
      const user_list = [bob.id, alice.id, carol.id, unknownId, bob.id]
      const group_id = await aGroup(alice, { more: { user_list } })
      expect((await groupInfo(alice.api, group_id)).count).toBe(2)
      expect(await joinedBy(bob)).toEqual([group_id])
      expect(await joinedBy(carol)).toEqual([])
      expect(await kinds(group_id)).toEqual(['created', 'invited', 'joined'])
    })

    it('may be without a name, left out or empty', async () => {
      const [alice] = await people()
      for (const body of [{}, { name: '' }, { name: null }]) {
        const { data } = await alice.api.succeed('POST', '/group/create', { body })
        expect(data.name).toBe('')
      }
    })

    it('are refused with an avatar that is a script', async () => {
      const [alice] = await people()
      const body = { avatar: 'javascript:alert(1)' }
      const answer = await alice.api.call('POST', '/group/create', { body })
      expect(answer).toMatchObject({ status: 200, code: answerCode.invalid_parameter })
      expect(answer.envelope.message).toContain('avatar must')
      expect(await joinedBy(alice)).toEqual([])
    })

    it('need a user, who is there', async () => {
      const api = server.api.admin()
      expect(
        await api.call('POST', '/group/create', { userId: unknownId, body: {} }),
      ).toMatchObject({ code: answerCode.user_not_found })
      const [gone] = await people()
      await gone.api.succeed('POST', '/user/delete')
      expect(await gone.api.call('POST', '/group/create', { body: {} })).toMatchObject({
        code: answerCode.user_deleted,
      })
    })

    it('take users in whom an admin adds', async () => {
      const [alice, bob, carol] = await people()
      const group_id = await aGroup(alice)
      const user_list = [bob.id, carol.id, bob.id, unknownId, alice.id]
      const added = await groupCall(alice.api, '/group/admin/member_join', group_id, { user_list })
      expect(outcomes(added)).toEqual({
        [bob.id]: null,
        [carol.id]: null,
        [unknownId]: 'user does not exist',
        [alice.id]: 'user is already a member of the group',
      })
      expect((await groupInfo(carol.api, group_id)).count).toBe(3)
    })
  })

  describe('that are read', () => {
    it('show a private group, and its settings, to members and admins only', async () => {
      const cast = await aCast(server)
      for (const path of ['/group/info', '/group/settings'])
        expect(await codesOf(cast, (api) => groupQuery(api, path, cast.group_id))).toEqual(
          only(members, answerCode.member_required),
        )
      const settings = (await groupQuery(cast.member.api, '/group/settings', cast.group_id)).data
      expect(settings).toEqual(await groupInfo(cast.member.api, cast.group_id))
    })

    it.each([types.public, types.chatroom])(
      'show a group of type %i to everybody',
      async (type) => {
        const cast = await aCast(server, { type })
        const codes = await codesOf(cast, (api) => groupQuery(api, '/group/info', cast.group_id))
        expect(codes).toEqual(only([...members, 'outsider'], answerCode.member_required))
      },
    )

    it.each([types.private, types.public, types.chatroom])(
      'are in a list for the callers who may read them alone, of type %i',
      async (type) => {
        const cast = await aCast(server, { type })
        // The single call is refused by its header, whatever the group.
        const without = ['Admin token, another group_id'] as const
        const codes = await codesOf(cast, (api) => groupQuery(api, '/group/info', cast.group_id), {
          without,
        })
        const callers = Object.entries(await cast.callers())
        for (const [name, code] of Object.entries(codes)) {
          const api = callers.find(([caller]) => caller === name)?.[1] as Api
          const listed = (await batch(api, [cast.group_id])).length
          expect([name, listed]).toEqual([name, code === answerCode.ok ? 1 : 0])
        }
      },
    )

    it('show a private group to an invited user, while the invitation can be answered', async () => {
      const [alice, bob] = await people()
      await changeSettings(bob, { group_confirm: true })
      const group_id = await aGroup(alice, { more: { user_list: [bob.id] } })
      expect((await groupInfo(bob.api, group_id)).count).toBe(1)
      const [shown] = await batch(bob.api, [group_id])
      expect(shown).toMatchObject({ group_id, count: 1 })
      await server.sql.run(
        `update group_invitations set expires_at = 1 where group_id = ${group_id}`,
      )
      expect(await groupQuery(bob.api, '/group/info', group_id)).toMatchObject({
        code: answerCode.member_required,
      })
      expect(await batch(bob.api, [group_id])).toEqual([])
    })

    async function batch(api: Api, group_list: readonly unknown[]): Promise<GroupSummary[]> {
      return (await api.succeed('POST', '/group/info/batch', { body: { group_list } })).data
    }

    it('are looked up together in the order asked, each once, without those that the caller may not see', async () => {
      const [alice, bob] = await people()
      const own = await aGroup(alice, { members: [bob], more: { name: 'Own', avatar: '/a.png' } })
      const hidden = await aGroup(bob)
      const open = await aGroup(bob, { more: { type: types.public, name: 'Open' } })
      const gone = await aGroup(bob, { members: [alice] })
      await expectSuccess(
        await groupCall(alice.api, '/group/msg/mute_mode', own, { msg_mute_mode: 2 }),
      )
      await expectSuccess(await groupCall(bob.api, '/group/destroy', gone))
      const shown = await batch(alice.api, [open, unknownId, own, hidden, open, gone, 2n ** 62n])
      expect(shown.map(({ group_id }) => group_id)).toEqual([open, own, gone])
      expect(shown[1]).toEqual({ ...(await groupInfo(alice.api, own)), owner: alice.id })
      expect(shown[1]).toMatchObject({ name: 'Own', avatar: '/a.png', msg_mute_mode: 2 })
      expect(shown[2]).toMatchObject({ status: 1 })
      expect((await batch(bob.api, [own]))[0]).toMatchObject({ msg_mute_mode: 0 })
      expect(
        (await batch(server.api.admin(), [own, hidden])).map(({ group_id }) => group_id),
      ).toEqual([own, hidden])
      const adminOfOwn = server.api.admin({ groupId: own })
      expect((await batch(adminOfOwn, [hidden, own])).map(({ group_id }) => group_id)).toEqual([
        own,
      ])
    })

    it('are looked up in lists of up to 10,000', async () => {
      const [alice] = await people()
      const group_id = await aGroup(alice)
      const ids = Array.from({ length: 9_999 }, (_, index) => index + 1)
      expect((await batch(alice.api, [...ids, group_id])).map((each) => each.group_id)).toEqual([
        group_id,
      ])
      expect(await batch(alice.api, [])).toEqual([])
    })

    it('are listed when they are public and there, newest first', async () => {
      const [alice, bob] = await people()
      const first = await aGroup(alice, { more: { type: types.public } })
      const second = await aGroup(alice, { more: { type: types.public } })
      for (const type of [types.private, types.chatroom, types.temporary])
        await aGroup(alice, { more: { type } })
      const dissolved = await aGroup(alice, { more: { type: types.public } })
      await expectSuccess(await groupCall(alice.api, '/group/destroy', dissolved))
      for (const api of [bob.api, server.api.admin()]) {
        const { data } = await api.succeed<number[]>('GET', '/group/public_list')
        expect(data.filter((group_id) => group_id >= first)).toEqual([second, first])
      }
    })

    it('are listed to those who are in them, as long as they are', async () => {
      const [alice, bob] = await people()
      const kept = await aGroup(alice, { members: [bob] })
      const left = await aGroup(alice, { members: [bob] })
      const dissolved = await aGroup(alice, { members: [bob] })
      const chatroom = await aGroup(bob, { more: { type: types.chatroom } })
      expect(await joinedBy(bob)).toEqual([kept, left, dissolved, chatroom])
      await expectSuccess(await groupCall(bob.api, '/group/leave', left))
      await expectSuccess(await groupCall(alice.api, '/group/destroy', dissolved))
      expect(await joinedBy(bob)).toEqual([kept, chatroom])
      expect(await joinedBy(alice)).toEqual([kept, left])
    })
  })

  describe('that are dissolved', () => {
    it('are read by their members alone', async () => {
      for (const name of owners) {
        const { callers, member, outsider, group_id } = await aCast(server, { type: types.public })
        const api = (await callers())[name]
        const answer = await api.call('DELETE', '/group/destroy', { query: { group_id } })
        expect(answer).toMatchObject({ code: 200, data: true })
        expect(await groupInfo(member.api, group_id)).toMatchObject({ status: 1, count: 3 })
        expect(await groupQuery(member.api, '/group/settings', group_id)).toMatchObject({
          code: 200,
        })
        expect(await groupQuery(outsider.api, '/group/info', group_id)).toMatchObject({
          code: answerCode.group_not_found,
        })
        expect(await groupCall(api, '/group/destroy', group_id)).toMatchObject({
          code: answerCode.group_not_found,
        })
      }
    })

    it('tell it once, have a later updated_at, and refuse what was open', async () => {
      const [alice, bob, carol] = await people()
      await changeSettings(bob, { group_confirm: true })
      const group_id = await aGroup(alice, { more: { user_list: [bob.id] } })
      await expectSuccess(await groupCall(carol.api, '/group/apply', group_id))
      const before = await groupInfo(alice.api, group_id)
      await expectSuccess(await groupCall(alice.api, '/group/destroy', group_id))
      expect((await groupInfo(alice.api, group_id)).updated_at).toBeGreaterThan(
        Number(before.updated_at),
      )
      for (const table of ['group_join_requests', 'group_invitations'])
        expect(
          await server.sql.run(`select status from ${table} where group_id = ${group_id}`),
        ).toEqual([{ status: 0 }])
      const events = await groupEventsOf(server.sql, group_id)
      expect(events.at(-1)).toEqual({ kind: 'destroyed', actor: alice.id, users: [], content: '' })
    })

    it('are dissolved once when many do so at once', async () => {
      const [alice] = await people()
      const group_id = await aGroup(alice)
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => groupCall(alice.api, '/group/destroy', group_id)),
      )
      expectSuccesses(answers, 1, 'group_not_found')
      expect((await kinds(group_id)).filter((kind) => kind === 'destroyed')).toHaveLength(1)
    })
  })

  describe('that pass to another owner', () => {
    const transfer = (api: Api, group_id: number, new_owner: unknown) =>
      groupCall(api, '/group/transfer', group_id, { new_owner })

    it('make the old one an ordinary member', async () => {
      const [alice, bob, carol] = await people()
      const group_id = await aGroup(alice, { members: [carol], admins: [bob] })
      const before = await groupInfo(alice.api, group_id)
      expect(await transfer(alice.api, group_id, bob.id)).toMatchObject({
        code: 200,
        data: { user_id: bob.id, result: 'success' },
      })
      const after = await groupInfo(alice.api, group_id)
      expect(after).toMatchObject({ owner_id: bob.id, count: 3 })
      expect(after.updated_at).toBeGreaterThan(Number(before.updated_at))
      expect(await rolesIn(bob.api, group_id, [alice, bob, carol])).toEqual({
        [alice.id]: 0,
        [bob.id]: 2,
        [carol.id]: 0,
      })
      const assigned = { kind: 'owner_assigned', actor: alice.id, users: [bob.id], content: '' }
      expect((await groupEventsOf(server.sql, group_id)).at(-1)).toEqual(assigned)
      expect(await transfer(alice.api, group_id, alice.id)).toMatchObject({
        code: answerCode.group_owner_required,
      })
      expect(await transfer(bob.api, group_id, carol.id)).toMatchObject({ code: 200 })
    })

    it('by an Admin token have the system as actor', async () => {
      const { group_id, owner, admin, member } = await aCast(server)
      expect(await transfer(server.api.admin(), group_id, member.id)).toMatchObject({ code: 200 })
      expect(await rolesIn(member.api, group_id, [owner, admin, member])).toEqual({
        [owner.id]: 0,
        [admin.id]: 1,
        [member.id]: 2,
      })
      expect((await groupEventsOf(server.sql, group_id)).at(-1)).toMatchObject({
        kind: 'owner_assigned',
        actor: 0,
      })
    })

    it('go to a member only', async () => {
      const [alice, bob, carol] = await people()
      const group_id = await aGroup(alice, { members: [carol] })
      await carol.api.succeed('POST', '/user/delete')
      for (const id of [bob.id, unknownId, carol.id, 0])
        expect(await transfer(alice.api, group_id, id)).toMatchObject({
          code: answerCode.new_owner_not_member,
          data: null,
        })
      expect(await groupInfo(alice.api, group_id)).toMatchObject({ owner_id: alice.id })
    })

    it('stay as they are when their owner is named', async () => {
      const [alice] = await people()
      const group_id = await aGroup(alice)
      const before = await groupInfo(alice.api, group_id)
      expect(await transfer(alice.api, group_id, alice.id)).toMatchObject({
        data: { user_id: alice.id, result: 'success' },
      })
      expect(await groupInfo(alice.api, group_id)).toEqual(before)
      expect(await kinds(group_id)).toEqual(['created'])
    })

    it('end the ban of the new one', async () => {
      const [alice, bob] = await people()
      const group_id = await aGroup(alice, { members: [bob] })
      await expectSuccess(
        await groupCall(alice.api, '/group/ban', group_id, { user_list: [bob.id], duration: -1 }),
      )
      await expectSuccess(await transfer(alice.api, group_id, bob.id))
      const banned = await groupQuery(bob.api, '/group/banned_list', group_id)
      expect(banned).toMatchObject({ code: 200, data: [] })
    })

    it('have one owner when they are passed on by many at once', async () => {
      const [alice, ...others] = await people(6)
      const group_id = await aGroup(alice, { members: others })
      const byAlice = await Promise.all(others.map(({ id }) => transfer(alice.api, group_id, id)))
      expectSuccesses(byAlice, 1, 'group_owner_required')
      const byAdmin = await Promise.all(
        others.map(({ id }) => transfer(server.api.admin(), group_id, id)),
      )
      expect(codes(byAdmin)).toEqual(Array(5).fill(200))
      const { owner_id, count } = await groupInfo(alice.api, group_id)
      expect(count).toBe(6)
      const roles = await rolesIn(alice.api, group_id, [alice, ...others])
      expect(roles).toEqual(
        Object.fromEntries([alice, ...others].map(({ id }) => [id, id === owner_id ? 2 : 0])),
      )
    })
  })

  describe('that are not there', () => {
    it('are those of other applications', async () => {
      const { app } = await anApp({})
      const [stranger] = await registerPeople({ api: app }, 1)
      const [alice] = await people()
      const group_id = await aGroup(alice, { more: { type: types.public } })
      for (const api of [app.admin(), stranger?.api ?? app])
        expect(await groupQuery(api, '/group/info', group_id)).toMatchObject({
          code: answerCode.group_not_found,
        })
      expect((await app.admin().succeed('GET', '/group/public_list')).data).toEqual([])
    })
  })

  /** An application of its own, with these settings. */
  async function anApp(settings: object) {
    const operator = server.api.as(server.operatorToken)
    const { data } = await operator.succeed('POST', '/operator/v1/app/create')
    const update = (changes: object) =>
      operator.succeed('POST', '/operator/v1/app/update', {
        body: { app_id: data.app_id, settings: changes },
      })
    await update(settings)
    return {
      app: new Api({ ...server.api.options, appId: data.app_id, adminToken: data.admin_token }),
      update,
    }
  }

  const create = ({ api }: Pick<Person, 'api'>) => api.call('POST', '/group/create', { body: {} })

  async function createAtOnce(creators: readonly Pick<Person, 'api'>[]): Promise<number[]> {
    return codes(await Promise.all(creators.map(create))).toSorted((a, b) => a - b)
  }

  describe('within the limits of an application', () => {
    it('are as many as it may have, also when many are made at once', async () => {
      const { app, update } = await anApp({ group_limit: 3 })
      const creators = await registerPeople({ api: app }, 8)
      expect(await createAtOnce(creators)).toEqual([
        200,
        200,
        200,
        ...Array(5).fill(answerCode.app_group_limit_reached),
      ])
      const made = (await Promise.all(creators.map(joinedBy))).flat()
      expect(made).toHaveLength(3)
      await expectSuccess(await groupCall(app.admin(), '/group/destroy', made[0]))
      expect(await createAtOnce(creators.slice(0, 2))).toEqual([
        200,
        answerCode.app_group_limit_reached,
      ])
      await update({ group_limit: 0 })
      expect(await createAtOnce(creators)).toEqual(Array(8).fill(200))
    })

    it('are as many as a user may own, however they came', async () => {
      const { app } = await anApp({ group_owner_limit: 2 })
      const [alice, bob] = await registerPeople({ api: app }, 2)
      if (!alice || !bob) throw new Error('nobody')
      expect(await createAtOnce(Array(6).fill(alice))).toEqual([
        200,
        200,
        ...Array(4).fill(answerCode.created_group_limit_reached),
      ])
      const theirs = await aGroup(bob, { members: [alice] })
      const transfer = () => groupCall(bob.api, '/group/transfer', theirs, { new_owner: alice.id })
      expect(await transfer()).toMatchObject({ code: answerCode.created_group_limit_reached })
      expect(await groupInfo(bob.api, theirs)).toMatchObject({ owner_id: bob.id })
      await expectSuccess(await groupCall(alice.api, '/group/destroy', (await joinedBy(alice))[0]))
      const crossing = await Promise.all([transfer(), create(alice), create(alice)])
      expectSuccesses(crossing, 1, 'created_group_limit_reached')
    })

    it('are as many as a user may be in, also when many take the user in at once', async () => {
      const { app } = await anApp({ group_member_limit: 2 })
      const [bob, ...hosts] = await registerPeople({ api: app }, 6)
      if (!bob) throw new Error('nobody')
      const groups = await Promise.all(hosts.map((host) => aGroup(host)))
      const joins = groups.map((group_id) =>
        groupCall(app.admin(), '/group/admin/member_join', group_id, { user_list: [bob.id] }),
      )
      const reasons = (await Promise.all(joins)).map((answer) => outcomes(answer)[bob.id])
      expect(reasons.filter((reason) => reason === null)).toHaveLength(2)
      expect(reasons.filter((reason) => reason === 'user has joined too many groups')).toHaveLength(
        3,
      )
      expect(await joinedBy(bob)).toHaveLength(2)
      expect(await create(bob)).toMatchObject({ code: answerCode.joined_group_limit_reached })
      await expectSuccess(await groupCall(bob.api, '/group/leave', (await joinedBy(bob))[0]))
      expect(await create(bob)).toMatchObject({ code: 200 })
    })

    it('do not count for the user any more when they are dissolved, wherever the next one comes from', async () => {
      const { app } = await anApp({ group_member_limit: 2 })
      const [bob, ...hosts] = await registerPeople({ api: app }, 6)
      if (!bob) throw new Error('nobody')
      const groups = await Promise.all(
        hosts.map((host) => aGroup(host, { more: { type: types.public } })),
      )
      const [first, second, third, fourth, fifth] = groups as [
        number,
        number,
        number,
        number,
        number,
      ]
      const dissolve = async (group_id: number) =>
        expectSuccess(await groupCall(app.admin(), '/group/destroy', group_id))
      const join = async (group_id: number, path = '/group/admin/member_join') =>
        outcomes(await groupCall(app.admin(), path, group_id, { user_list: [bob.id] }))[bob.id]
      for (const group_id of [first, second]) expect(await join(group_id)).toBeNull()
      expect(await join(third)).toBe('user has joined too many groups')
      await dissolve(first)
      expect(await join(third)).toBeNull()
      expect(await join(fourth)).toBe('user has joined too many groups')
      expect(await create(bob)).toMatchObject({ code: answerCode.joined_group_limit_reached })
      await dissolve(second)
      expect(await create(bob)).toMatchObject({ code: 200 })
      for (const path of ['/group/admin/member_join', '/group/invite'])
        expect(await join(fourth, path), path).toBe('user has joined too many groups')
      await dissolve(third)
      expect(await join(fourth, '/group/invite')).toBeNull()
      expect(await join(fifth)).toBe('user has joined too many groups')
      expect(await joinedBy(bob)).toHaveLength(2)
    })

    it('hold as many members as their greatest capacity', async () => {
      const { app, update } = await anApp({ group_capacity_limit: 2 })
      const [alice, bob, carol] = await registerPeople({ api: app }, 3)
      if (!alice || !bob || !carol) throw new Error('nobody')
      const group_id = await aGroup(alice)
      expect(await groupInfo(alice.api, group_id)).toMatchObject({ capacity: 2 })
      const added = await groupCall(alice.api, '/group/admin/member_join', group_id, {
        user_list: [bob.id, carol.id],
      })
      expect(outcomes(added)).toEqual({ [bob.id]: null, [carol.id]: 'group is full' })
      const grow = () => groupCall(alice.api, '/group/settings/capacity', group_id, { value: 3 })
      expect(await grow()).toMatchObject({ code: answerCode.capacity_invalid })
      await update({ group_capacity_limit: 3 })
      expect(await grow()).toMatchObject({ code: 200 })
    })

    it('keep invitations open for as many days as it says', async () => {
      const { app } = await anApp({ group_application_days: 3 })
      const [alice, bob] = await registerPeople({ api: app }, 2)
      if (!alice || !bob) throw new Error('nobody')
      await changeSettings(bob, { group_confirm: true })
      const group_id = await aGroup(alice, { more: { user_list: [bob.id] } })
      const life = `select expires_at - created_at as life from group_invitations where group_id = ${group_id}`
      expect((await server.sql.run(life)).map((row) => Number(row.life))).toEqual([3 * dayMs])
    })

    it.each([
      ['group_application_days', 0],
      ['group_capacity_limit', 0],
      ['group_capacity_limit', 1_000_001],
      ['group_limit', -1],
      ['group_member_limit', 0],
      ['group_owner_limit', 100_001],
    ])('are refused by name when they are bad: %s %i', async (name, value) => {
      const operator = server.api.as(server.operatorToken)
      const body = { app_id: server.api.options.appId, settings: { [name]: value } }
      const answer = await operator.call('POST', '/operator/v1/app/update', { body })
      expect(answer).toMatchObject({ code: answerCode.invalid_parameter })
      expect(answer.envelope.message).toContain(`settings.${name} must`)
    })
  })
})
