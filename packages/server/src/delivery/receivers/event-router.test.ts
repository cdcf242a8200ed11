import { memberRole, muteMode } from '@hermod/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import type { DeliveredEvent } from '../../outbox/consumer.js'
import type { Session } from '../../sessions/session.js'
import { FanOuts } from '../writing/fan-outs.js'
import { Watermark } from '../writing/watermark.js'
import { Closings } from './closings.js'
import { EventRouter } from './event-router.js'
import { Readers } from './readers.js'

const group = 100

let turns: (() => void)[]
let seconds: (() => void)[]
let written: string[]
let watermark: Watermark
let readers: Readers
let router: EventRouter
let sessions: Map<number, Session[]>
let position: number

beforeEach(() => {
  turns = []
  seconds = []
  written = []
  position = 0
  sessions = new Map()
  watermark = new Watermark('e1')
  const sessionsOf = (userId: unknown) => sessions.get(Number(userId)) ?? []
  readers = new Readers(sessionsOf)
  router = new EventRouter({
    ...{ appId: 'shop', readers, sessionsOf },
    fanOuts: new FanOuts({
      observer: { fannedOut: () => {}, skipped: () => {} },
      nextTurn: (run) => turns.push(run),
      smallSize: 0,
    }),
    closings: new Closings({ sessionsOf, isRevoked: async () => false }),
    hold: () => watermark.hold(),
    after: (_, run) => seconds.push(run),
  })
})

function connect(userId: number, membership: object | null = {}) {
  const write = (frame: Buffer) => {
    const { event, data } = JSON.parse(frame.toString().slice(frame.indexOf('{')))
    written.push(`${userId} ${event}${data?.user_ids ? ` ${data.user_ids}` : ''}`)
  }
  const session = {
    id: userId,
    appId: 'shop',
    userId,
    phase: 'live',
    hasMissed: false,
    features: new Set<never>(),
  }
  sessions.set(userId, [{ ...session, link: { write, isBehind: false } } as unknown as Session])
  const facts = { groupId: group, role: memberRole.member, muteMode: muteMode.none }
  const more = { joinedMessageId: 0, isHistoryVisible: false, memberCount: 300 }
  const memberships = membership === null ? [] : [{ ...facts, ...more, ...membership }]
  readers.add(userId, { memberships, broadcastsAfter: 0 }, [])
}

function dispatch(kind: DeliveredEvent['kind'], payload: object, change?: number) {
  watermark.begin(++position, position)
  const event = { kind, appId: 'shop', payload, position, createdAt: 0, change }
  router.dispatch([event as unknown as DeliveredEvent])
}

function join(userId: number, more: object = {}) {
  const log = { change: 9, seq: 9, msg_id: 50 }
  const about = { group_id: group, actor_id: 1, user_ids: [userId], version: 1 }
  dispatch('group.joined', { ...about, log, history_visible: false, ...more })
}

function runAll(callbacks: (() => void)[]) {
  for (let run = callbacks.shift(); run; run = callbacks.shift()) run()
}

describe('joins of a large group', () => {
  it('hold the watermark until the event that collects them is written', () => {
    connect(1)
    connect(2, null)
    join(2)
    runAll(turns)
    dispatch('user.info_updated', { actor_id: 9, user_ids: [9], properties: [] })
    runAll(seconds)
    expect([written, watermark.pos.position]).toEqual([['2 group.joined 2'], 0])
    runAll(turns)
    expect([written, watermark.pos.position]).toEqual([['2 group.joined 2', '1 group.joined 2'], 2])
  })

  it('reach each member who joined before the last one', () => {
    for (const userId of [1, 2, 3]) connect(userId, userId === 1 ? {} : null)
    join(2)
    join(3)
    runAll(turns)
    written.splice(0)
    runAll(seconds)
    runAll(turns)
    expect(written).toEqual(['1 group.joined 2,3', '2 group.joined 2,3'])
  })
})

describe('users that an event names', () => {
  it.each([
    ['contact.user_removed', 'contacts of a deleted user', [2, 3], ['2 2', '3 3']],
    ['conversation.unpinned', 'removed members who had pinned the group', [2, 3], ['2 2', '3 3']],
    ['group.invited', 'users invited together', [2, 3], ['9 2,3', '2 2', '3 3']],
    ['group.blocked', 'users blocked together', [2, 3], ['9 2,3', '2 2', '3 3']],
    ['group.kicked', 'a single one', [2], ['9 2', '2 2']],
  ] as const)('learn from %s nothing of one another: %s', (kind, _, user_ids, expected) => {
    connect(9)
    for (const userId of [2, 3]) connect(userId, null)
    const inGroup = kind.startsWith('group.') ? { group_id: group, version: 1 } : {}
    dispatch(kind, { actor_id: 9, user_ids, ...inGroup })
    runAll(turns)
    const named = written.map((each) => each.replace(` ${kind}`, ''))
    expect(named.sort()).toEqual(expected.toSorted())
  })
})

describe('a read receipt', () => {
  it('is not for a sender who has left the group', () => {
    for (const userId of [1, 2, 3]) connect(userId)
    const conversation = { low_id: group, high_id: group, is_group: true }
    const read = () => {
      dispatch('message.read', { actor_id: 1, user_ids: [2], conversation, msg_id: 50, seq: 1 })
      runAll(turns)
    }
    read()
    expect(written).toEqual(['2 message.read 2'])
    dispatch('group.kicked', { group_id: group, actor_id: 1, user_ids: [2], version: 1 })
    runAll(turns)
    written.splice(0)
    read()
    expect(written).toEqual([])
  })
})

describe('a change of a message that is older than the join', () => {
  const edit = () => {
    const conversation = { low_id: group, high_id: group, is_group: true }
    dispatch('message.replaced', { conversation, msg_id: 50, sender_id: 1, ...texts }, 10)
    runAll(turns)
  }
  const texts = { content: 'new', attachment: '', config: '', ext: '' }

  it.each([
    [true, 'message.replaced'],
    [false, 'change.skipped'],
  ])('reaches a member alone on its node as the event of the join says: %s', (visible, event) => {
    connect(2, null)
    join(2, { history_visible: visible })
    runAll(turns)
    edit()
    expect(written).toEqual(['2 group.joined 2', `2 ${event}`])
  })

  it('is visible after a change of the setting while memberships were read', () => {
    const info = { property: 'history_visible', value: true }
    const payload = { group_id: group, actor_id: 1, user_ids: [], version: 2, ...info }
    connect(2, null)
    const facts = { groupId: group, role: memberRole.member, muteMode: muteMode.none }
    const more = { joinedMessageId: 60, isHistoryVisible: false, memberCount: 3 }
    readers.add(2, { memberships: [{ ...facts, ...more }], broadcastsAfter: 0 }, [
      { kind: 'group.info_updated', appId: 'shop', payload } as never,
    ])
    edit()
    expect(written).toEqual(['2 message.replaced'])
  })
})
