import { userChangeKind } from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import { CoreBench } from '../../../test/support/core-bench.js'
import { CachedReads } from './cached-reads.js'
import { kinds, parseKey } from './kinds.js'
import { keysOfChange } from './stale.js'

class Bench extends CoreBench {
  static create(): Bench {
    return new Bench({
      parts: (context) => {
        const cached = new CachedReads(context)
        return [
          cached,
          // A test calls CachedReads as Sync does, within a step.
          {
            event: ({ event, data }) => {
              const { kind = 0, ref = 0, version = 0 } = data as Readonly<Record<string, number>>
              if (event === 'changed') cached.changed(kind, ref)
              else if (event === 'head') cached.groupVersion(ref, version)
            },
          },
        ]
      },
    })
  }

  want(keys: readonly string[], caller = 'tab'): string {
    const id = this.command({ type: 'watch', caller, keys })
    this.advance(200)
    return id
  }

  value(key: string): unknown {
    return this.stored.cached.get(key)?.value
  }

  isStale(key: string): boolean | undefined {
    return this.stored.cached.get(key)?.isStale
  }
}

const opened = (keys: readonly string[]) => {
  const bench = Bench.create()
  bench.open()
  bench.want(keys)
  return bench
}

const groupEvent = (members: object) => ({ actor_id: 9, user_ids: [8], group_id: 7, ...members })

describe('cached reads', () => {
  it('are read when they are wanted, and kept', () => {
    const bench = opened(['profile'])
    bench.answer(bench.take('user.profile.get'), { nick_name: 'Al' })
    expect(bench.value('profile')).toEqual({ nick_name: 'Al' })
    bench.restart()
    bench.open()
    bench.want(['profile'])
    expect(bench.calls).toEqual([])
  })

  it('are read when the session opens', () => {
    const bench = Bench.create()
    bench.want(['groups'])
    expect(bench.calls).toEqual([])
    bench.open()
    bench.advance(20)
    bench.answer(bench.take('group.user_joined'), [7])
    expect(bench.value('groups')).toEqual([7])
  })

  it('are read after a refusal has ended a back-off', () => {
    const bench = opened(['group.7'])
    bench.refuse(bench.take('group.info.batch'), 50_300, 'unavailable', { retry: true })
    bench.advance(5_000)
    bench.refuse(bench.take('group.info.batch'), 20_000, 'group_not_found')
    bench.want(['group.7', 'profile'])
    expect(bench.take('user.profile.get')).toBeDefined()
  })

  it('of a group are read again for a new version, also when the group was read before', () => {
    const bench = opened(['group.7', 'members.7'])
    bench.answer(bench.take('group.member_list'), [])
    bench.answer(bench.take('group.info.batch'), [{ group_id: 7, version: 3 }])
    bench.event('head', { ref: 7, version: 3 })
    expect([bench.isStale('group.7'), bench.isStale('members.7')]).toEqual([false, true])
  })

  it('of one kind are read with one call; missing ones are null', () => {
    const bench = opened(['user.1', 'user.2', 'profile', 'user.3'])
    const call = bench.take('contact.find')
    expect(call.data).toEqual({ list: [1, 2, 3] })
    bench.answer(call, [
      { user_id: 3, username: 'c' },
      { user_id: 1, username: 'a' },
    ])
    expect(bench.value('user.1')).toEqual({ user_id: 1, username: 'a' })
    expect(bench.value('user.2')).toBeNull()
    expect(bench.value('user.3')).toEqual({ user_id: 3, username: 'c' })
  })

  it('with pages are read to the end', () => {
    const bench = opened(['contacts'])
    bench.answer(bench.take('contact.list'), [1, 2], { cursor: 'x' })
    const second = bench.take('contact.list')
    expect(second.data).toEqual({ cursor: 'x' })
    bench.answer(second, [3])
    expect(bench.value('contacts')).toEqual([1, 2, 3])
  })

  it('are members with their roles, page by page', () => {
    const bench = opened(['members.7'])
    bench.answer(bench.take('group.member_list'), [{ user_id: 1 }, { user_id: 2 }], { cursor: 'x' })
    const roles = bench.take('group.members.info')
    expect(roles.data).toEqual({ group_id: 7, user_list: [1, 2] })
    bench.answer(roles, [
      { user_id: 1, role: 2 },
      { user_id: 2, role: 0 },
    ])
    bench.answer(bench.take('group.member_list'), [])
    expect(bench.value('members.7')).toEqual([
      { user_id: 1, role: 2 },
      { user_id: 2, role: 0 },
    ])
  })

  it('keep their value when a new read says the same', () => {
    const bench = opened(['pins'])
    bench.answer(bench.take('user.conversation.pin_list'), { conversation_ids: [1] })
    const value = bench.value('pins')
    bench.event('conversation.pinned', { actor_id: 5, user_ids: [5], conversation_id: 1 })
    bench.advance(200)
    bench.answer(bench.take('user.conversation.pin_list'), { conversation_ids: [1] })
    expect(bench.value('pins')).toBe(value)
  })

  it('refuse keys that they do not know', () => {
    const bench = opened([])
    for (const key of ['user', 'user.x', 'user.1.2', 'nothing', 'toString', 'profile.1'])
      expect(bench.failures.get(bench.want([key]))?.message).toContain(key)
  })
})

describe('a group of 5,000 members', () => {
  const member = (user_id: number, more: object = {}) => ({
    display_name: '',
    expired_time: 0,
    join_time: 1,
    user_id,
    is_bot: false,
    role: 0,
    ...more,
  })
  const shown = () => {
    const bench = opened(['group.7', 'members.7', 'joinRequests.7', 'groups', 'invitations'])
    const group = { group_id: 7, type: 0, name: 'Old', count: 5_000, version: 3 }
    bench.answer(bench.take('group.info.batch'), [group])
    bench.answer(bench.take('group.member_list'), [{ user_id: 5 }, { user_id: 9 }])
    bench.answer(bench.take('group.members.info'), [member(5), member(9, { role: 2 })])
    bench.answer(bench.take('group.application_list'), [{ group_id: 7, applicant_id: 6 }])
    bench.answer(bench.take('group.user_joined'), [7])
    bench.answer(bench.take('group.invitation_list'), [])
    return bench
  }
  const rename = { user_ids: [], property: 'name', value: 'New', updated_at: 8 }

  it.each<[event: string, data: object, group: object, members: object[]]>([
    ['info_updated', rename, { name: 'New', updated_at: 8 }, []],
    [
      'joined',
      { member_count: 5_001, join_time: 4 },
      { count: 5_001 },
      [member(8, { join_time: 4 })],
    ],
    ['kicked', { user_ids: [9], member_count: 4_999 }, { count: 4_999 }, [undefined as never]],
    ['admin_granted', { user_ids: [9], role: 1 }, {}, [member(9, { role: 1 })]],
    [
      'owner_assigned',
      { user_ids: [9], former_owner_id: 4, role: 2, expired_time: 0, updated_at: 8 },
      { owner_id: 9, owner: 9, updated_at: 8 },
      [member(9, { role: 2 })],
    ],
    [
      'banned',
      { user_ids: [9], minutes: 1, expired_time: 6 },
      {},
      [member(9, { role: 2, expired_time: 6 })],
    ],
    [
      'info_updated',
      { user_ids: [9], property: 'display_name', value: 'Al' },
      {},
      [member(9, { role: 2, display_name: 'Al' })],
    ],
    ['info_updated', { user_ids: [9], property: 'display_name', is_hidden: true }, {}, []],
    ['announcement_updated', { user_ids: [], title: 'x', is_deleted: false }, {}, []],
    ['unblocked', { user_ids: [9] }, {}, []],
  ])('takes the next event from its payload, without a call: %s', (event, data, group, members) => {
    const bench = shown()
    bench.event(`group.${event}`, { ...groupEvent(data), version: 4 })
    bench.event('head', { ref: 8, version: 4 })
    bench.advance(60_000)
    expect(bench.calls).toEqual([])
    expect(bench.value('group.7')).toMatchObject({
      name: 'Old',
      count: 5_000,
      ...group,
      version: 4,
    })
    const byId = new Map([member(5), member(9, { role: 2 })].map((each) => [each.user_id, each]))
    if (members[0] === undefined && event === 'kicked') byId.delete(9)
    for (const each of members)
      if (each) byId.set((each as { user_id: number }).user_id, each as never)
    const expected = [...byId.values()].sort((a, b) => a.user_id - b.user_id)
    expect(JSON.stringify(bench.value('members.7'))).toBe(JSON.stringify(expected))
  })

  it('is read once, after up to 10 s, when an event is missing', () => {
    const bench = shown()
    for (const version of [5, 6, 7]) {
      bench.event('group.info_updated', { ...groupEvent(rename), version })
      bench.advance(1_000)
    }
    expect([bench.isStale('group.7'), bench.isStale('members.7')]).toEqual([true, true])
    expect(bench.calls).toEqual([])
    bench.advance(3_000)
    expect(bench.calls.map(({ op }) => op).sort()).toEqual([
      'group.application_list',
      'group.info.batch',
      'group.member_list',
    ])
    bench.answer(bench.take('group.info.batch'), [{ group_id: 7, count: 5_000, version: 7 }])
    expect(bench.isStale('group.7')).toBe(false)
  })

  it('is not read after a missing event once no view shows it', () => {
    const bench = shown()
    bench.event('group.info_updated', { ...groupEvent(rename), version: 6 })
    bench.want([])
    bench.advance(60_000)
    expect(bench.calls).toEqual([])
  })

  it('is read at once by a view that is opened after a missing event', () => {
    const bench = shown()
    bench.want([])
    bench.event('group.info_updated', { ...groupEvent(rename), version: 6 })
    bench.want(['group.7'])
    expect(bench.calls.map(({ op }) => op)).toEqual(['group.info.batch'])
  })

  it('is read after its wait, although a failed read was to be tried again within the wait', () => {
    const bench = shown()
    bench.want([])
    bench.event('group.info_updated', { ...groupEvent(rename), version: 6 })
    bench.want(['group.7'])
    const call = bench.take('group.info.batch')
    bench.event('head', { ref: 7, version: 8 })
    bench.refuse(call, 20000, 'storage_failed', { retry: true })
    bench.advance(20_000)
    bench.answer(bench.take('group.info.batch'), [{ group_id: 7, count: 5_000, version: 8 }])
    expect(bench.isStale('group.7')).toBe(false)
  })

  it('takes joins of a second as one step, and reads members whose time of joining is not known', () => {
    const bench = shown()
    const joins = { user_ids: [6, 8], count: 2, since_version: 3, member_count: 5_002 }
    bench.event('group.joined', { ...groupEvent(joins), version: 5 })
    expect(bench.value('group.7')).toMatchObject({ count: 5_002, version: 5 })
    expect([bench.isStale('group.7'), bench.isStale('members.7')]).toEqual([false, true])
    // One of them had asked to join.
    expect(bench.isStale('joinRequests.7')).toBe(true)
  })

  it('has another owner, roles and requests when they concern the own user', () => {
    const bench = shown()
    bench.event('group.admin_granted', { ...groupEvent({ user_ids: [5] }), version: 4 })
    expect([bench.isStale('members.7'), bench.isStale('joinRequests.7')]).toEqual([true, true])
    expect([bench.isStale('group.7'), bench.isStale('groups')]).toEqual([false, false])
    bench.event('group.kicked', { ...groupEvent({ user_ids: [5] }), version: 5 })
    expect([bench.isStale('group.7'), bench.isStale('groups')]).toEqual([true, true])
  })

  it('that is dissolved leaves the list of groups, and has no members and no requests', () => {
    const bench = shown()
    bench.event('group.destroyed', { ...groupEvent({ user_ids: [], updated_at: 8 }), version: 4 })
    expect(bench.value('groups')).toEqual([])
    expect(bench.value('group.7')).toMatchObject({ status: 1, updated_at: 8, version: 4 })
    expect([bench.value('members.7'), bench.value('joinRequests.7')]).toEqual([[], []])
    expect(bench.calls).toEqual([])
  })
})

it('joins of a chatroom count its members, and leave its version', () => {
  const bench = opened(['group.7'])
  const room = { group_id: 7, type: 2, count: 3, version: 3 }
  bench.answer(bench.take('group.info.batch'), [room])
  bench.event('group.joined', { ...groupEvent({ member_count: 4, join_time: 1 }), version: 3 })
  expect(bench.value('group.7')).toEqual({ ...room, count: 4 })
  bench.advance(60_000)
  expect(bench.calls).toEqual([])
})

describe('a stale thing', () => {
  it('is read again when it is wanted, and marked in any case', () => {
    const bench = opened(['settings'])
    bench.answer(bench.take('user.settings.get'), {})
    bench.want([])
    bench.event('user.settings_updated', { actor_id: 5, user_ids: [5], properties: [] })
    bench.advance(200)
    expect(bench.isStale('settings')).toBe(true)
    expect(bench.calls).toEqual([])
    bench.want(['settings'])
    bench.answer(bench.take('user.settings.get'), {})
    expect(bench.isStale('settings')).toBe(false)
  })

  it('is read again when it turns stale while it is read', () => {
    const bench = opened(['devices'])
    const call = bench.take('user.device.list')
    bench.event('user.device_added', { actor_id: 5, user_ids: [5], device_sn: 2 })
    bench.answer(call, [1])
    expect(bench.isStale('devices')).toBe(true)
    bench.advance(200)
    bench.answer(bench.take('user.device.list'), [1, 2])
    expect(bench.isStale('devices')).toBe(false)
  })

  it('is one of a user change of a sync', () => {
    const bench = opened(['user.9', 'contacts'])
    bench.answer(bench.take('contact.find'), [{ user_id: 9 }])
    bench.answer(bench.take('contact.list'), [])
    bench.event('changed', { kind: userChangeKind.contact, ref: 9 })
    bench.advance(200)
    expect(bench.calls.map(({ op }) => op)).toEqual(['contact.find', 'contact.list'])
  })

  it('is a group with a head of a version above the one that was read', () => {
    const bench = opened(['group.7'])
    bench.answer(bench.take('group.info.batch'), [{ group_id: 7, count: 2, version: 4 }])
    bench.event('head', { ref: 7, version: 4 })
    bench.advance(200)
    expect(bench.calls).toEqual([])
    bench.event('head', { ref: 7, version: 6 })
    bench.advance(300)
    bench.take('group.info.batch')
  })

  it('is a group whose own settings have changed without a version', () => {
    const bench = opened(['group.7'])
    bench.answer(bench.take('group.info.batch'), [{ group_id: 7, version: 3 }])
    bench.event('group.muted', groupEvent({ user_ids: [5], version: 3 }))
    expect(bench.isStale('group.7')).toBe(true)
  })

  it('is everything when the history of the server was replaced', () => {
    const bench = opened(['profile'])
    bench.answer(bench.take('user.profile.get'), { nick_name: 'Al' })
    bench.cut()
    bench.epoch = 'restored'
    bench.open()
    expect(bench.stored.cached.size).toBe(0)
    bench.advance(200)
    bench.answer(bench.take('user.profile.get'), { nick_name: 'Old' })
    expect(bench.value('profile')).toEqual({ nick_name: 'Old' })
  })
})

describe('a read that fails', () => {
  it('is repeated after its time, and after the end of the connection', () => {
    const bench = opened(['profile'])
    const busy = { retry: true, retry_after_ms: 40_000 }
    bench.refuse(bench.take('user.profile.get'), 42900, 'too_many_requests', busy)
    bench.advance(39_000)
    expect(bench.calls).toEqual([])
    bench.advance(1_000)
    bench.take('user.profile.get')
    bench.cut()
    bench.open()
    bench.advance(20)
    bench.answer(bench.take('user.profile.get'), {})
    expect(bench.value('profile')).toEqual({})
  })

  it('as not found or not allowed gives an empty value', () => {
    const bench = opened(['group.7', 'members.7'])
    bench.answer(bench.take('group.info.batch'), [])
    bench.refuse(bench.take('group.member_list'), 20011, 'member_required')
    expect(bench.value('group.7')).toBeNull()
    expect(bench.value('members.7')).toEqual([])
    bench.advance(100_000)
    expect(bench.calls).toEqual([])
  })

  it('for another reason, or with nonsense, keeps the value until the next session', () => {
    const bench = opened(['contacts', 'profile'])
    bench.answer(bench.take('contact.list'), 'nonsense')
    bench.refuse(bench.take('user.profile.get'), 50000, 'internal_error')
    bench.advance(100_000)
    expect(bench.stored.cached.size).toBe(0)
    expect(bench.calls).toEqual([])
    bench.cut()
    bench.open()
    bench.advance(20)
    expect(bench.calls).toHaveLength(2)
  })
})

it('four reads run side by side', () => {
  const bench = opened([1, 2, 3, 4, 5, 6].map((id) => `members.${id}`))
  expect(bench.calls).toHaveLength(4)
  bench.answer(bench.take('group.member_list'), [])
  expect(bench.calls.map((call) => call.data.group_id)).toEqual([2, 3, 4, 5])
})

it('users are read again once after a start, since their names send no event', () => {
  const bench = opened(['user.1'])
  bench.answer(bench.take('contact.find'), [{ user_id: 1, nick_name: 'Al' }])
  bench.restart()
  bench.open()
  bench.want(['user.1'])
  const record = bench.stored.cached.get('user.1')
  bench.answer(bench.take('contact.find'), [{ user_id: 1, nick_name: 'Al' }])
  expect(bench.stored.cached.get('user.1')).toBe(record)
  bench.want(['user.1'])
  expect(bench.calls).toEqual([])
})

it('each kind of user change names cached reads that exist', () => {
  for (const kind of Object.values(userChangeKind)) {
    const keys = keysOfChange(kind, 7, 5)
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys) expect(parseKey(key), key).toBeDefined()
  }
  expect(keysOfChange(99, 7, 5)).toEqual([])
  expect(Object.keys(kinds)).toHaveLength(12)
})
