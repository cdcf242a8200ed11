import { describe, expect, it } from 'vitest'
import type { ReceivedCall } from '../../../test/support/core-bench.js'
import {
  SyncBench,
  group,
  head,
  list,
  log,
  me,
  message,
  other,
  page,
  stored,
} from '../../../test/support/sync-bench.js'

describe('sync', () => {
  it('begins with a page of the list that a screen shows, then reads the rest', () => {
    const bench = SyncBench.create()
    bench.open()
    const first = bench.take('message.sync')
    expect(first.data).toEqual({ after: '', limit: 50, window: 10 })
    bench.answer(first, { ...list, cursor: 'c' })
    expect(bench.stored.meta).toMatchObject({ pos: 'p1', listCursor: 'c' })
    expect(bench.texts).toEqual(['text 1', 'text 2'])
    expect(bench.live.connection.state).toBe('online')
    const rest = bench.take('message.sync')
    expect(rest.data).toEqual({ after: 'p1', list: true, cursor: 'c', limit: 200, window: 1 })
    const { pos: _pos, ...last } = page({ list: true, heads: [head({ log: other })] })
    bench.answer(rest, last)
    expect(bench.stored.meta).toMatchObject({ pos: 'p1', listCursor: '' })
    expect([...bench.stored.logs.keys()]).toEqual(['d5.9', 'd5.8'])
  })

  it('stores that a head is needed when an event came before the list that brings its group', () => {
    const bench = SyncBench.create()
    bench.open()
    const call = bench.take('message.sync')
    const renamed = { actor_id: 9, user_ids: [], property: 'name', value: 'n' }
    bench.event('group.info_updated', { ...renamed, group_id: 7, version: 2 })
    const heads = [head({ log: group, kind: 'group', version: 1, messages: [] })]
    bench.answer(call, page({ list: true, heads }))
    bench.frame({ pos: 'p2' })
    expect(bench.record('g7')?.isHeadNeeded).toBe(true)
    bench.restart()
    bench.open()
    expect(bench.take('message.sync').data.have).toEqual([{ log: group, change: 2 }])
  })

  it('has a group without events that moves while the list is read', () => {
    const bench = SyncBench.create()
    bench.open()
    bench.answer(bench.take('message.sync'), { ...list, cursor: 'c' })
    bench.frame({ pos: 'p2' })
    const { pos: _pos, ...last } = page({ list: true })
    bench.answer(bench.take('message.sync'), last)
    const after = bench.take('message.sync')
    expect(after.data).toEqual({ after: 'p1', limit: 200, window: 10 })
    const moved = head({ log: group, kind: 'group', msg_mute_mode: 2, from: 1 })
    bench.answer(after, page({ pos: 'p2', heads: [moved] }))
    expect([...bench.stored.logs.keys()]).toEqual(['d5.9', 'g7'])
    expect(bench.stored.meta?.pos).toBe('p2')
    expect(bench.calls).toEqual([])
  })

  it('keeps the need for a log that the list does not name, with the position', () => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    bench.answer(bench.take('message.sync'), page({ pos: 'p2', list: true }))
    expect(bench.pos).toBe('p2')
    expect(bench.record()?.isHeadNeeded).toBe(true)
    bench.restart()
    bench.open()
    bench.answer(bench.take('message.sync'), page({ gone: [log] }))
    expect(bench.record()).toBeUndefined()
  })

  it('keeps the need for missing changes when a head comes that is older', () => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    const call = bench.take('message.sync')
    bench.event('message.stored', message(4), 4)
    bench.answer(call, page({ heads: [head({ from: 2 })] }))
    expect(bench.record()).toMatchObject({ change: 2, isHeadNeeded: true })
  })

  it('reads the rest of a list after a restart', () => {
    const bench = SyncBench.create()
    bench.open()
    bench.answer(bench.take('message.sync'), { ...list, cursor: 'c' })
    bench.restart()
    bench.open()
    bench.answer(bench.take('message.sync'), page())
    expect(bench.take('message.sync').data).toMatchObject({ list: true, cursor: 'c' })
  })

  it('asks for the logs that a complete list does not have: they may be gone', () => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    const { heads: _heads, ...empty } = list
    bench.answer(bench.take('message.sync'), { ...empty, heads: [head({ log: other })] })
    bench.advance(1_000)
    const call = bench.take('message.sync')
    expect(call.data.have).toEqual([{ log, change: 2 }])
    bench.answer(call, page({ gone: [log] }))
    expect(bench.record()).toBeUndefined()
    expect(bench.texts).toEqual([])
  })

  it('asks for the head of a log that an event began: the other log of the peer comes with it', () => {
    const bench = SyncBench.current()
    bench.event('message.stored', message(1, { conversation: other }), 1)
    expect(bench.record('d5.8')).toMatchObject({ change: 1, unread: 1, isHeadNeeded: true })
    bench.advance(1_000)
    expect(bench.take('message.sync').data.have).toEqual([{ log: other, change: 1 }])
  })

  it('stores each page with its position, until there is no more', () => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    expect(bench.live.connection.state).toBe('syncing')
    const third = head({ change: 3, seq: 3, latest_msg_id: 103, from: 2, changes: [stored(3, 3)] })
    bench.answer(bench.take('message.sync'), page({ pos: 'p2', heads: [third], more: true }))
    expect([bench.pos, bench.texts.at(-1)]).toEqual(['p2', 'text 3'])
    expect(bench.live.connection.state).toBe('syncing')
    const second = bench.take('message.sync')
    expect(second.data.after).toBe('p2')
    bench.answer(second, page({ pos: 'p3', user: [{ kind: 4, ref: 3 }] }))
    expect([bench.pos, bench.heard]).toEqual(['p3', ['4.3']])
    expect(bench.live.connection.state).toBe('online')
  })

  it('takes positions of frames only when no sync is due', () => {
    const bench = SyncBench.current()
    bench.frame({ ...stored(3, 3), pos: 'p2' })
    expect([bench.pos, bench.texts.at(-1)]).toEqual(['p2', 'text 3'])
    bench.event('sync.needed', {})
    bench.frame({ ...stored(4, 4), pos: 'p9' })
    expect([bench.pos, bench.texts.at(-1)]).toEqual(['p2', 'text 4'])
    // Another one while the first is asked for: once more.
    bench.event('sync.needed', {})
    bench.answer(bench.take('message.sync'), page({ pos: 'p3' }))
    bench.frame({ pos: 'p9' })
    expect(bench.pos).toBe('p3')
    bench.answer(bench.take('message.sync'), page({ pos: 'p4' }))
    bench.frame({ pos: 'p5' })
    expect([bench.pos, bench.calls]).toEqual(['p5', []])
  })

  it.each([
    ['another epoch', { epoch: 'f' }],
    ['a reset', { reset: 'epoch' }],
  ])('drops everything after %s, and begins from the start', (_what, members) => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    bench.answer(bench.take('message.sync'), page({ ...members, pos: undefined }))
    expect([bench.texts, bench.record()]).toEqual([[], undefined])
    expect(bench.take('message.sync').data).toMatchObject({ after: '' })
  })

  it('tries again after a failure, later each time, and with a list where the position is refused', () => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    for (const ms of [1_000, 2_000, 4_000]) {
      bench.refuse(bench.take('message.sync'), 90_000, 'internal_error', { retry: true })
      bench.advance(ms / 4)
      expect(bench.calls).toEqual([])
      bench.advance(ms)
    }
    bench.answer(bench.take('message.sync'), { heads: 'none' })
    bench.advance(20_000)
    bench.refuse(bench.take('message.sync'), 10_002, 'invalid_parameter')
    bench.advance(20_000)
    expect(bench.take('message.sync').data).toMatchObject({ after: '' })
  })

  it.each([
    ['a position that does not move', { more: true }, {}],
    ['a cursor that does not move', { list: true, cursor: 'c' }, { list: true, cursor: 'c' }],
  ])('asks ever less often while there is more after %s', (_what, first, members) => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    bench.answer(bench.take('message.sync'), page({ pos: 'p1', ...first, ...members }))
    let calls = 0
    for (let second = 0; second < 600; second++) {
      bench.advance(1_000)
      for (; bench.calls.length > 0; calls++) {
        const { pos: _pos, ...stuck } = page({ more: true, ...members })
        bench.answer(bench.take('message.sync'), stuck)
      }
    }
    expect(calls).toBeGreaterThan(5)
    expect(calls).toBeLessThan(60)
  })

  it('asks again with the next session when the connection ends first', () => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    bench.cut()
    bench.open()
    expect(bench.take('message.sync').data).toMatchObject({ after: 'p1' })
    expect(bench.calls).toEqual([])
  })
})

describe('heads', () => {
  it('are requested for a log whose count only the server knows', () => {
    const bench = SyncBench.current()
    const recall = { conversation: log, msg_id: 102, seq: 2, sender_id: 9 }
    bench.event('message.recalled', recall, 3)
    expect(bench.record()).toMatchObject({ isHeadNeeded: true })
    bench.advance(1_000)
    const call = bench.take('message.sync')
    expect(call.data.have).toEqual([{ log, change: 3 }])
    const numbers = { change: 3, unread: 1, latest_msg_id: 101, from: 3 }
    bench.answer(call, page({ heads: [head(numbers)] }))
    expect(bench.record()).toMatchObject({ isHeadNeeded: false, unread: 1 })
  })

  it('that all members of a group need are requested at a random time, whatever comes meanwhile', () => {
    const bench = SyncBench.current()
    const group = { low_id: 7, high_id: 7, is_group: true }
    const conversation = { conversation: group }
    const counted = { ...conversation, seq: 1, msg_id: 201 }
    bench.event('message.stored', message(1, counted), 1)
    bench.advance(200)
    const call = bench.take('message.sync')
    const state = { log: group, kind: 1, status: 0, version: 1 }
    const numbers = { ...state, change: 1, seq: 1, unread: 1, latest_msg_id: 201, from: 1 }
    bench.answer(call, page({ heads: [head(numbers)] }))
    bench.event('message.recalled', { ...counted, sender_id: 9 }, 2)
    bench.event('message.stored', message(2, { ...conversation, seq: 2, msg_id: 202 }), 3)
    bench.event('group.info_updated', { ...state, group_id: 7, property: 'read_ack' })
    bench.advance(5_000)
    expect(bench.calls).toEqual([])
    bench.advance(200)
    expect(bench.take('message.sync').data.have).toEqual([{ log: group, change: 3 }])
  })

  it('are requested after a restart too', () => {
    const bench = SyncBench.current()
    bench.event('message.recalled', { conversation: log, msg_id: 102, seq: 2, sender_id: 9 }, 3)
    bench.restart()
    bench.open()
    expect(bench.take('message.sync').data.have).toEqual([{ log, change: 3 }])
  })

  it('are requested for a log that the client does not have', () => {
    const bench = SyncBench.current()
    bench.event('message.stored', message(50, { conversation: other }), 60)
    expect(bench.record('d5.8')).toBeUndefined()
    bench.advance(1_000)
    expect(bench.take('message.sync').data.have).toEqual([{ log: other, change: 0 }])
  })

  it('are requested before the position passes the event of such a log', () => {
    const bench = SyncBench.current()
    const { pos } = bench
    bench.event('message.stored', message(50, { conversation: other }), 60)
    bench.frame({ pos: 'later' })
    expect(bench.pos).toBe(pos)
  })

  it('name at most 100 logs in one call', () => {
    const bench = SyncBench.current()
    for (let peer = 100; peer < 220; peer++) {
      const conversation = { low_id: me, high_id: peer, is_group: false }
      bench.event('message.stored', message(50, { conversation }), 60)
    }
    bench.answer(bench.take('message.sync'), page())
    bench.advance(1_000)
    const call = bench.take('message.sync')
    expect(call.data.have).toHaveLength(100)
    bench.answer(call, page({ gone: call.data.have.map((each: { log: object }) => each.log) }))
    bench.advance(1_000)
    expect(bench.take('message.sync').data.have).toHaveLength(20)
  })

  it('run callbacks with a head that was requested after them', () => {
    const bench = SyncBench.current()
    bench.event('needHead', {})
    bench.advance(1_000)
    const call = bench.take('message.sync')
    bench.event('needHead', {})
    bench.answer(call, page({ heads: [head({ from: 2 })] }))
    expect(bench.heard).toEqual(['done'])
    bench.advance(1_000)
    bench.answer(bench.take('message.sync'), page({ gone: [log] }))
    expect(bench.heard).toEqual(['done', 'done'])
  })

  it('are asked for ever less often when answers do not help', () => {
    const bench = SyncBench.current()
    bench.event('needHead', {})
    const counts = [10_000, 10_000, 600_000].map((ms) => {
      let calls = 0
      for (const end = bench.now + ms; bench.now < end; bench.advance(100))
        for (; bench.calls.length > 0; calls++) bench.answer(bench.take('message.sync'), page())
      return calls
    })
    expect(counts[0]).toBeGreaterThan(counts[1] as number)
    expect(counts[2]).toBeLessThan(30)
  })

  it('of a group without events of its messages are requested when it is opened, and while it is open', () => {
    const bench = SyncBench.current()
    const silent = head({ log: group, kind: 'group', status: 0, version: 3, msg_mute_mode: 2 })
    bench.event('sync.needed', {})
    bench.answer(bench.take('message.sync'), page({ heads: [silent] }))
    expect(bench.heard).toEqual(['group 7 3'])
    const command = { type: 'onScreen', caller: 'tab', logs: ['g7'] } as const
    const named = [{ log: group, change: 2 }]
    const answer = (call: ReceivedCall) => {
      expect(call.data.have).toEqual(named)
      bench.answer(call, page({ heads: [{ ...silent, from: 2 }] }))
    }
    bench.command(command)
    bench.advance(1_000)
    answer(bench.take('message.sync'))
    bench.command(command)
    bench.advance(1_000)
    expect(bench.calls).toEqual([])
    bench.advance(10_000)
    answer(bench.take('message.sync'))
    bench.command({ ...command, logs: [] })
    bench.advance(60_000)
    expect(bench.calls).toEqual([])
  })
})

describe('gaps', () => {
  it('are asked for once, after 300 ms and a random time', () => {
    const bench = SyncBench.current()
    bench.frame(stored(5, 5))
    bench.frame(stored(6, 6))
    bench.advance(300)
    expect(bench.calls).toEqual([])
    bench.advance(300)
    const call = bench.take('message.changes')
    expect(call.data).toEqual({ log, after_change: 2, limit: 100 })
    const first = { log, from: 2, changes: [stored(3, 3), stored(4, 4)], next: 4, change: 6 }
    bench.answer(call, { ...first, hidden_msg_id: 0 })
    bench.advance(1)
    const next = bench.take('message.changes')
    const rest = { log, from: 4, changes: [stored(5, 5), stored(6, 6)], next: 6, change: 6 }
    bench.answer(next, rest)
    expect(bench.texts).toEqual([1, 2, 3, 4, 5, 6].map((seq) => `text ${seq}`))
    expect(bench.calls).toEqual([])
  })

  it('that an event shows while they are asked for are asked for again', () => {
    const bench = SyncBench.current()
    bench.frame(stored(4, 4))
    bench.advance(600)
    const call = bench.take('message.changes')
    bench.frame(stored(5, 5))
    const before = { log, from: 2, changes: [stored(3, 3), stored(4, 4)], next: 4, change: 4 }
    bench.answer(call, before)
    bench.advance(300)
    const next = bench.take('message.changes')
    expect(next.data).toEqual({ log, after_change: 4, limit: 100 })
    bench.answer(next, { log, from: 4, changes: [stored(5, 5)], next: 5, change: 5 })
    expect(bench.texts).toEqual([1, 2, 3, 4, 5].map((seq) => `text ${seq}`))
  })

  it('that answers do not fill are asked for again after a random time that grows', () => {
    let random = 0
    const bench = SyncBench.current({ random: () => random })
    bench.frame(stored(5, 5))
    bench.advance(300)
    for (const [chance, ms] of [
      [0, 250],
      [0.5, 1_250],
      [0.25, 1_250],
      [1, 8_250],
    ] as const) {
      random = chance
      bench.answer(bench.take('message.changes'), { nonsense: true })
      bench.advance(ms - 1)
      expect(bench.calls).toEqual([])
      bench.advance(1)
    }
    expect(bench.take('message.changes').data).toMatchObject({ after_change: 2 })
  })

  it('that what was missing closes are not asked for', () => {
    const bench = SyncBench.current()
    bench.frame(stored(4, 4))
    bench.frame(stored(3, 3))
    bench.frame(stored(4, 4))
    bench.advance(600)
    expect(bench.calls.map(({ op }) => op)).not.toContain('message.changes')
    expect(bench.texts).toHaveLength(4)
  })

  it('wait for a sync that is due', () => {
    const bench = SyncBench.current()
    bench.event('sync.needed', {})
    bench.frame(stored(4, 4))
    bench.advance(5_000)
    const call = bench.take('message.sync')
    const changes = [stored(3, 3), stored(4, 4)]
    const found = head({ change: 4, seq: 4, latest_msg_id: 104, from: 2, changes })
    bench.answer(call, page({ heads: [found] }))
    bench.advance(5_000)
    expect(bench.texts).toHaveLength(4)
    expect(bench.calls.map(({ op }) => op)).not.toContain('message.changes')
  })

  it('are filled by the head after a restart', () => {
    const bench = SyncBench.current()
    bench.frame(stored(5, 5))
    bench.restart()
    bench.open()
    expect(bench.take('message.sync').data.have).toEqual([{ log, change: 2 }])
  })

  it('whose changes are not stored any more drop the messages of the log', () => {
    const bench = SyncBench.current()
    bench.frame(stored(50, 50))
    bench.advance(600)
    const gone = { log, changes: [], next: 60, change: 60, hidden_msg_id: 0 }
    bench.answer(bench.take('message.changes'), gone)
    expect(bench.texts).toEqual([])
    bench.advance(1_000)
    expect(bench.take('message.sync').data.have).toEqual([{ log, change: 60 }])
  })

  it('of an event of an unknown kind are gaps too; nonsense makes a sync due', () => {
    const bench = SyncBench.current()
    bench.frame({ event: 'message.reacted', data: { conversation: log }, change: 3 })
    bench.advance(600)
    expect(bench.take('message.changes').data).toMatchObject({ after_change: 2 })
    bench.frame({ event: 'message.stored', data: {}, change: 3 })
    expect(bench.take('message.sync')).toBeDefined()
  })
})

describe('groups', () => {
  const named = { actor_id: 1, user_ids: [me], group_id: 7, version: 4 }
  const end = { change: 30, seq: 20, msg_id: 120 }

  it('that the user joins begin at the end of their log', () => {
    const bench = SyncBench.current()
    bench.event('group.joined', { ...named, log: end })
    expect(bench.record('g7')).toMatchObject({ change: 30, seq: 20, isHeadNeeded: true })
    bench.event('message.stored', message(21, { conversation: group }), 31)
    expect(bench.record('g7')).toMatchObject({ change: 31, unread: 1, last: { seq: 21 } })
  })

  it.each(['group.left', 'group.kicked', 'group.blocked'])('are dropped after %s', (event) => {
    const bench = SyncBench.current()
    bench.event('group.joined', { ...named, log: end })
    bench.event(event, { ...named, user_ids: [1] })
    expect(bench.record('g7')).toBeDefined()
    bench.event(event, named)
    expect(bench.record('g7')).toBeUndefined()
  })

  it('that are dissolved have nothing unread', () => {
    const bench = SyncBench.current()
    bench.event('group.joined', { ...named, log: end })
    bench.event('message.stored', message(21, { conversation: group }), 31)
    bench.event('group.destroyed', { ...named, user_ids: [], version: 5 })
    expect(bench.record('g7')).toMatchObject({ status: 1, unread: 0, version: 5 })
  })

  it('whose messages the user silences leave the count to the server', () => {
    const bench = SyncBench.current()
    bench.event('group.joined', { ...named, log: end })
    bench.event('group.message_setting', { ...named, setting: { msg_mute_mode: 2 } })
    expect(bench.record('g7')).toMatchObject({ muteMode: 2, isHeadNeeded: true })
  })
})

describe('broadcasts and the direct conversation of a peer', () => {
  const stream = { low_id: -1, high_id: 9, is_group: false }

  it('are both read by an own message, whichever event comes first', () => {
    const bench = SyncBench.current()
    const early = message(1, { conversation: stream, msg_id: 110 })
    const own = message(3, { sender_id: me, msg_id: 111 })
    bench.event('message.stored', early, 1)
    expect(bench.record('b9')?.unread).toBe(1)
    bench.event('message.stored', own, 3)
    expect(bench.record('b9')).toMatchObject({ unread: 0, readSeq: 1 })
    const before = message(2, { conversation: stream, msg_id: 109 })
    bench.event('message.stored', before, 2)
    expect(bench.record('b9')?.unread).toBe(0)
    bench.event('message.stored', message(3, { conversation: stream, msg_id: 112 }), 3)
    expect(bench.record('b9')?.unread).toBe(1)
  })

  it('are read by an own message that is recalled before its event comes', () => {
    const bench = SyncBench.current()
    bench.event('message.stored', message(1, { conversation: stream, msg_id: 105 }), 1)
    const gone = { conversation: log, seq: 3, sender_id: me, is_system: false }
    bench.event('change.skipped', gone, 3)
    bench.event('message.recalled', { ...gone, msg_id: 111 }, 4)
    expect(bench.record('b9')).toMatchObject({ unread: 0, readSeq: 1 })
  })

  it('are read by an own message of before a restart', () => {
    const bench = SyncBench.current()
    const broadcast = (seq: number, msgId: number) =>
      message(seq, { conversation: stream, msg_id: msgId })
    bench.event('message.stored', broadcast(1, 105), 1)
    bench.event('message.stored', message(3, { sender_id: me, msg_id: 111 }), 3)
    bench.restart()
    bench.open()
    bench.event('message.stored', broadcast(2, 109), 2)
    expect(bench.record('b9')).toMatchObject({ unread: 0, readSeq: 2 })
    bench.event('message.stored', broadcast(3, 112), 3)
    expect(bench.record('b9')?.unread).toBe(1)
  })

  it.each([0, 1])(
    'stay read when a head from before the answer brings broadcasts, with %i known ones',
    (known) => {
      const bench = SyncBench.current()
      const broadcast = (seq: number) =>
        message(seq, { conversation: stream, msg_id: seq === known ? 105 : 110 })
      const own = (seq: number) => message(seq, { sender_id: me, msg_id: 103 + 4 * (seq - 2) })
      if (known > 0) bench.event('message.stored', broadcast(1), 1)
      bench.event('message.stored', own(3), 3)
      bench.event('sync.needed', {})
      const call = bench.take('message.sync')
      bench.event('message.stored', own(4), 4)
      const change = known + 1
      const head = {
        ...{ log: stream, kind: 'broadcast', change, seq: change, unread: 1, read_seq: known },
        ...{ delivered_seq: 0, peer_read_seq: 0, peer_delivered_seq: 0, latest_msg_id: 110 },
        ...{ hidden_msg_id: 0, from: known },
        changes: [{ event: 'message.stored', change, data: broadcast(change) }],
      }
      bench.answer(call, page({ heads: [head] }))
      bench.advance(1_000)
      expect(bench.record('b9')?.isHeadNeeded).toBe(true)
      const now = { ...head, unread: 0, read_seq: change, from: change, changes: [] }
      bench.answer(bench.take('message.sync'), page({ heads: [now] }))
      expect(bench.record('b9')).toMatchObject({ unread: 0, readSeq: change, isHeadNeeded: false })
    },
  )
})
