import { describe, expect, it } from 'vitest'
import type { ReceivedCall } from '../../../test/support/core-bench.js'
import { SyncBench, head, log, me, message, page } from '../../../test/support/sync-bench.js'

describe('history', () => {
  const hole = { change: 9, seq: 8, latest_msg_id: 108, messages: [message(8), message(7)] }
  const command = { type: 'history', log: 'd5.9', beforeSeq: 9, limit: 4 } as const
  const answer = { log, messages: [message(6), message(4)], from_seq: 4, before_seq: 7 }

  function withHole(): SyncBench {
    const bench = SyncBench.create()
    bench.open()
    bench.answer(bench.take('message.sync'), page({ list: true, heads: [head(hole)] }))
    // The list asked for ten messages; two came, so the rest is known to be gone.
    expect(bench.record()?.ranges).toEqual([[1, 8]])
    return bench
  }

  function withRealHole(): SyncBench {
    const bench = SyncBench.create()
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

  it('is laid under changes of fields that come while it is read', () => {
    const bench = withRealHole()
    bench.command({ ...command, beforeSeq: 13 })
    const call = bench.take('message.history')
    for (const [index, set] of [{ a: 1, b: 1 }, { b: null }].entries()) {
      const data = { conversation: log, msg_id: 109, seq: 9, set }
      bench.event('message.updated', data, 21 + index)
    }
    bench.answer(call, older(7, 11))
    expect(bench.stored.messages.get('d5.9 9')?.fields).toEqual({ a: 1 })
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
    const bench = SyncBench.create()
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
    const bench = SyncBench.current()
    expect(bench.results.get(bench.command({ ...command, log: 'd5.8' }))).toEqual({ fromSeq: 1 })
  })
})

describe('the newest message', () => {
  it('after a recall comes from the store', () => {
    const bench = SyncBench.current()
    bench.event('message.recalled', { conversation: log, msg_id: 102, seq: 2, sender_id: 9 }, 3)
    expect(bench.record()?.last).toBeUndefined()
    expect(bench.readStore()).toBe(1)
    expect(bench.record()?.last?.seq).toBe(1)
  })

  it('is looked up when the store has all recalls', () => {
    const bench = SyncBench.current()
    bench.isCommitting = false
    const recalled = { conversation: log, sender_id: 9 }
    bench.event('message.recalled', { ...recalled, msg_id: 102, seq: 2 }, 3)
    bench.event('message.recalled', { ...recalled, msg_id: 101, seq: 1 }, 4)
    bench.commit()
    bench.readStore()
    bench.commit()
    bench.readStore()
    bench.commit()
    expect(bench.record()?.last).toBeNull()
  })

  it('comes from the server where the store has a hole', () => {
    const bench = SyncBench.create()
    bench.open()
    const found = head({ change: 20, seq: 20, latest_msg_id: 120 })
    bench.answer(bench.take('message.sync'), page({ list: true, heads: [found] }))
    bench.readStore()
    bench.advance(100)
    bench.readStore()
    const call = bench.take('message.history')
    expect(call.data).toEqual({ log, before_seq: 21, limit: 10 })
    bench.answer(call, { log, messages: [message(20)], from_seq: 20, before_seq: 21 })
    expect(bench.record()?.last?.seq).toBe(20)
  })

  it('is looked up for a few logs at a time', () => {
    const bench = SyncBench.create()
    bench.open()
    const heads = Array.from({ length: 20 }, (_, index) =>
      head({ log: { low_id: me, high_id: 100 + index, is_group: false }, latest_msg_id: 5 }),
    )
    bench.answer(bench.take('message.sync'), page({ list: true, heads }))
    expect(bench.readStore()).toBeLessThanOrEqual(3)
    expect(bench.calls.length).toBeLessThanOrEqual(3)
  })

  it('is looked up at once while large groups wait for their turn at the server', () => {
    const bench = SyncBench.current()
    const groups = [6, 7, 8].map((id) => ({ low_id: id, high_id: id, is_group: true }))
    const heads = groups.map((each) => head({ log: each, kind: 'group', latest_msg_id: 5 }))
    bench.event('sync.needed', {})
    bench.answer(bench.take('message.sync'), page({ heads }))
    expect(bench.readStore()).toBe(3)
    expect(bench.calls).toEqual([])
    bench.event('message.recalled', { conversation: log, msg_id: 102, seq: 2, sender_id: 9 }, 3)
    bench.readStore()
    expect(bench.record()?.last?.seq).toBe(1)
    bench.advance(10_000)
    bench.readStore()
    const reads = bench.calls.filter(({ op }) => op === 'message.history')
    expect(reads.map(({ data }) => data.log)).toEqual(groups)
  })
})
