/** What a group is like and what it is like for one member, on both databases. */
import { anyBackend } from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { registerPeople } from '../support/contacts.js'
import { aCast, type GroupCast } from '../support/groups/group-cast.js'
import {
  expectSuccess,
  type GroupEvent,
  groupCall,
  groupEventsOf,
  groupInfo,
  groupMembers,
} from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

/** Path, name in the group, and a value that a fresh group does not have. */
const texts = [
  ['/group/info/name', 'name', 'Walkers 🥾'],
  ['/group/info/avatar', 'avatar', 'https://example.org/a.png'],
  ['/group/info/description', 'description', 'Those who walk'],
  ['/group/info/ext', 'ext', '{"a":"\\u0000?"}'],
] as const
const flags = [
  ['/group/settings/enable_read_ack', 'read_ack', true],
  ['/group/settings/hide_member_info', 'hide_member_info', true],
  ['/group/settings/history_visible', 'history_visible', true],
  ['/group/settings/allow_member_invitation', 'member_invite', false],
  ['/group/settings/allow_member_modify', 'member_modify', true],
] as const

describe.each(anyBackend())('the settings of a group on $name', (backend) => {
  const server = sharedServer(backend)
  let cast: GroupCast
  let group_id: number

  beforeEach(async () => {
    cast = await aCast(server)
    group_id = cast.group_id
  })

  const info = () => groupInfo(cast.member.api, group_id)

  /** What is recorded while something is done. */
  async function eventsOf(work: () => Promise<unknown>): Promise<GroupEvent[]> {
    const before = await groupEventsOf(server.sql, group_id)
    await work()
    return (await groupEventsOf(server.sql, group_id)).slice(before.length)
  }

  function updated(
    actor: number,
    property: string,
    value: unknown,
    users: readonly number[] = [],
  ): GroupEvent {
    return {
      kind: 'info_updated',
      actor,
      users,
      content: JSON.stringify({ property, [property]: value }),
    }
  }

  describe.each([
    ...texts.map(([path, name, value]) => ({ path, name, parameter: 'value', value })),
    ...flags.map(([path, name, value]) => ({ path, name, parameter: 'value', value })),
    {
      path: '/group/settings/require_admin_approval',
      name: 'apply_approval',
      parameter: 'apply_approval',
      value: 2,
    },
    { path: '/group/settings/capacity', name: 'capacity', parameter: 'value', value: 3 },
  ])('$name', ({ path, name, parameter, value }) => {
    it('is set, makes an event, and makes the group newer', async () => {
      const { admin, owner } = cast
      const actor = name === 'capacity' ? owner : admin
      const before = await info()
      const events = await eventsOf(async () => {
        expect(await groupCall(actor.api, path, group_id, { [parameter]: value })).toMatchObject({
          code: 200,
          data: true,
        })
      })
      expect(events).toEqual([updated(actor.id, name, value)])
      const { updated_at, ...after } = await info()
      const version = Number(before.version) + 1
      expect(after).toEqual({ ...before, updated_at: undefined, [name]: value, version })
      expect(updated_at).toBeGreaterThan(Number(before.updated_at))
    })

    it('changes nothing when it is so already', async () => {
      const before = (await info()) as Record<string, unknown>
      const again = { [parameter]: value }
      const asItIs = { [parameter]: before[name] }
      expect(
        await eventsOf(async () =>
          expectSuccess(await groupCall(cast.owner.api, path, group_id, asItIs)),
        ),
      ).toEqual([])
      expect(await info()).toEqual(before)
      await expectSuccess(await groupCall(cast.owner.api, path, group_id, again))
      const set = await info()
      expect(
        await eventsOf(async () =>
          expectSuccess(await groupCall(cast.owner.api, path, group_id, again)),
        ),
      ).toEqual([])
      expect(await info()).toEqual(set)
    })

    it('takes PUT as well', async () => {
      const body = { group_id, [parameter]: value }
      expect(await cast.owner.api.call('PUT', path, { body })).toMatchObject({
        code: 200,
        data: true,
      })
      expect(await info()).toMatchObject({ [name]: value })
    })
  })

  it.each(['javascript:alert(1)', 'data:text/html,x'])(
    '/group/info/avatar: refuses the address %s',
    async (value) => {
      const answer = await groupCall(cast.owner.api, '/group/info/avatar', group_id, { value })
      expect(answer).toMatchObject({ code: answerCode.invalid_parameter })
      expect(answer.envelope.message).toContain('value ')
      expect(await info()).toMatchObject({ avatar: '' })
    },
  )

  it('takes texts as long as they may be, and empty ones except for the name', async () => {
    for (const [path, name, value] of [
      ['/group/info/name', 'name', '🥾'.repeat(128)],
      ['/group/info/description', 'description', 'd'.repeat(1024)],
      ['/group/info/ext', 'ext', 'e'.repeat(8192)],
      ['/group/info/avatar', 'avatar', 'groups/7/avatar.png'],
      ['/group/info/description', 'description', ''],
      ['/group/info/ext', 'ext', ''],
      ['/group/info/avatar', 'avatar', ''],
    ] as const) {
      await expectSuccess(await groupCall(cast.owner.api, path, group_id, { value }))
      expect(await info()).toMatchObject({ [name]: value })
    }
  })

  it('takes 0 and 1 for off and on', async () => {
    for (const [path, name] of flags)
      for (const value of [1, 0]) {
        await expectSuccess(await groupCall(cast.owner.api, path, group_id, { value }))
        expect(await info()).toMatchObject({ [name]: value === 1 })
      }
  })

  it('keeps every one of several changes that are made at once', async () => {
    const before = await info()
    const changes = [...texts.map(([path, name, value]) => [path, name, value] as const), ...flags]
    const events = await eventsOf(async () => {
      const answers = changes.map(([path, , value]) =>
        groupCall(cast.admin.api, path, group_id, { value }),
      )
      for (const answer of await Promise.all(answers)) expectSuccess(answer)
    })
    const expected = changes.map(([, name, value]) =>
      JSON.stringify({ property: name, [name]: value }),
    )
    expect(events.map(({ content }) => content).toSorted()).toEqual(expected.toSorted())
    const after = await info()
    expect(after).toMatchObject(Object.fromEntries(changes.map(([, name, value]) => [name, value])))
    expect(Number(after.updated_at) - Number(before.updated_at)).toBeGreaterThanOrEqual(
      changes.length,
    )
  })

  it('makes the group newer with every change, whatever the clock says', async () => {
    const ahead = 9_000_000_000_000
    await server.sql.run(`update groups set updated_at = ${ahead} where group_id = ${group_id}`)
    for (const [path, , value] of flags)
      await expectSuccess(await groupCall(cast.admin.api, path, group_id, { value }))
    expect((await info()).updated_at).toBe(ahead + flags.length)
    await expectSuccess(
      await groupCall(cast.owner.api, '/group/transfer', group_id, { new_owner: cast.admin.id }),
    )
    expect((await info()).updated_at).toBe(ahead + flags.length + 1)
  })

  it('has the last of several names that are set at once, and each made an event', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `Name ${index}`)
    const events = await eventsOf(async () => {
      const answers = names.map((value) =>
        groupCall(cast.admin.api, '/group/info/name', group_id, { value }),
      )
      for (const answer of await Promise.all(answers)) expectSuccess(answer)
    })
    expect(events).toHaveLength(names.length)
    expect(events.at(-1)).toEqual(updated(cast.admin.id, 'name', (await info()).name))
  })

  describe('capacity', () => {
    const setCapacity = (value: unknown, api = cast.owner.api) =>
      groupCall(api, '/group/settings/capacity', group_id, { value })

    it('is at least the number of members and at most what the application allows', async () => {
      for (const value of [3, 100_000, '500'])
        expect(await setCapacity(value)).toMatchObject({ code: 200 })
      for (const value of [2, 1, 100_001, 2 ** 40, 2n ** 62n])
        expect(await setCapacity(value)).toMatchObject({
          code: answerCode.capacity_invalid,
          data: null,
        })
      expect(await info()).toMatchObject({ capacity: 500 })
    })

    it('is never below the members, also when users join at the same time', async () => {
      await expectSuccess(await setCapacity(6))
      const people = await registerPeople(server, 5)
      const joins = people.map(({ id }) =>
        groupCall(cast.owner.api, '/group/admin/member_join', group_id, { user_list: [id] }),
      )
      await Promise.all([...joins, ...[5, 4, 3].map((value) => setCapacity(value))])
      const { capacity, count } = await info()
      expect(count).toBeLessThanOrEqual(Number(capacity))
      expect(await groupMembers(cast.owner.api, group_id)).toHaveLength(Number(count))
    })
  })

  describe('a ban of the whole group', () => {
    const ban = (duration: unknown, api = cast.admin.api) =>
      groupCall(api, '/group/settings/ban_all', group_id, { duration })
    const unban = (api = cast.admin.api) => groupCall(api, '/group/settings/unban_all', group_id)

    it('ends after so many minutes, in seconds, and makes an event', async () => {
      const before = Math.floor(Number((await info()).updated_at) / 1_000)
      for (const minutes of [1, 60, 100_000_000_000]) {
        let end = 0
        const events = await eventsOf(async () => {
          const answer = await ban(minutes)
          expect(answer).toMatchObject({ code: 200 })
          expect(Object.keys(answer.data)).toEqual(['ban_expire_time'])
          end = answer.data.ban_expire_time
        })
        const { ban_expire_time, updated_at } = await info()
        expect(ban_expire_time).toBe(end)
        expect(events).toEqual([updated(cast.admin.id, 'ban_expire_time', end)])
        // updated_at is the time of the change, or a few milliseconds more when changes follow
        // each other at once.
        expect(end - minutes * 60).toBeGreaterThanOrEqual(before)
        expect(end - minutes * 60).toBeLessThanOrEqual(Math.ceil(Number(updated_at) / 1_000))
      }
    })

    it('is permanent with -1, which says nothing new when it is so already', async () => {
      expect(await ban(-1)).toMatchObject({ data: { ban_expire_time: -1 } })
      expect(await info()).toMatchObject({ ban_expire_time: -1 })
      expect(await eventsOf(() => ban(-1))).toEqual([])
      expect((await ban(1)).data.ban_expire_time).toBeGreaterThan(0)
    })

    it('is ended, which says nothing when there is none', async () => {
      const before = await info()
      expect(
        await eventsOf(async () => expect(await unban()).toMatchObject({ code: 200, data: true })),
      ).toEqual([])
      expect(await info()).toEqual(before)
      await expectSuccess(await ban(-1))
      expect(await eventsOf(() => unban())).toEqual([updated(cast.admin.id, 'ban_expire_time', 0)])
      expect(await info()).toMatchObject({ ban_expire_time: 0 })
      await server.sql.run(`update groups set ban_expires_at = 1 where group_id = ${group_id}`)
      expect(await eventsOf(() => unban())).toEqual([])
    })

    it('does not last 0 minutes', async () => {
      const answer = await ban(0)
      expect(answer).toMatchObject({ code: answerCode.invalid_parameter, data: null })
      expect(answer.envelope.message).toContain('duration')
      expect(await info()).toMatchObject({ ban_expire_time: 0 })
    })
  })

  describe("a member's own settings", () => {
    const own = [
      ['/group/display_name', { value: 'Sir Walksalot' }],
      ['/group/msg/mute_mode', { msg_mute_mode: 1 }],
      ['/group/msg/push_mode', { msg_push_mode: 4 }],
      ['/group/msg/not_disturb', { value: true }],
    ] as const
    const call = (path: string, params: object, api = cast.member.api) =>
      groupCall(api, path, group_id, params)

    it('are seen by the member alone', async () => {
      expect((await call('/group/msg/mute_mode', { msg_mute_mode: 2 })).data).toEqual({
        msg_mute_mode: 2,
      })
      expect((await call('/group/msg/push_mode', { msg_push_mode: 3 })).data).toEqual({
        msg_push_mode: 3,
      })
      expect(await info()).toMatchObject({ msg_mute_mode: 2, msg_push_mode: 3 })
      expect(await groupInfo(cast.owner.api, group_id)).toMatchObject({
        msg_mute_mode: 0,
        msg_push_mode: 0,
      })
      expect(await groupInfo(server.api.admin(), group_id)).toMatchObject({
        msg_mute_mode: 0,
        msg_push_mode: 0,
      })
    })

    it('tell a display name once, show it, and make the list of members newer', async () => {
      const { id, api } = cast.member
      const version = async () =>
        (await api.succeed('GET', '/group/member_list', { query: { group_id } })).version
      const before = await version()
      const name = 'Sir Walksalot'
      const set = async (value: unknown) =>
        expect(await call('/group/display_name', { value })).toMatchObject({
          code: 200,
          data: true,
        })
      expect(await eventsOf(() => set(name))).toEqual([updated(id, 'display_name', name, [id])])
      expect(
        (await groupMembers(cast.owner.api, group_id)).find(({ user_id }) => user_id === id),
      ).toMatchObject({ display_name: name })
      const after = await version()
      expect(after).toBeGreaterThan(Number(before))
      expect(await eventsOf(() => set(name))).toEqual([])
      expect(await version()).toBe(after)
      expect(await eventsOf(() => set(''))).toEqual([updated(id, 'display_name', '', [id])])
      await set('n'.repeat(256))
    })

    it('leave the group as old as it is', async () => {
      const { updated_at } = await info()
      for (const [path, params] of own) await expectSuccess(await call(path, params))
      expect((await info()).updated_at).toBe(updated_at)
    })

    it('tell of every change of a mode, and of the first and the last step of muting', async () => {
      const actor = cast.member.id
      const event = (kind: string, content = '') => ({ kind, actor, users: [actor], content })
      const setting = (content: object) => event('message_setting', JSON.stringify(content))
      const told = (path: string, params: object) =>
        eventsOf(async () => expectSuccess(await call(path, params)))
      const mute = (msg_mute_mode: number) => told('/group/msg/mute_mode', { msg_mute_mode })
      expect(await mute(0)).toEqual([])
      expect(await mute(1)).toEqual([setting({ msg_mute_mode: 1 }), event('muted')])
      expect(await mute(2)).toEqual([setting({ msg_mute_mode: 2 })])
      expect(await mute(2)).toEqual([])
      expect(await mute(0)).toEqual([setting({ msg_mute_mode: 0 }), event('unmuted')])
      expect(await told('/group/msg/not_disturb', { value: true })).toEqual([
        setting({ msg_mute_mode: 1 }),
        event('muted'),
      ])
      expect(await told('/group/msg/not_disturb', { value: false })).toEqual([
        setting({ msg_mute_mode: 0 }),
        event('unmuted'),
      ])
      expect(await told('/group/msg/push_mode', { msg_push_mode: 2 })).toEqual([
        setting({ msg_push_mode: 2 }),
      ])
      expect(await told('/group/msg/push_mode', { msg_push_mode: 2 })).toEqual([])
    })

    it('have modes of their own ranges', async () => {
      for (const msg_push_mode of [5, -1, 1000])
        expect(await call('/group/msg/push_mode', { msg_push_mode })).toMatchObject({
          code: answerCode.push_mode_out_of_range,
          data: null,
        })
      expect(await info()).toMatchObject({ msg_mute_mode: 0, msg_push_mode: 0 })
    })

    it('go with the membership', async () => {
      for (const [path, params] of own) await expectSuccess(await call(path, params))
      await expectSuccess(await call('/group/leave', {}))
      await expectSuccess(
        await groupCall(cast.owner.api, '/group/admin/member_join', group_id, {
          user_list: [cast.member.id],
        }),
      )
      expect(await info()).toMatchObject({ msg_mute_mode: 0, msg_push_mode: 0 })
      const entry = (await groupMembers(cast.owner.api, group_id)).find(
        ({ user_id }) => user_id === cast.member.id,
      )
      expect(entry).toMatchObject({ display_name: '' })
    })
  })
})
