/** The events of operations with what they say, and what their users must read again, on both databases. */
import { userChangeKind } from '@hermod/protocol'
import { type Api, anyBackend, type Json, type Session } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { aGroup, types } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { anApplication, broadcast } from '../support/messaging/broadcasts.js'
import { sendText } from '../support/messaging/messaging.js'

const { pins, profile, settings, devices, group, contact, contactRequest, joinRequests } =
  userChangeKind

/** Alice acts; bob is an ordinary member of her group. */
interface World {
  readonly alice: Session
  readonly bob: Session
  readonly guest: Session
  readonly group: number
  /** Without approval of joins. */
  readonly chatroom: number
  readonly admin: Api
}

/** An event as kind, users and the rest of its payload. */
type Told = readonly [kind: string, userIds: readonly number[], details: object]
/** What a user must read again: user, kind, ref. */
type Stale = readonly [userId: number, kind: number, ref: number]

interface Case {
  readonly name: string
  /** Runs before the events are recorded. */
  readonly prepare?: (world: World) => Promise<unknown>
  readonly act: (world: World) => Promise<unknown>
  readonly events: (world: World) => readonly Told[]
  readonly stale: (world: World) => readonly Stale[]
}

const post = (api: Api, path: string, body: object) => api.succeed('POST', path, { body })
const pin = ({ alice, group: conversation_id }: World) =>
  post(alice.api, '/user/conversation/pin', { conversation_id })
const pair = (a: number, b: number) => ({
  low_id: Math.min(a, b),
  high_id: Math.max(a, b),
  is_group: false,
})
const loginWith = ({ admin, alice: { id, password } }: World, userAgent: string) =>
  admin.succeed('POST', '/token/id', {
    body: { user_id: id, password, device_guid: 'guid' },
    headers: { 'user-agent': userAgent },
  })
const anything = expect.any(Number)
const ask = async ({ alice, bob }: World) => {
  await post(bob.api, '/user/authmode', { value: 1 })
  await post(alice.api, '/roster/apply', { user_id: bob.id, reason: 'hello' })
}

const cases: readonly Case[] = [
  {
    name: 'a pin names the conversation and changes the list of pins',
    act: pin,
    events: (w) => [['conversation.pinned', [w.alice.id], { conversation_id: w.group }]],
    stale: (w) => [[w.alice.id, pins, 0]],
  },
  {
    name: 'a pin of a pinned conversation makes no event',
    prepare: pin,
    act: pin,
    events: () => [],
    stale: () => [],
  },
  {
    name: 'unpinning a conversation that is not pinned makes no event',
    act: (w) => post(w.alice.api, '/user/conversation/unpin', { conversation_id: w.bob.id }),
    events: () => [],
    stale: () => [],
  },
  {
    name: 'a member who leaves a pinned group loses the pin',
    prepare: (w) => post(w.bob.api, '/user/conversation/pin', { conversation_id: w.group }),
    act: (w) => post(w.bob.api, '/group/leave', { group_id: w.group }),
    events: (w) => [
      ['group.left', [w.bob.id], { group_id: w.group, version: 3, member_count: 1 }],
      ['conversation.unpinned', [w.bob.id], { conversation_id: w.group }],
    ],
    stale: (w) => [
      [w.bob.id, group, w.group],
      [w.bob.id, pins, 0],
    ],
  },
  {
    name: 'the deletion of a direct conversation names its end',
    prepare: (w) => sendText(w.bob.api, w.alice.id, 'hello'),
    act: (w) =>
      w.alice.api.succeed('DELETE', '/message/conversation', {
        query: { conversation_id: w.bob.id },
      }),
    events: (w) => [
      [
        'conversation.deleted',
        [w.alice.id],
        { conversation: pair(w.alice.id, w.bob.id), hidden_msg_id: anything, seq: 1 },
      ],
    ],
    stale: () => [],
  },
  {
    name: 'the deletion of a group conversation names its end',
    prepare: (w) => sendText(w.bob.api, w.group, 'hello', { type: 2 }),
    act: (w) =>
      w.alice.api.succeed('DELETE', '/message/conversation', {
        query: { conversation_id: w.group },
      }),
    events: (w) => [
      [
        'conversation.deleted',
        [w.alice.id],
        {
          conversation: { low_id: w.group, high_id: w.group, is_group: true },
          hidden_msg_id: anything,
          seq: 1,
        },
      ],
    ],
    stale: () => [],
  },
  {
    name: 'the deletion of a conversation with broadcasts names the end of both logs',
    prepare: async (w) => {
      await sendText(w.bob.api, w.alice.id, 'hello')
      await broadcast(w.admin.admin({ userId: w.bob.id }), 'to all')
    },
    act: (w) =>
      w.alice.api.succeed('DELETE', '/message/conversation', {
        query: { conversation_id: w.bob.id },
      }),
    events: (w) => [
      [
        'conversation.deleted',
        [w.alice.id],
        {
          conversation: { low_id: -1, high_id: w.bob.id, is_group: false },
          hidden_msg_id: anything,
          seq: 1,
        },
      ],
      [
        'conversation.deleted',
        [w.alice.id],
        { conversation: pair(w.alice.id, w.bob.id), hidden_msg_id: anything, seq: 1 },
      ],
    ],
    stale: () => [],
  },
  {
    name: 'settings are named without their values',
    act: (w) =>
      post(w.alice.api, '/user/settings', {
        user_id: w.alice.id,
        auth_answer: 'a secret answer',
        auth_mode: 2,
      }),
    events: (w) => [
      ['user.settings_updated', [w.alice.id], { properties: ['auth_answer', 'auth_mode'] }],
    ],
    stale: (w) => [[w.alice.id, settings, 0]],
  },
  {
    name: 'push tags count as a setting',
    act: (w) => post(w.alice.api, '/user/push/tag', { tags: ['news'] }),
    events: (w) => [['user.settings_updated', [w.alice.id], { properties: ['push_tags'] }]],
    stale: (w) => [[w.alice.id, settings, 0]],
  },
  {
    name: 'a profile has the new values of its fields',
    act: (w) => post(w.alice.api, '/user/profile', { nick_name: 'Al', description: '' }),
    events: (w) => [
      [
        'user.info_updated',
        [w.alice.id],
        { properties: ['description', 'nick_name'], changed: { nick_name: 'Al', description: '' } },
      ],
    ],
    stale: (w) => [[w.alice.id, profile, 0]],
  },
  {
    name: 'a login on a known device with another user agent changes the list of devices',
    prepare: (w) => loginWith(w, 'one'),
    act: (w) => loginWith(w, 'two'),
    events: (w) => [
      ['user.device_logged_in', [w.alice.id], { device_sn: 1 }],
      ['user.device_updated', [w.alice.id], { device_sn: 1 }],
    ],
    stale: (w) => [[w.alice.id, devices, 0]],
  },
  {
    name: 'a contact request is new for both users',
    act: ask,
    events: (w) => [
      ['user.settings_updated', [w.bob.id], { properties: ['auth_mode'] }],
      ['contact.applied', [w.bob.id], { reason: 'hello' }],
    ],
    stale: (w) => [
      [w.alice.id, contactRequest, w.bob.id],
      [w.bob.id, contactRequest, w.alice.id],
      [w.bob.id, settings, 0],
    ],
  },
  {
    name: 'an accepted request changes contact and request of both users',
    prepare: ask,
    act: (w) => post(w.bob.api, '/roster/accept', { user_id: w.alice.id }),
    events: (w) => [['contact.accepted', [w.alice.id], {}]],
    stale: (w) => [
      [w.alice.id, contact, w.bob.id],
      [w.alice.id, contactRequest, w.bob.id],
      [w.bob.id, contact, w.alice.id],
      [w.bob.id, contactRequest, w.alice.id],
    ],
  },
  {
    name: 'a join names the end of the log, and answers the request in the lists of the managers',
    prepare: async (w) => {
      await sendText(w.alice.api, w.group, 'before', { type: 2 })
      await post(w.guest.api, '/group/apply', { group_id: w.group, reason: 'let me in' })
    },
    act: (w) =>
      post(w.alice.api, '/group/apply/handle', {
        group_id: w.group,
        user_id: w.guest.id,
        approval: true,
      }),
    events: (w) => [
      [
        'group.joined',
        [w.guest.id],
        {
          group_id: w.group,
          version: 3,
          log: { change: 1, seq: 1, msg_id: anything },
          member_count: 3,
          join_time: anything,
          history_visible: false,
        },
      ],
      ['group.request_accepted', [w.guest.id], { group_id: w.group, version: 3 }],
    ],
    stale: (w) => [
      [w.alice.id, joinRequests, w.group],
      [w.guest.id, group, w.group],
    ],
  },
  {
    name: 'a new owner may answer requests, and the former owner may not',
    act: (w) => post(w.alice.api, '/group/transfer', { group_id: w.group, new_owner: w.bob.id }),
    events: (w) => [
      [
        'group.owner_assigned',
        [w.bob.id],
        {
          group_id: w.group,
          version: 3,
          former_owner_id: w.alice.id,
          role: 2,
          expired_time: 0,
          updated_at: anything,
        },
      ],
    ],
    stale: (w) => [
      [w.alice.id, group, w.group],
      [w.alice.id, joinRequests, w.group],
      [w.bob.id, group, w.group],
      [w.bob.id, joinRequests, w.group],
    ],
  },
  {
    name: 'an own setting in a group keeps the version',
    act: (w) => post(w.bob.api, '/group/msg/push_mode', { group_id: w.group, msg_push_mode: 1 }),
    events: (w) => [
      [
        'group.message_setting',
        [w.bob.id],
        { group_id: w.group, version: 2, setting: { msg_push_mode: 1 } },
      ],
    ],
    stale: (w) => [[w.bob.id, group, w.group]],
  },
  {
    name: 'a dissolution writes nothing for its members',
    act: (w) => post(w.alice.api, '/group/destroy', { group_id: w.group }),
    events: (w) => [
      ['group.destroyed', [], { group_id: w.group, version: 3, updated_at: anything }],
    ],
    stale: () => [],
  },
  {
    name: 'members of a chatroom come and go without a new version',
    prepare: (w) => post(w.bob.api, '/group/apply', { group_id: w.chatroom }),
    act: (w) => post(w.bob.api, '/group/leave', { group_id: w.chatroom }),
    events: (w) => [
      ['group.left', [w.bob.id], { group_id: w.chatroom, version: 2, member_count: 1 }],
      ['group.absence', [w.bob.id], { group_id: w.chatroom, version: 2 }],
    ],
    stale: (w) => [[w.bob.id, group, w.chatroom]],
  },
  {
    name: 'a block changes the contact of the actor alone',
    act: (w) => post(w.alice.api, '/roster/block', { user_id: w.bob.id }),
    events: (w) => [['contact.blocked', [w.bob.id], {}]],
    stale: (w) => [[w.alice.id, contact, w.bob.id]],
  },
]

describe.each(anyBackend())('events of operations on $name', (backend) => {
  const server = ownServer(backend)

  async function newWorld(): Promise<World> {
    const admin = await anApplication(server)
    const [alice, bob, guest] = await Promise.all([
      admin.newSession(),
      admin.newSession(),
      admin.newSession(),
    ])
    const group = await aGroup(alice, { members: [bob] })
    const chatroom = await aGroup(alice, { more: { type: types.chatroom } })
    const open = { group_id: chatroom, apply_approval: 0 }
    await post(alice.api, '/group/settings/require_admin_approval', open)
    return { admin, alice, bob, guest, group, chatroom }
  }

  const head = async ({ admin }: World) =>
    Number(
      (
        await server.sql.run(
          `select position from outbox_heads where app_id = '${admin.options.appId}'`,
        )
      )[0]?.position ?? 0,
    )

  async function eventsAfter({ admin }: World, position: number): Promise<Told[]> {
    const rows = await server.sql.run(
      `select kind, payload from outbox where app_id = '${admin.options.appId}' and position > ${position} order by position`,
    )
    return rows.map(({ kind, payload }) => {
      const { actor_id: _, user_ids, ...details }: Json = JSON.parse(String(payload))
      return [String(kind), user_ids, details]
    })
  }

  async function staleAfter({ admin }: World, position: number): Promise<Stale[]> {
    const rows = await server.sql.run(
      `select user_id, kind, ref from user_changes where app_id = '${admin.options.appId}' and position > ${position}
          order by user_id, kind, ref`,
    )
    return rows.map(({ user_id, kind, ref }) => [Number(user_id), Number(kind), Number(ref)])
  }

  it.each(cases)('$name', async ({ prepare, act, events, stale }) => {
    const world = await newWorld()
    await prepare?.(world)
    const before = await head(world)
    await act(world)
    expect(await eventsAfter(world, before)).toEqual(events(world))
    expect(await staleAfter(world, before)).toEqual(
      [...stale(world)].sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]),
    )
  })
})
