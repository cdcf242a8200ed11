import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CoreBench, type ReceivedCall } from '../../../test/support/core-bench.js'
import type { CoreContext } from '../core-context.js'
import { Logs } from '../logs/logs.js'
import type { EventFrame, Part } from '../part.js'
import { History } from './history.js'
import { Latest } from './latest.js'
import { Reads } from './reads.js'
import { Sync } from './sync.js'

const me = 5
const log = { low_id: me, high_id: 9, is_group: false }
const other = { low_id: me, high_id: 8, is_group: false }
const group = { low_id: 7, high_id: 7, is_group: true }
const ignore = () => undefined

function message(seq: number, members: object = {}) {
  return {
    ...{ conversation: log, msg_id: 100 + seq, seq, sender_id: 9, sender_device_sn: 0 },
    ...{ content_type: 0, content: `text ${seq}`, attachment: '', config: '', ext: '' },
    ...{ is_system: false, timestamp: seq, edit_timestamp: 0, ...members },
  }
}

const stored = (change: number, seq: number) => ({
  event: 'message.stored',
  change,
  data: message(seq),
})

function head(members: object = {}) {
  return {
    ...{ log, kind: 'direct', change: 2, seq: 2, unread: 2, read_seq: 0, delivered_seq: 0 },
    ...{ peer_read_seq: 2, peer_delivered_seq: 2, latest_msg_id: 102, hidden_msg_id: 0 },
    ...{ changes: [], ...members },
  }
}

function page(members: object = {}) {
  return {
    ...{ epoch: 'e', pos: 'p1', list: false, heads: [], gone: [], user: [], more: false },
    ...members,
  }
}

const newest = [message(2), message(1)]
const list = page({ list: true, heads: [head({ messages: newest })] })

class Bench extends CoreBench {
  /** What Things has heard. */
  readonly heard: string[]

  static create({ isCommitting = true } = {}): Bench {
    const heard: string[] = []
    const parts = (context: CoreContext): readonly Part[] => {
      const logs: Logs = new Logs(context, {
        unsent: { stored: ignore, gone: ignore, hidden: ignore, dropped: ignore },
        receipts: { received: ignore },
        headNeeded: (key) => sync.needHead(key),
        lastUnknown: (key) => latest.need(key),
      })
      const sync: Sync = new Sync(context, logs, {
        changed: (kind, ref) => heard.push(`${kind}.${ref}`),
        allChanged: () => undefined,
        groupVersion: (groupId, version) => heard.push(`group ${groupId} ${version}`),
      })
      const history = new History(context, logs, (key, done) => sync.needHead(key, done))
      const latest: Latest = new Latest(context, logs, history)
      // A test calls Sync as other parts do, within a step.
      const needHead = {
        event: ({ event }: EventFrame) => {
          if (event === 'needHead') sync.needHead('d5.9', () => heard.push('done'))
        },
      }
      return [logs, sync, history, latest, new Reads(context, logs), needHead]
    }
    return new Bench({ parts, isCommitting }, heard)
  }

  /** A client that has a log of two messages. */
  static current(): Bench {
    const bench = Bench.create()
    bench.open()
    bench.answer(bench.take('message.sync'), list)
    return bench
  }

  constructor(options: ConstructorParameters<typeof CoreBench>[0], heard: string[]) {
    super(options)
    this.heard = heard
  }

  get texts(): string[] {
    return [...this.stored.messages.values()]
      .filter(({ log: key }) => key === 'd5.9')
      .sort((a, b) => a.seq - b.seq)
      .map(({ content }) => content)
  }

  get pos(): string | undefined {
    return this.stored.meta?.pos
  }

  record(key = 'd5.9') {
    return this.stored.logs.get(key)
  }

  /** Answers reads of the store. */
  readStore(): number {
    const reads = this.effects.flatMap((each) => (each.type === 'readMessages' ? [each] : []))
    this.effects = []
    for (const { request, query } of reads) {
      const messages = [...this.stored.messages.values()]
        .filter(({ log: key, seq }) => key === query.log && seq <= query.toSeq)
        .sort((a, b) => b.seq - a.seq)
        .slice(0, query.limit)
      this.step({ type: 'messages', request, messages })
    }
    return reads.length
  }
}

describe('sync', () => {
  it('begins with a page of the list that a screen shows, then reads the rest', () => {
    const bench = Bench.create()
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
    expect(bench.calls).toEqual([])
  })

  it('reads the rest of a list after a restart', () => {
    const bench = Bench.create()
    bench.open()
    bench.answer(bench.take('message.sync'), { ...list, cursor: 'c' })
    bench.restart()
    bench.open()
    bench.answer(bench.take('message.sync'), page())
    expect(bench.take('message.sync').data).toMatchObject({ list: true, cursor: 'c' })
  })

  it('asks for the logs that a complete list does not have: they may be gone', () => {
    const bench = Bench.current()
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
    const bench = Bench.current()
    bench.event('message.stored', message(1, { conversation: other }), 1)
    expect(bench.record('d5.8')).toMatchObject({ change: 1, unread: 1, isHeadNeeded: true })
    bench.advance(1_000)
    expect(bench.take('message.sync').data.have).toEqual([{ log: other, change: 1 }])
  })

  it('stores each page with its position, until there is no more', () => {
    const bench = Bench.current()
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
    const bench = Bench.current()
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
    const bench = Bench.current()
    bench.event('sync.needed', {})
    bench.answer(bench.take('message.sync'), page({ ...members, pos: undefined }))
    expect([bench.texts, bench.record()]).toEqual([[], undefined])
    expect(bench.take('message.sync').data).toMatchObject({ after: '' })
  })

  it('tries again after a failure, later each time, and with a list where the position is refused', () => {
    const bench = Bench.current()
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
    const bench = Bench.current()
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
    const bench = Bench.current()
    bench.event('sync.needed', {})
    bench.cut()
    bench.open()
    expect(bench.take('message.sync').data).toMatchObject({ after: 'p1' })
    expect(bench.calls).toEqual([])
  })
})

describe('heads', () => {
  it('are requested for a log whose count only the server knows', () => {
    const bench = Bench.current()
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

  it('are requested after a restart too', () => {
    const bench = Bench.current()
    bench.event('message.recalled', { conversation: log, msg_id: 102, seq: 2, sender_id: 9 }, 3)
    bench.restart()
    bench.open()
    expect(bench.take('message.sync').data.have).toEqual([{ log, change: 3 }])
  })

  it('are requested for a log that the client does not have', () => {
    const bench = Bench.current()
    bench.event('message.stored', message(50, { conversation: other }), 60)
    expect(bench.record('d5.8')).toBeUndefined()
    bench.advance(1_000)
    expect(bench.take('message.sync').data.have).toEqual([{ log: other, change: 0 }])
  })

  it('are requested before the position passes the event of such a log', () => {
    const bench = Bench.current()
    const { pos } = bench
    bench.event('message.stored', message(50, { conversation: other }), 60)
    bench.frame({ pos: 'later' })
    expect(bench.pos).toBe(pos)
  })

  it('name at most 100 logs in one call', () => {
    const bench = Bench.current()
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
    const bench = Bench.current()
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
    const bench = Bench.current()
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
    const bench = Bench.current()
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
    const bench = Bench.current()
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

  it('that what was missing closes are not asked for', () => {
    const bench = Bench.current()
    bench.frame(stored(4, 4))
    bench.frame(stored(3, 3))
    bench.frame(stored(4, 4))
    bench.advance(600)
    expect(bench.calls.map(({ op }) => op)).not.toContain('message.changes')
    expect(bench.texts).toHaveLength(4)
  })

  it('wait for a sync that is due', () => {
    const bench = Bench.current()
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
    const bench = Bench.current()
    bench.frame(stored(5, 5))
    bench.restart()
    bench.open()
    expect(bench.take('message.sync').data.have).toEqual([{ log, change: 2 }])
  })

  it('whose changes are not stored any more drop the messages of the log', () => {
    const bench = Bench.current()
    bench.frame(stored(50, 50))
    bench.advance(600)
    const gone = { log, changes: [], next: 60, change: 60, hidden_msg_id: 0 }
    bench.answer(bench.take('message.changes'), gone)
    expect(bench.texts).toEqual([])
    bench.advance(1_000)
    expect(bench.take('message.sync').data.have).toEqual([{ log, change: 60 }])
  })

  it('of an event of an unknown kind are gaps too; nonsense makes a sync due', () => {
    const bench = Bench.current()
    bench.frame({ event: 'message.reacted', data: { conversation: log }, change: 3 })
    bench.advance(600)
    expect(bench.take('message.changes').data).toMatchObject({ after_change: 2 })
    bench.frame({ event: 'message.stored', data: {}, change: 3 })
    expect(bench.take('message.sync')).toBeDefined()
  })
})

describe('history', () => {
  const hole = { change: 9, seq: 8, latest_msg_id: 108, messages: [message(8), message(7)] }
  const command = { type: 'history', log: 'd5.9', beforeSeq: 9, limit: 4 } as const
  const answer = { log, messages: [message(6), message(4)], from_seq: 4, before_seq: 7 }

  function withHole(): Bench {
    const bench = Bench.create()
    bench.open()
    bench.answer(bench.take('message.sync'), page({ list: true, heads: [head(hole)] }))
    // The list asked for ten messages; two came, so the rest is known to be gone.
    expect(bench.record()?.ranges).toEqual([[1, 8]])
    return bench
  }

  function withRealHole(): Bench {
    const bench = Bench.create()
    bench.open()
    const messages = Array.from({ length: 10 }, (_, index) => message(20 - index))
    const found = head({ change: 20, seq: 20, latest_msg_id: 120, messages })
    bench.answer(bench.take('message.sync'), page({ list: true, heads: [found] }))
    expect(bench.record()?.ranges).toEqual([[11, 20]])
    return bench
  }

  const older = (from: number, before: number) => ({
    log,
    messages: Array.from({ length: before - from }, (_, index) => message(before - 1 - index)),
    from_seq: from,
    before_seq: before,
  })

  it('is answered from the store where there is enough', () => {
    const bench = withHole()
    expect(bench.results.get(bench.command(command))).toEqual({ fromSeq: 1 })
    expect(bench.calls).toEqual([])
  })

  it('is read from the server below what is stored', () => {
    const bench = withRealHole()
    const id = bench.command({ ...command, beforeSeq: 13 })
    const call = bench.take('message.history')
    expect(call.data).toEqual({ log, before_seq: 11, limit: 4 })
    bench.answer(call, older(7, 11))
    expect(bench.results.get(id)).toEqual({ fromSeq: 7 })
    expect(bench.record()?.ranges).toEqual([[7, 20]])
    expect(bench.texts[0]).toBe('text 7')
  })

  it('is read once for several commands', () => {
    const bench = withRealHole()
    const ids = [1, 2].map(() => bench.command({ ...command, beforeSeq: 12 }))
    bench.answer(bench.take('message.history'), older(7, 11))
    expect(ids.map((id) => bench.results.get(id))).toEqual([{ fromSeq: 7 }, { fromSeq: 7 }])
    expect(bench.calls).toEqual([])
  })

  it('brings back no recalled message and no old text', () => {
    const bench = withRealHole()
    bench.command({ ...command, beforeSeq: 12 })
    const recall = { conversation: log, msg_id: 110, seq: 10, sender_id: 9 }
    bench.event('message.recalled', recall, 21)
    bench.event('message.replaced', message(9, { content: 'new' }), 22)
    bench.answer(bench.take('message.history'), older(7, 11))
    expect(bench.texts.slice(0, 4)).toEqual(['text 7', 'text 8', 'new', 'text 11'])
  })

  it('is read again when the log was emptied while it was read', () => {
    const bench = withRealHole()
    bench.command({ ...command, beforeSeq: 12 })
    bench.event('sync.needed', {})
    const messages = Array.from({ length: 10 }, (_, index) => message(300 - index))
    const far = head({ change: 300, seq: 300, latest_msg_id: 400, messages })
    bench.answer(bench.take('message.sync'), page({ heads: [far] }))
    bench.answer(bench.take('message.history'), older(7, 11))
    expect(bench.texts).toHaveLength(10)
    expect(bench.take('message.history').data).toMatchObject({ before_seq: 12 })
  })

  it('fails without a connection, after a refusal, and after an answer that is none', () => {
    const bench = withRealHole()
    const failureOf = (play: (call: ReceivedCall) => void) => {
      const id = bench.command({ ...command, beforeSeq: 12 })
      play(bench.take('message.history'))
      return bench.failures.get(id)?.name
    }
    expect(failureOf((call) => bench.refuse(call, 20_011, 'member_required'))).toBe(
      'member_required',
    )
    expect(failureOf((call) => bench.answer(call, {}))).toBe('bad_answer')
    expect(failureOf((call) => bench.answer(call, older(11, 11)))).toBe('bad_answer')
    expect(failureOf(() => bench.cut())).toBe('not_connected')
    const id = bench.command({ ...command, beforeSeq: 12 })
    expect(bench.failures.get(id)?.name).toBe('not_connected')
  })

  it('of a log that may be there waits for its head', () => {
    const bench = Bench.create()
    bench.open()
    bench.answer(bench.take('message.sync'), page({ list: true, cursor: 'c' }))
    const id = bench.command(command)
    bench.answer(bench.take('message.sync'), page({ list: true, pos: undefined, cursor: 'd' }))
    const call = bench.take('message.sync')
    expect(call.data.have).toEqual([{ log, change: 0 }])
    bench.answer(call, page({ list: true, pos: undefined, heads: [head(hole)] }))
    expect([bench.results.get(id), answer.from_seq]).toBeDefined()
  })

  it('of a log that is not there is complete', () => {
    const bench = Bench.current()
    expect(bench.results.get(bench.command({ ...command, log: 'd5.8' }))).toEqual({ fromSeq: 1 })
  })
})

describe('the newest message', () => {
  it('after a recall comes from the store', () => {
    const bench = Bench.current()
    bench.event('message.recalled', { conversation: log, msg_id: 102, seq: 2, sender_id: 9 }, 3)
    expect(bench.record()?.last).toBeUndefined()
    expect(bench.readStore()).toBe(1)
    expect(bench.record()?.last?.seq).toBe(1)
  })

  it('comes from the server where the store has a hole', () => {
    const bench = Bench.create()
    bench.open()
    const found = head({ change: 20, seq: 20, latest_msg_id: 120 })
    bench.answer(bench.take('message.sync'), page({ list: true, heads: [found] }))
    bench.readStore()
    const call = bench.take('message.history')
    expect(call.data).toEqual({ log, before_seq: 21, limit: 10 })
    bench.answer(call, { log, messages: [message(20)], from_seq: 20, before_seq: 21 })
    expect(bench.record()?.last?.seq).toBe(20)
  })

  it('is looked up for a few logs at a time', () => {
    const bench = Bench.create()
    bench.open()
    const heads = Array.from({ length: 20 }, (_, index) =>
      head({ log: { low_id: me, high_id: 100 + index, is_group: false }, latest_msg_id: 5 }),
    )
    bench.answer(bench.take('message.sync'), page({ list: true, heads }))
    expect(bench.readStore()).toBeLessThanOrEqual(3)
    expect(bench.calls.length).toBeLessThanOrEqual(3)
  })
})

describe('reading', () => {
  const read = { type: 'read', conversationId: 9, msgId: 102 } as const

  it('shows nothing unread at once, and is acknowledged', () => {
    const bench = Bench.current()
    const id = bench.command(read)
    expect(bench.results.has(id)).toBe(true)
    expect(bench.record()).toMatchObject({ unread: 0, pendingReadMsgId: 102 })
    const call = bench.take('message.ack')
    expect(call.data).toEqual({ conversation_id: 9, msg_id: 102 })
    bench.answer(call, true)
    expect(bench.record()).toMatchObject({ unread: 0, readSeq: 2 })
    expect(bench.record()?.pendingReadMsgId).toBeUndefined()
    bench.command(read)
    expect(bench.calls).toEqual([])
  })

  it('offline is acknowledged by the next session, also after a restart', () => {
    const bench = Bench.current()
    bench.cut()
    bench.command(read)
    bench.restart()
    expect(bench.record()?.unread).toBe(0)
    bench.open()
    expect(bench.take('message.ack').data).toEqual({ conversation_id: 9, msg_id: 102 })
    bench.cut()
    bench.open()
    const call = bench.take('message.ack')
    bench.refuse(call, 42_900, 'busy', { retry: true, retry_after_ms: 5_000 })
    bench.advance(5_000)
    bench.answer(bench.take('message.ack'), true)
    expect(bench.record()?.pendingReadMsgId).toBeUndefined()
  })

  it('that the server refuses leaves the count to the server', () => {
    const bench = Bench.current()
    bench.command(read)
    bench.refuse(bench.take('message.ack'), 13_000, 'message_not_found')
    expect(bench.record()).toMatchObject({ isHeadNeeded: true })
    expect(bench.record()?.pendingReadMsgId).toBeUndefined()
  })
})

describe('groups', () => {
  const named = { actor_id: 1, user_ids: [me], group_id: 7, version: 4 }
  const end = { change: 30, seq: 20, msg_id: 120 }

  it('that the user joins begin at the end of their log', () => {
    const bench = Bench.current()
    bench.event('group.joined', { ...named, log: end })
    expect(bench.record('g7')).toMatchObject({ change: 30, seq: 20, isHeadNeeded: true })
    bench.event('message.stored', message(21, { conversation: group }), 31)
    expect(bench.record('g7')).toMatchObject({ change: 31, unread: 1, last: { seq: 21 } })
  })

  it.each(['group.left', 'group.kicked', 'group.blocked'])('are dropped after %s', (event) => {
    const bench = Bench.current()
    bench.event('group.joined', { ...named, log: end })
    bench.event(event, { ...named, user_ids: [1] })
    expect(bench.record('g7')).toBeDefined()
    bench.event(event, named)
    expect(bench.record('g7')).toBeUndefined()
  })

  it('that are dissolved have nothing unread', () => {
    const bench = Bench.current()
    bench.event('group.joined', { ...named, log: end })
    bench.event('message.stored', message(21, { conversation: group }), 31)
    bench.event('group.destroyed', { ...named, user_ids: [], version: 5 })
    expect(bench.record('g7')).toMatchObject({ status: 1, unread: 0, version: 5 })
  })

  it('whose messages the user silences leave the count to the server', () => {
    const bench = Bench.current()
    bench.event('group.joined', { ...named, log: end })
    bench.event('group.message_setting', { ...named, setting: { msg_mute_mode: 2 } })
    expect(bench.record('g7')).toMatchObject({ muteMode: 2, isHeadNeeded: true })
  })
})

describe('broadcasts and the direct conversation of a peer', () => {
  const stream = { low_id: -1, high_id: 9, is_group: false }

  it('are both read by an own message, whichever event comes first', () => {
    const bench = Bench.current()
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
})

describe('a server', () => {
  const step = fc.record({
    what: fc.constantFrom(
      'send',
      'send',
      'send',
      'recall',
      'edit',
      'lose',
      'cut',
      'answer',
      'wait',
    ),
    which: fc.nat(50),
  })

  it('that loses events and answers in pages of any size has the same log as the client', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        (steps, size) => {
          const texts: (string | null)[] = []
          const changes: { readonly kind: string; readonly seq: number }[] = []
          const bench = Bench.create()
          const change = (number: number) => {
            const { kind, seq } = changes[number - 1] as (typeof changes)[number]
            const content = texts[seq - 1]
            const data = message(seq, { content, sender_id: 9 })
            const isLatest = !changes.slice(number).some((each) => each.seq === seq)
            if (kind !== 'message.stored' && !isLatest)
              return { event: 'change.skipped', change: number, data: { conversation: log } }
            if (kind === 'message.recalled' || typeof content === 'string')
              return { event: kind, change: number, data }
            return { event: 'change.skipped', change: number, data: { conversation: log, seq } }
          }
          const visible = () =>
            texts.flatMap((content, index) => (content === null ? [] : [index + 1]))
          const answer = (call: ReceivedCall) => {
            const { op, data } = call
            const below = visible().filter(
              (seq) => seq < (data.before_seq ?? Number.MAX_SAFE_INTEGER),
            )
            if (op === 'message.sync') {
              const known: number | undefined = data.have?.[0]?.change ?? marks.get(data.after)
              const isFew = known !== undefined && changes.length - known <= size
              const pos = `p${marks.size}`
              marks.set(pos, changes.length)
              const unread = visible().length
              const numbers = { change: changes.length, seq: texts.length, unread }
              const latest = { latest_msg_id: unread === 0 ? 0 : 100 + (visible().at(-1) ?? 0) }
              const content = isFew
                ? {
                    from: known,
                    changes: changes.slice(known).map((_, index) => change(known + index + 1)),
                  }
                : size === 5
                  ? {}
                  : { messages: visible().reverse().slice(0, data.window).map(shown) }
              const heads = [head({ ...numbers, ...latest, ...content })]
              bench.answer(call, page({ pos, list: data.after === '', heads }))
            } else if (op === 'message.changes') {
              const from = data.after_change
              const next = Math.min(from + size, changes.length)
              const list = changes.slice(from, next).map((_, index) => change(from + index + 1))
              bench.answer(call, { log, from, changes: list, next, change: changes.length })
            } else if (op === 'message.history') {
              const found = below.reverse().slice(0, Math.min(size, data.limit))
              const from_seq = found.length === below.length ? 1 : (found.at(-1) ?? 1)
              const before_seq = Math.min(data.before_seq, texts.length + 1)
              bench.answer(call, { log, messages: found.map(shown), from_seq, before_seq })
            } else throw new Error(`no operation ${op}`)
          }
          const marks = new Map<string, number>()
          const shown = (seq: number) => message(seq, { content: texts[seq - 1] })
          const answerAll = () => {
            for (let count = 0; bench.calls.length > 0 || bench.readStore() > 0; count++) {
              expect(count).toBeLessThan(300)
              const [call] = bench.calls
              if (call) answer(bench.take(call.op))
            }
          }
          bench.open()
          for (const { what, which } of steps) {
            const seq = 1 + (which % Math.max(1, texts.length))
            const isThere = typeof texts[seq - 1] === 'string'
            if (what === 'cut') {
              bench.cut()
              bench.open()
            } else if (what === 'answer') {
              const [call] = bench.calls
              if (call) answer(bench.take(call.op))
              bench.readStore()
            } else if (what === 'wait') bench.advance(which * 20)
            else if (what === 'send' || what === 'lose') {
              texts.push(`text ${texts.length + 1}`)
              changes.push({ kind: 'message.stored', seq: texts.length })
            } else if (isThere && what === 'recall') {
              texts[seq - 1] = null
              changes.push({ kind: 'message.recalled', seq })
            } else if (isThere) {
              texts[seq - 1] += '+'
              changes.push({ kind: 'message.replaced', seq })
            }
            const isEvent = what === 'send' || (isThere && (what === 'edit' || what === 'recall'))
            if (isEvent) bench.frame(change(changes.length))
            if (what === 'lose') bench.event('sync.needed', {})
          }
          for (let round = 0; round < 40; round++) {
            answerAll()
            bench.advance(1_000)
          }
          if (changes.length === 0) return
          const id = bench.command({ type: 'history', log: 'd5.9', beforeSeq: 1e9, limit: 1e6 })
          for (let round = 0; round < 60 && !bench.results.has(id); round++) answerAll()
          let from = (bench.results.get(id) as { readonly fromSeq: number }).fromSeq
          for (let round = 0; from > 1 && round < 60; round++) {
            const next = bench.command({
              type: 'history',
              log: 'd5.9',
              beforeSeq: from,
              limit: 100,
            })
            answerAll()
            from = (bench.results.get(next) as { readonly fromSeq: number }).fromSeq
          }
          const record = bench.record()
          const count = { change: changes.length, seq: texts.length, unread: visible().length }
          expect(record).toMatchObject({ ...count, isHeadNeeded: false })
          expect(bench.texts).toEqual(texts.filter((each) => each !== null))
          expect(record?.last?.seq).toBe(visible().at(-1))
          expect(bench.calls).toEqual([])
        },
      ),
      { numRuns: 200 },
    )
  })
})
