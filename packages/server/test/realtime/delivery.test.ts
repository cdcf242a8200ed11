/** The events that connected devices receive, and the sessions that events end. */
import {
  anyBackend,
  type Backend,
  GatewayClient,
  type GatewayEvent,
  type Json,
  type Session,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall, groupEventsOf } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { FieldChanges } from '../support/messaging/field-changes.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import { sendText } from '../support/messaging/messaging.js'

let devices = 0

describe('delivery to connected devices', () => {
  const [backend] = anyBackend() as [Backend]
  const server = ownServer(backend)

  const users = (count: number): Promise<Session[]> =>
    Promise.all(Array.from({ length: count }, () => server.api.newSession()))

  async function connect(
    session: Session,
    {
      pos,
      deviceGuid,
      features,
    }: {
      readonly pos?: string
      readonly deviceGuid?: string
      readonly features?: readonly string[]
    } = {},
  ) {
    const client = await GatewayClient.connect(server.url)
    const { data } = await client.open({
      appId: server.appId,
      accessToken: session.token,
      ...(pos !== undefined && { pos }),
      ...(deviceGuid !== undefined && { deviceGuid }),
      ...(features !== undefined && { features }),
    })
    return Object.assign(client, { state: data })
  }

  /** The events up to now: a message to each client comes after them. */
  async function eventsOf(...clients: [GatewayClient, Session][]): Promise<GatewayEvent[][]> {
    return Promise.all(
      clients.map(async ([client, { id }]) => {
        const content = `end ${++devices}`
        await sendText(server.api.admin(), id, content)
        await client.next(({ data }) => (data as { content?: string })?.content === content)
        return client.events.filter(
          ({ data }) => !(data as { content?: string } | undefined)?.content?.startsWith('end '),
        )
      }),
    )
  }

  const kinds = (events: readonly GatewayEvent[] = []) => events.map(({ event }) => event)

  it('a message reaches all devices of both parties with its number, and its transaction ID those of the sender', async () => {
    const [alice, bob, carol] = (await users(3)) as [Session, Session, Session]
    using a = await connect(alice)
    using otherA = await connect(alice)
    using b = await connect(bob)
    using c = await connect(carol)
    const first = await sendText(alice.api, bob.id, 'one', { transaction_id: '9007199254740993' })
    const second = await sendText(bob.api, alice.id, 'two')
    const all = await eventsOf([a, alice], [otherA, alice], [b, bob], [c, carol])
    const stored = all.map((events) => events.filter(({ event }) => event === 'message.stored'))
    for (const events of stored.slice(0, 3))
      expect(events).toMatchObject([
        { change: 1, data: { msg_id: first, seq: 1, content: 'one', sender_id: alice.id } },
        { change: 2, data: { msg_id: second, seq: 2, content: 'two' } },
      ])
    const transactions = stored.map(
      ([event]) => (event?.data as Record<string, unknown>)?.transaction_id,
    )
    expect(transactions).toEqual(['9007199254740993', '9007199254740993', undefined, undefined])
    expect(all[3]).toEqual([])
  })

  it('an edit has the whole message, and a recall names it', async () => {
    const [alice, bob] = (await users(2)) as [Session, Session]
    using b = await connect(bob)
    const message = await sendText(alice.api, bob.id, 'befor')
    await operate(alice.api, 'append', { peer: bob.id, message, content: 'e' })
    await recall(alice.api, bob.id, message)
    const [events = []] = await eventsOf([b, bob])
    expect(events).toMatchObject([
      { event: 'message.stored', change: 1 },
      { event: 'message.appended', change: 2 },
      { event: 'message.recalled', change: 3, data: { msg_id: message, seq: 1 } },
    ])
  })

  it('changed fields reach sessions that announce message.updated as such, and others with the whole message', async () => {
    const [alice, bob] = (await users(2)) as [Session, Session]
    const features = ['message.updated', 'something.later']
    using a = await connect(alice)
    using b = await connect(bob, { features })
    using earlier = await connect(bob)
    expect(b.state.features).toContain('message.updated')
    const messageId = await sendText(alice.api, bob.id, 'text', { transaction_id: '77' })
    await using changes = new FieldChanges(server.place)
    const pinned = { by: alice.id, at: 1_000 }
    const reacted = [{ user_id: bob.id, key: 'x', on: true }]
    const actor = { messageId, actorId: alice.id, reacted }
    const parties = [alice.id, bob.id] as const
    await changes.direct(server.appId, parties, { ...actor, set: { pinned } })
    await changes.direct(server.appId, parties, { ...actor, set: { pinned: null } })
    const all = await Promise.all(
      [a, b, earlier].map(async (client) => {
        await client.next(({ change }) => change === 3)
        return client.events.filter(({ change = 0 }) => change > 1)
      }),
    )
    const named = { actor_id: alice.id, msg_id: messageId, seq: 1 }
    expect(all[1]).toMatchObject([
      { event: 'message.updated', change: 2, data: { ...named, reacted } },
      { event: 'message.updated', change: 3, data: { ...named, set: { pinned: null } } },
    ])
    expect(JSON.stringify(all[1])).not.toContain('content')
    const whole = { ...named, content: 'text', edit_timestamp: 0 }
    expect(all[2]).toMatchObject([
      { event: 'message.replaced', change: 2, data: whole },
      { event: 'message.replaced', change: 3, data: whole },
    ])
    // The transaction ID is for devices of the sender.
    const own = all[0]?.map(({ event, data }) => [event, (data as Json).transaction_id])
    expect(own).toEqual(Array(2).fill(['message.replaced', '77']))
    expect(JSON.stringify(all[2])).not.toContain('transaction_id')
  })

  it('members of a group receive its messages, one with msg_mute_mode 2 none, and a removed one nothing after the removal', async () => {
    const [owner, member, muted, leaver] = (await users(4)) as [Session, Session, Session, Session]
    const group = await aGroup(owner, { members: [member, muted, leaver] })
    await expectSuccess(
      await groupCall(muted.api, '/group/msg/mute_mode', group, { msg_mute_mode: 2 }),
    )
    using a = await connect(owner)
    using b = await connect(member)
    using c = await connect(muted)
    using d = await connect(leaver)
    await sendToGroup(owner.api, group, 'one')
    expectSuccess(await groupCall(owner.api, '/group/kick', group, { user_list: [leaver.id] }))
    await sendToGroup(member.api, group, 'two')
    const all = await eventsOf([a, owner], [b, member], [c, muted], [d, leaver])
    expect(kinds(all[0])).toEqual(['message.stored', 'group.kicked', 'message.stored'])
    expect(kinds(all[1])).toEqual(kinds(all[0]))
    expect(kinds(all[2])).toEqual(['group.kicked'])
    expect(kinds(all[3])).toEqual(['message.stored', 'group.kicked'])
  })

  it('a new member receives nothing from before the join, and only the number of a change of an older message', async () => {
    const [owner, newcomer] = (await users(2)) as [Session, Session]
    const group = await aGroup(owner)
    using a = await connect(owner)
    using b = await connect(newcomer)
    const old = await sendToGroup(owner.api, group, 'old')
    expectSuccess(
      await groupCall(owner.api, '/group/admin/member_join', group, { user_list: [newcomer.id] }),
    )
    await operate(owner.api, 'replace', { peer: group, message: old, type: 2, content: 'new text' })
    await sendToGroup(owner.api, group, 'after')
    const all = await eventsOf([a, owner], [b, newcomer])
    expect(all[1]).toMatchObject([
      { event: 'group.joined', data: { log: { change: 1, seq: 1, msg_id: old } } },
      { event: 'change.skipped', change: 2 },
      { event: 'message.stored', change: 3 },
    ])
    expect(JSON.stringify(all[1])).not.toContain('new text')
    expect(all[0]?.filter(({ event }) => event === 'message.replaced')).toMatchObject([
      { change: 2, data: { content: 'new text' } },
    ])
  })

  it('a new member who sees the history, alone on its node, receives a change of an older message', async () => {
    const [owner, newcomer] = (await users(2)) as [Session, Session]
    const group = await aGroup(owner)
    const switched = { value: true }
    expectSuccess(await groupCall(owner.api, '/group/settings/history_visible', group, switched))
    const old = await sendToGroup(owner.api, group, 'old')
    using client = await connect(newcomer)
    expectSuccess(
      await groupCall(owner.api, '/group/admin/member_join', group, { user_list: [newcomer.id] }),
    )
    await operate(owner.api, 'replace', { peer: group, message: old, type: 2, content: 'new text' })
    const [events = []] = await eventsOf([client, newcomer])
    expect(events).toMatchObject([
      { event: 'group.joined', data: { history_visible: true, log: { msg_id: old } } },
      { event: 'message.replaced', change: 2, data: { content: 'new text' } },
    ])
  })

  it('a hidden display name reaches owner, admins and the named member, and others get only the version', async () => {
    const [owner, admin, named, member] = (await users(4)) as [Session, Session, Session, Session]
    const group = await aGroup(owner, { members: [named, member], admins: [admin] })
    const hide = (value: boolean) =>
      groupCall(owner.api, '/group/settings/hide_member_info', group, { value })
    const rename = async (value: string) =>
      expectSuccess(await groupCall(named.api, '/group/display_name', group, { value }))
    const allow = (hide_member_info: boolean) =>
      server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', {
        body: { app_id: server.appId, settings: { hide_member_info } },
      })
    using a = await connect(owner)
    using b = await connect(admin)
    using c = await connect(named)
    using d = await connect(member)
    await rename('shown')
    expectSuccess(await hide(true))
    await rename('hidden')
    await allow(false)
    await rename('allowed').finally(() => allow(true))
    const all = await eventsOf([a, owner], [b, admin], [c, named], [d, member])
    const [whole, , , others] = all.map((events) =>
      events
        .map(({ data }) => data as Record<string, unknown>)
        .filter(({ property }) => property === 'display_name'),
    )
    const { version } = whole?.[1] ?? {}
    const about = { actor_id: named.id, user_ids: [named.id], group_id: group }
    const hidden = { ...about, version, property: 'display_name', is_hidden: true }
    expect(whole).toMatchObject([{ value: 'shown' }, { value: 'hidden' }, { value: 'allowed' }])
    expect(all.slice(1, 3)).toEqual([all[0], all[0]])
    expect(others).toEqual([whole?.[0], hidden, whole?.[2]])
    const logged = await groupEventsOf(server.sql, group)
    expect(JSON.stringify(logged)).toContain('hidden')
  })

  it('a block reaches the other devices of the blocking user only', async () => {
    const [alice, bob] = (await users(2)) as [Session, Session]
    using a = await connect(alice)
    using b = await connect(bob)
    await alice.api.succeed('POST', '/roster/block', { body: { user_id: bob.id } })
    const all = await eventsOf([a, alice], [b, bob])
    expect(all.map(kinds)).toEqual([['contact.blocked'], []])
  })

  it('session.open: is current with a pos after which nothing concerned the user, and else not', async () => {
    const [alice, bob] = (await users(2)) as [Session, Session]
    using first = await connect(alice, { pos: '' })
    expect(first.state.sync).toBe('needed')
    await sendText(bob.api, bob.id, 'for itself')
    const { pos } = (await first.succeed('message.sync', { after: '' })).data
    await sendText(bob.api, bob.id, 'for itself')
    using second = await connect(alice, { pos })
    expect(second.state.sync).toBe('current')
    using third = await connect(alice, { pos: second.state.pos })
    expect(third.state.sync).toBe('current')
    await sendText(bob.api, alice.id, 'missed')
    using fourth = await connect(alice, { pos: second.state.pos })
    expect(fourth.state).toMatchObject({ sync: 'needed' })
    using fifth = await connect(alice, { pos: pos.replace(/^[^.]+/, 'another-epoch') })
    expect(fifth.state).toMatchObject({ sync: 'reset' })
  })

  it('a device that does not read is asked to sync, and the others receive all', async () => {
    const [alice, bob] = (await users(2)) as [Session, Session]
    using slow = await connect(alice)
    using reader = await connect(alice)
    slow.pause()
    const text = 'x'.repeat(30_000)
    // More than the buffers of both kernels take.
    const count = 300
    for (let sent = 0; sent < count; sent += 30)
      await Promise.all(Array.from({ length: 30 }, () => sendText(bob.api, alice.id, text)))
    await eventsOf([reader, alice])
    slow.resume()
    await slow.next('sync.needed')
    const stored = (client: GatewayClient) =>
      client.events.filter(({ event }) => event === 'message.stored').length
    expect(stored(reader)).toBe(count + 1)
    expect(stored(slow)).toBeLessThan(count)
    await sendText(bob.api, alice.id, 'later')
    await slow.next(({ data }) => (data as { content?: string })?.content === 'later')
  })

  it('joins of a group above 200 members within a second come as one event', async () => {
    const [owner, watcher] = (await users(2)) as [Session, Session]
    const accounts = await server.api.addUsers(Array.from({ length: 207 }, (_, n) => `crowd_${n}`))
    const ids = accounts.map(({ id }) => id)
    const group = await aGroup(owner, { members: [watcher] })
    const join = async (from: number, to: number) =>
      expectSuccess(
        await groupCall(owner.api, '/group/admin/member_join', group, {
          user_list: ids.slice(from, to),
        }),
      )
    await join(0, 201)
    using client = await connect(watcher)
    await join(201, 204)
    await join(204, 207)
    const few = await client.next('group.joined')
    expect(few.data).toMatchObject({ count: 6, user_ids: ids.slice(201, 207) })
  })

  describe('sessions end', () => {
    async function closeAfter(
      act: (user: Session, deviceSn: number) => Promise<unknown>,
    ): Promise<readonly [number, string]> {
      const user = await server.api.newSession()
      using client = await connect(user, { deviceGuid: `device-${++devices}` })
      await act(user, client.state.device_sn)
      const closing = await client.next('session.closing')
      const { code } = await client.closed()
      const data = closing.data as { readonly code: number; readonly reason: string }
      expect(data.code).toBe(code)
      return [code, data.reason]
    }

    it('on a kick of the device and of all devices', async () => {
      const kicked = [4501, 'kicked']
      const kick = (body: object) => (user: Session) =>
        user.api.succeed('POST', '/user/kick', { body })
      expect(await closeAfter((user, device_sn) => kick({ device_sn })(user))).toEqual(kicked)
      expect(await closeAfter(kick({}))).toEqual(kicked)
    })

    it('on the removal of the device', async () => {
      const remove = (user: Session, device_sn: number) =>
        user.api.succeed('POST', '/user/device/remove', { body: { device_sn } })
      expect(await closeAfter(remove)).toEqual([4501, 'device_removed'])
    })

    it('on another password, except the one that changed it', async () => {
      const user = await server.api.newSession()
      const other = await server.api.sessionOf(user)
      using stays = await connect(user)
      using ends = await connect(other)
      await user.api.succeed('POST', '/user/change_password', {
        body: { old_password: user.password, new_password: 'another one 1' },
      })
      const closing = await ends.next('session.closing')
      expect(closing.data).toEqual({ code: 4502, reason: 'password_changed' })
      const [events] = await eventsOf([stays, user])
      expect(kinds(events)).toEqual(['user.password_changed'])
    })

    it('when the user is disabled or deleted', async () => {
      const disable = (user: Session) =>
        server.api.admin().succeed('PUT', '/user/disable', { body: { list: [user.id] } })
      expect(await closeAfter(disable)).toEqual([4503, 'user_disabled'])
      const remove = (user: Session) =>
        server.api.admin({ userId: user.id }).succeed('POST', '/user/delete', { body: {} })
      expect(await closeAfter(remove)).toEqual([4504, 'user_deleted'])
    })

    it('and a login that follows a kick at once stays', async () => {
      const user = await server.api.newSession()
      await user.api.succeed('POST', '/user/kick', { body: {} })
      using client = await connect(await server.api.sessionOf(user))
      const [events] = await eventsOf([client, user])
      expect(kinds(events)).not.toContain('session.closing')
    })

    it('when the application is disabled', async () => {
      const setStatus = (status: number) =>
        server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', {
          body: { app_id: server.appId, status },
        })
      expect(await closeAfter(() => setStatus(1))).toEqual([4506, 'application_disabled'])
      await setStatus(0)
    })
  })
})
