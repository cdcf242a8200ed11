import { memberRole, muteMode } from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import type { Session } from '../../sessions/session.js'
import { type GroupEvent, Readers } from './readers.js'

const group = 100

function setUp() {
  const sessions = new Map<number, Session[]>()
  const readers = new Readers((userId) => sessions.get(Number(userId)) ?? [])
  const add = (userId: number, membership: object | null = {}, broadcastsAfter = 0) => {
    const session = { id: userId, appId: 'shop', userId, phase: 'live' } as Session
    sessions.set(userId, [session])
    const of = {
      ...{ groupId: group, role: memberRole.member, muteMode: muteMode.none },
      ...{ joinedMessageId: 0, isHistoryVisible: false, memberCount: 3 },
    }
    const memberships = membership === null ? [] : [{ ...of, ...membership }]
    readers.add(userId, { memberships, broadcastsAfter }, [])
    return session
  }
  const apply = (kind: GroupEvent['kind'], user_ids: number[], more: object = {}) =>
    readers.apply({
      ...{ kind, appId: 'shop' },
      payload: { group_id: group, actor_id: 1, user_ids, version: 1, ...more },
    } as unknown as GroupEvent)
  return { readers, add, apply }
}

const ids = (sessions: readonly Session[]) => sessions.map(({ userId }) => userId)

describe('connected readers', () => {
  it('events of a group move the roles of its connected members', () => {
    const { readers, add, apply } = setUp()
    add(1, { role: memberRole.owner })
    add(2, { role: memberRole.admin })
    add(3)
    expect(ids(readers.admins(group))).toEqual([1, 2])
    apply('group.admin_granted', [3])
    apply('group.admin_revoked', [2])
    expect(ids(readers.admins(group))).toEqual([1, 3])
    apply('group.owner_assigned', [2], { former_owner_id: 1 })
    expect(ids(readers.admins(group))).toEqual([2, 3])
  })

  it('the count of members includes those who are not connected', () => {
    const { readers, add, apply } = setUp()
    add(1)
    add(2)
    apply('group.joined', [7, 8], { log: { change: 0, seq: 0, msg_id: 0 } })
    expect(readers.memberCount(group)).toBe(5)
    apply('group.left', [2])
    expect(readers.memberCount(group)).toBe(4)
    expect(ids(readers.members(group))).toEqual([1])
    expect(readers.isMember(group, 2)).toBe(false)
  })

  it('a list of sessions never changes; a change of memberships makes another one', () => {
    const { readers, add, apply } = setUp()
    add(1)
    add(2)
    const before = readers.members(group)
    expect(readers.members(group)).toBe(before)
    apply('group.kicked', [2])
    expect(ids(before)).toEqual([1, 2])
    expect(ids(readers.members(group))).toEqual([1])
  })

  it('a change of a message that is older than the membership is hidden, unless the history is visible', () => {
    const { readers, add, apply } = setUp()
    add(1)
    add(2, { joinedMessageId: 50 })
    add(3, null)
    apply('group.joined', [3], { log: { change: 9, seq: 9, msg_id: 60 } })
    const split = (messageId: number) => {
      const { visible, hidden } = readers.receivingOlder(group, messageId)
      return [ids(visible), ids(hidden)]
    }
    expect(split(50)).toEqual([[1], [2, 3]])
    expect(split(51)).toEqual([[1, 2], [3]])
    expect(split(61)).toEqual([[1, 2, 3], []])
    apply('group.info_updated', [], { property: 'history_visible', value: true })
    expect(split(50)).toEqual([[1, 2, 3], []])
  })

  it('a member with msg_mute_mode 2 receives no messages until the mode changes', () => {
    const { readers, add, apply } = setUp()
    add(1)
    add(2, { muteMode: muteMode.notReceived, joinedMessageId: 50 })
    expect([ids(readers.receiving(group)), ids(readers.members(group))]).toEqual([[1], [1, 2]])
    expect(readers.receivingOlder(group, 1).hidden).toEqual([])
    apply('group.message_setting', [2], { setting: { msg_mute_mode: muteMode.silent } })
    expect(ids(readers.receiving(group))).toEqual([1, 2])
  })

  it('a user receives the broadcasts since the registration', () => {
    const { readers, add } = setUp()
    add(1, null, 10)
    add(2, null, 20)
    const { visible, hidden } = readers.broadcastReceivers(15)
    expect([ids(visible), ids(hidden)]).toEqual([[1], [2]])
  })

  it('a removed user leaves no group behind', () => {
    const { readers, add } = setUp()
    add(1)
    readers.remove(1)
    expect([readers.members(group), readers.memberCount(group)]).toEqual([[], 0])
    expect(readers.broadcastReceivers(1).visible).toEqual([])
  })
})
