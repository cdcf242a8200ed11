import { describe, expect, it } from 'vitest'
import { group, head, log, message, page, SyncBench } from '../../../test/support/sync-bench.js'
import { quotesIn } from '../../model/quotes.js'

const original = { msg_id: 103, seq: 3 }
const present = { ...original, state: 'present', sender_id: 9, content_type: 0, excerpt: 'three' }
const kept = { msgId: 103, seq: 3, state: 'present', senderId: 9, contentType: 0, excerpt: 'three' }
const shown = { log: 'd5.9', msgId: 121, original: { msgId: 103, seq: 3 } }

/** A log of which the newest ten of twenty messages are stored. */
function withHole(): SyncBench {
  const bench = SyncBench.create()
  bench.open()
  const messages = Array.from({ length: 10 }, (_, index) => message(20 - index))
  const found = head({ change: 20, seq: 20, latest_msg_id: 120, messages })
  bench.answer(bench.take('message.sync'), page({ list: true, heads: [found] }))
  return bench
}

const reply = (change: number, seq: number, reply_to = original) => ({
  event: 'message.stored',
  change,
  data: message(seq, { reply_to }),
})

const quotes = (bench: SyncBench, key = 'd5.9') => quotesIn(bench.stored.cached, key)

const show = (bench: SyncBench, replies = [shown]) =>
  bench.command({ type: 'quotes', caller: 'a', replies })

/** Parameters of the calls for single messages that have no answer yet. */
const asked = ({ calls }: SyncBench) =>
  calls.filter(({ op }) => op === 'message.get').map(({ data }) => data)

function receive(bench: SyncBench, { event, change, data }: ReturnType<typeof reply>): void {
  bench.event(event, data, change)
}

describe('quotes', () => {
  it('come with pages of history and of changes, and stay after a restart', () => {
    const bench = withHole()
    bench.command({ type: 'history', log: 'd5.9', beforeSeq: 13, limit: 4 })
    const older = [message(10, { reply_to: original }), message(9), message(8), message(7)]
    const answer = { log, messages: older, from_seq: 7, before_seq: 11, quotes: [present] }
    bench.answer(bench.take('message.history'), answer)
    expect(quotes(bench)).toEqual([kept])
    bench.restart()
    bench.open()
    show(bench)
    bench.advance(1_000)
    expect(asked(bench)).toEqual([])
    expect(quotes(bench)).toEqual([kept])
  })

  it('follow edits and recalls of originals that the client does not hold', () => {
    const bench = withHole()
    receive(bench, reply(21, 21))
    show(bench)
    bench.advance(1_000)
    bench.answer(bench.take('message.get'), { message: {}, quotes: [present] })
    const edited = message(3, { content: 'edited', edit_timestamp: 5 })
    bench.event('message.replaced', edited, 22)
    expect(quotes(bench)).toEqual([{ ...kept, excerpt: 'edited' }])
    const recalled = { conversation: log, msg_id: 103, seq: 3, sender_id: 9 }
    bench.event('message.recalled', recalled, 23)
    expect(quotes(bench)).toEqual([{ msgId: 103, seq: 3, state: 'recalled', senderId: 9 }])
  })

  it('do not bring back what an original was before an edit that came during the call', () => {
    const bench = withHole()
    receive(bench, reply(21, 21))
    show(bench)
    bench.advance(1_000)
    const call = bench.take('message.get')
    bench.event('message.replaced', message(3, { content: 'edited', edit_timestamp: 5 }), 22)
    bench.answer(call, { message: {}, quotes: [present] })
    expect(quotes(bench)).toEqual([{ ...kept, excerpt: 'edited' }])
  })

  it('are dropped with what is hidden, and with a log that is gone', () => {
    const bench = withHole()
    receive(bench, reply(21, 21))
    show(bench)
    bench.advance(1_000)
    bench.answer(bench.take('message.get'), { message: {}, quotes: [present] })
    bench.event('conversation.deleted', { conversation: log, hidden_msg_id: 110, seq: 10 })
    expect(quotes(bench)).toEqual([])
  })
})

describe('missing quotes', () => {
  it('are read from the store where it has the original, and known as recalled where it has none', () => {
    const bench = withHole()
    receive(bench, reply(21, 21, { msg_id: 115, seq: 15 }))
    bench.event('message.recalled', { conversation: log, msg_id: 116, seq: 16, sender_id: 9 }, 22)
    receive(bench, reply(23, 22, { msg_id: 116, seq: 16 }))
    bench.readStore()
    show(bench, [
      { log: 'd5.9', msgId: 121, original: { msgId: 115, seq: 15 } },
      { log: 'd5.9', msgId: 122, original: { msgId: 116, seq: 16 } },
    ])
    expect(bench.readStore()).toBe(2)
    expect(quotes(bench)).toMatchObject([
      { msgId: 115, state: 'present', excerpt: 'text 15' },
      { msgId: 116, state: 'recalled' },
    ])
    bench.advance(1_000)
    expect(asked(bench)).toEqual([])
  })

  it('of originals that a deletion has hidden say so, also when the answer is older', () => {
    const bench = withHole()
    receive(bench, reply(21, 21, { msg_id: 115, seq: 15 }))
    receive(bench, reply(22, 22))
    const stored = { log: 'd5.9', msgId: 121, original: { msgId: 115, seq: 15 } }
    show(bench, [{ ...shown, msgId: 122 }])
    bench.advance(1_000)
    const call = bench.take('message.get')
    bench.event('conversation.deleted', { conversation: log, hidden_msg_id: 120, seq: 20 })
    bench.answer(call, { message: {}, quotes: [present] })
    show(bench, [stored])
    bench.readStore()
    expect(quotes(bench)).toEqual([
      { msgId: 103, seq: 3, state: 'hidden' },
      { msgId: 115, seq: 15, state: 'hidden' },
    ])
  })

  it('are asked for after a random wait, once, and only while a view shows the reply', () => {
    const bench = withHole()
    receive(bench, reply(21, 21))
    show(bench)
    expect(asked(bench)).toEqual([])
    show(bench, [])
    bench.advance(1_000)
    expect(asked(bench)).toEqual([])
    show(bench)
    bench.advance(1_000)
    expect(asked(bench)).toEqual([{ conversation_id: 9, msg_id: 121 }])
    show(bench, [])
    show(bench)
    bench.advance(1_000)
    expect(asked(bench)).toHaveLength(1)
  })

  it('are asked for once in a session where there is no answer', () => {
    const bench = withHole()
    receive(bench, reply(21, 21))
    show(bench)
    bench.advance(1_000)
    bench.answer(bench.take('message.get'), { message: {} })
    bench.advance(1_000)
    expect(asked(bench)).toEqual([])
    bench.cut()
    bench.open()
    bench.advance(1_000)
    bench.answer(bench.take('message.get'), { message: {}, quotes: [present] })
    expect(quotes(bench)).toEqual([kept])
  })

  it('of a group wait as long as its members need', () => {
    const bench = SyncBench.create({ random: () => 0.5 })
    bench.open()
    const found = head({
      ...{ log: group, kind: 'group', change: 20, seq: 20, status: 0, version: 1, group_type: 0 },
      latest_msg_id: 120,
      messages: Array.from({ length: 10 }, (_, at) => message(20 - at, { conversation: group })),
    })
    bench.answer(bench.take('message.sync'), page({ list: true, heads: [found] }))
    bench.command({ type: 'quotes', caller: 'a', replies: [{ ...shown, log: 'g7', msgId: 120 }] })
    bench.readStore()
    bench.advance(4_000)
    expect(asked(bench)).toEqual([])
    bench.advance(2_000)
    expect(asked(bench)).toEqual([{ conversation_id: 7, msg_id: 120 }])
  })
})
