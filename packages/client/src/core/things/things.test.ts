import { userChangeKind } from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import { CoreBench } from '../../../test/support/core-bench.js'
import { parseKey, thingKinds } from './kinds.js'
import { keysOfChange } from './stale.js'
import { Things } from './things.js'

class Bench extends CoreBench {
  static create(): Bench {
    return new Bench({
      parts: (context) => {
        const things = new Things(context)
        return [
          things,
          // A test calls Things as Sync does, within a step.
          {
            event: ({ event, data }) => {
              const { kind = 0, ref = 0, version = 0 } = data as Readonly<Record<string, number>>
              if (event === 'changed') things.changed(kind, ref)
              else if (event === 'head') things.groupVersion(ref, version)
            },
          },
        ]
      },
    })
  }

  want(keys: readonly string[], caller = 'tab'): string {
    const id = this.command({ type: 'want', caller, keys })
    this.advance(200)
    return id
  }

  value(key: string): unknown {
    return this.stored.things.get(key)?.value
  }

  isStale(key: string): boolean | undefined {
    return this.stored.things.get(key)?.isStale
  }
}

const opened = (keys: readonly string[]) => {
  const bench = Bench.create()
  bench.open()
  bench.want(keys)
  return bench
}

const groupEvent = (members: object) => ({ actor_id: 9, user_ids: [8], group_id: 7, ...members })

describe('things', () => {
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
    bench.refuse(bench.take('group.info'), 50_300, 'unavailable', { retry: true })
    bench.advance(5_000)
    bench.refuse(bench.take('group.info'), 20_000, 'group_not_found')
    bench.want(['group.7', 'profile'])
    expect(bench.take('user.profile.get')).toBeDefined()
  })

  it('of a group are read again for a new version, also when the group was read before', () => {
    const bench = opened(['group.7', 'members.7'])
    bench.answer(bench.take('group.member_list'), [])
    bench.answer(bench.take('group.info'), { group_id: 7, version: 3 })
    bench.event('head', { ref: 7, version: 3 })
    expect([bench.isStale('group.7'), bench.isStale('members.7')]).toEqual([false, true])
  })

  it('of a group are read again for a display name that is shown, and not for one that is hidden', () => {
    const bench = opened(['group.7', 'members.7'])
    bench.answer(bench.take('group.member_list'), [])
    bench.answer(bench.take('group.info'), { group_id: 7, version: 3 })
    const renamed = groupEvent({ property: 'display_name', is_hidden: true })
    bench.event('group.info_updated', { ...renamed, version: 4 })
    bench.event('head', { ref: 7, version: 4 })
    expect(bench.value('group.7')).toEqual({ group_id: 7, version: 4 })
    expect(bench.isStale('group.7')).toBe(false)
    bench.event('group.info_updated', { ...renamed, value: 'Al', version: 5 })
    expect([bench.isStale('group.7'), bench.isStale('members.7')]).toEqual([true, true])
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

  it('is a group with an event, or with a head of a version above the one that was read', () => {
    const bench = opened(['group.7'])
    bench.answer(bench.take('group.info'), { group_id: 7, version: 3 })
    bench.event('group.info_updated', groupEvent({ version: 4, property: 'name', value: 'y' }))
    expect(bench.isStale('group.7')).toBe(true)
    bench.advance(200)
    bench.answer(bench.take('group.info'), { group_id: 7, version: 4 })
    bench.event('head', { ref: 7, version: 4 })
    bench.advance(200)
    expect(bench.calls).toEqual([])
    bench.event('head', { ref: 7, version: 6 })
    bench.advance(200)
    bench.take('group.info')
  })

  it('is a group whose own settings have changed without a version', () => {
    const bench = opened(['group.7'])
    bench.answer(bench.take('group.info'), { group_id: 7, version: 3 })
    bench.event('group.muted', groupEvent({ version: 3 }))
    expect(bench.isStale('group.7')).toBe(true)
  })

  it('is everything when the history of the server was replaced', () => {
    const bench = opened(['profile'])
    bench.answer(bench.take('user.profile.get'), { nick_name: 'Al' })
    bench.cut()
    bench.epoch = 'restored'
    bench.open()
    expect(bench.stored.things.size).toBe(0)
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
    bench.refuse(bench.take('group.info'), 20001, 'group_not_found')
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
    expect(bench.stored.things.size).toBe(0)
    expect(bench.calls).toEqual([])
    bench.cut()
    bench.open()
    bench.advance(20)
    expect(bench.calls).toHaveLength(2)
  })
})

it('four reads run side by side', () => {
  const bench = opened([1, 2, 3, 4, 5, 6].map((id) => `group.${id}`))
  expect(bench.calls).toHaveLength(4)
  bench.answer(bench.take('group.info'), { group_id: 1 })
  expect(bench.calls.map((call) => call.data.group_id)).toEqual([2, 3, 4, 5])
})

it('users are read again once after a start, since their names send no event', () => {
  const bench = opened(['user.1'])
  bench.answer(bench.take('contact.find'), [{ user_id: 1, nick_name: 'Al' }])
  bench.restart()
  bench.open()
  bench.want(['user.1'])
  const record = bench.stored.things.get('user.1')
  bench.answer(bench.take('contact.find'), [{ user_id: 1, nick_name: 'Al' }])
  expect(bench.stored.things.get('user.1')).toBe(record)
  bench.want(['user.1'])
  expect(bench.calls).toEqual([])
})

it('each kind of user change names things that exist', () => {
  for (const kind of Object.values(userChangeKind)) {
    const keys = keysOfChange(kind, 7, 5)
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys) expect(parseKey(key), key).toBeDefined()
  }
  expect(keysOfChange(99, 7, 5)).toEqual([])
  expect(Object.keys(thingKinds)).toHaveLength(12)
})
