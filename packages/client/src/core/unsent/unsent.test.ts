import { describe, expect, it } from 'vitest'
import { UnsentBench as Bench, log } from '../../../test/support/unsent-bench.js'
import type { MessageRecord } from '../../model/records.js'

describe('sending', () => {
  it('stores the message first, with the time and the change number of the first try', () => {
    const bench = Bench.create({ isCommitting: false })
    bench.open()
    bench.commit()
    const id = bench.send(1)
    expect(bench.calls).toEqual([])
    expect(bench.results.has(id)).toBe(false)
    bench.commit()
    expect(bench.results.has(id)).toBe(true)
    expect(bench.entries).toMatchObject([{ state: 'sending', triedAtChange: 7 }])
    expect(bench.entries[0]?.triedAt).toBe(bench.now)
    expect(bench.calls).toMatchObject([
      { op: 'message.send', data: { type: 1, targets: [9], content: 'hi', transaction_id: 1 } },
    ])
  })

  it('keeps the order of a conversation, and sends conversations side by side', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.send(2)
    bench.send(3, { conversationId: 8, isGroup: true })
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([1, 3])
    bench.accept(101)
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([3, 2])
  })

  it('keeps at most six conversations in flight', () => {
    const bench = Bench.create()
    bench.open()
    for (let id = 1; id <= 9; id++) bench.send(id, { conversationId: id + 10 })
    expect(bench.calls).toHaveLength(6)
    bench.accept(101)
    expect(bench.calls).toHaveLength(6)
    expect(bench.calls.at(-1)?.data.transaction_id).toBe(7)
  })

  it('does nothing for the repeat of a command', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    const id = bench.send(1)
    expect(bench.results.has(id)).toBe(true)
    expect(bench.calls).toHaveLength(1)
  })

  it('waits for the connection without a try', () => {
    const bench = Bench.create()
    bench.send(1)
    expect(bench.entries).toMatchObject([{ state: 'queued' }])
    expect(bench.entries[0]).not.toHaveProperty('triedAt')
    bench.open()
    expect(bench.states).toBe('1 sending')
  })

  it('does not count a try that no connection has taken', () => {
    const bench = Bench.create({ isCommitting: false })
    bench.open()
    bench.commit()
    bench.send(1)
    bench.cut()
    bench.isCommitting = true
    bench.commit()
    expect(bench.states).toBe('1 queued')
    expect(bench.entries[0]).not.toHaveProperty('triedAt')
  })

  it('repeats a message without an outcome before the next one, with its first try', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.send(2)
    const { triedAt } = bench.entries[0] ?? {}
    bench.cut()
    expect(bench.states).toBe('1 unknown, 2 queued')
    bench.open()
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([1])
    expect(bench.entries[0]?.triedAt).toBe(triedAt)
    bench.accept(101)
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([2])
  })

  it('repeats a message that was in flight when the page ended', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.restart()
    expect(bench.states).toBe('1 unknown')
    bench.open()
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([1])
  })

  it.each([
    [
      'too many messages',
      (bench: Bench) => {
        for (let id = 1; id <= 10_000; id++) bench.send(id)
        return bench.send(10_001)
      },
      'outbox_full',
    ],
    [
      'texts above 64 KiB',
      (bench: Bench) => {
        const content = {
          contentType: 0,
          content: 'é'.repeat(32_769),
          attachment: '',
          config: '',
          ext: '',
        }
        return bench.send(1, { content })
      },
      'invalid_argument',
    ],
  ])('refuses %s', (_, send, name) => {
    const bench = Bench.create()
    const id = send(bench)
    expect(bench.failures.get(id)?.name).toBe(name)
    expect(bench.stored.unsent.has(10_001)).toBe(false)
  })
})

describe('refusals', () => {
  it('fail the message and do not block the next one', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.send(2)
    bench.refuse(bench.take('message.send'), 13004, 'blocked_by_recipient')
    expect(bench.states).toBe('1 failed, 2 sending')
    expect(bench.entries[0]?.failure).toEqual({
      code: 13004,
      name: 'blocked_by_recipient',
      message: 'blocked_by_recipient',
      retry: false,
    })
  })

  it('of the only recipient in fails count as one', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    const fails = [{ target: 9, code: 13005, reason: 'no' }]
    bench.answer(bench.take('message.send'), true, { fails })
    expect(bench.entries).toMatchObject([{ state: 'failed', failure: { code: 13005 } }])
  })

  it('that ask to wait keep the message in its place', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.send(2)
    const extras = { retry: true, retry_after_ms: 40_000 }
    bench.refuse(bench.take('message.send'), 42900, 'too_many_requests', extras)
    expect(bench.states).toBe('1 queued, 2 queued')
    bench.advance(39_000)
    expect(bench.calls).toEqual([])
    bench.advance(1_000)
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([1])
  })

  it('by a database that may have stored the message leave it without an outcome', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.refuse(bench.take('message.send'), 20000, 'storage_failed', { retry: true })
    expect(bench.states).toBe('1 unknown')
    bench.advance(1_250)
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([1])
  })

  it('of an ended login keep the message for the next token', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.refuse(bench.take('message.send'), 402, 'token_expired')
    expect(bench.states).toBe('1 queued')
  })

  it('that are nonsense leave the message without an outcome', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.answer(bench.take('message.send'), 'maybe')
    expect(bench.states).toBe('1 unknown')
  })

  it('are sent again by the user, behind the others', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.refuse(bench.take('message.send'), 13004, 'blocked_by_recipient')
    bench.send(2)
    bench.command({ type: 'retry', transactionId: 1 })
    bench.accept(101)
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([1])
    expect(bench.entries[0]).not.toHaveProperty('failure')
  })
})

describe('the end of an entry', () => {
  const stored = { log: 'd5.9', seq: 5, msgId: 101, senderId: 5, transactionId: 1 }

  it('is its event, before the answer or after it', () => {
    for (const isEventFirst of [true, false]) {
      const bench = Bench.create()
      bench.open()
      bench.send(1)
      bench.send(2)
      const call = bench.take('message.send')
      if (!isEventFirst) bench.answer(call, true, { msg_ids: [101] })
      expect(bench.states).toBe(isEventFirst ? '1 sending, 2 queued' : '1 sent, 2 sending')
      bench.event('stored', stored)
      expect(bench.states).toBe('2 sending')
      if (isEventFirst) bench.answer(call, true, { msg_ids: [101] })
      expect(bench.states).toBe('2 sending')
    }
  })

  it('is no event of another conversation', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.event('stored', { ...stored, log: 'd5.8' })
    expect(bench.states).toBe('1 sending')
  })

  it('is the answer when the log has a later message already', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.logs.set('d5.9', { ...log, last: { msgId: 102 } as MessageRecord })
    bench.accept(101)
    expect(bench.states).toBe('')
  })

  it('is the head of the log when no event comes, at once where none can come', () => {
    for (const muteMode of [0, 2]) {
      const bench = Bench.create()
      bench.logs.set('d5.9', { ...log, muteMode })
      bench.open()
      bench.send(1)
      bench.accept(101)
      expect(bench.heads).toHaveLength(muteMode === 2 ? 1 : 0)
      bench.advance(5_000)
      expect(bench.heads).toMatchObject([{ key: 'd5.9' }])
      bench.send(2)
      bench.accept(102)
      bench.event('head', {})
      expect(bench.states).toBe('2 sent')
    }
  })

  it('is requested again after a reload', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.accept(101)
    bench.restart()
    bench.open()
    bench.advance(5_000)
    expect(bench.heads).toMatchObject([{ key: 'd5.9' }])
    expect(bench.calls).toEqual([])
  })

  it.each(['gone', 'hidden', 'dropped'])('comes with a message that is %s', (event) => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.accept(101)
    bench.event(event, { msgId: 101 })
    expect(bench.states).toBe('')
  })

  it('is another send before those behind it, when the history is replaced during their commit', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.accept(101)
    bench.isCommitting = false
    bench.send(2)
    bench.cut()
    bench.epoch = 'restored'
    bench.open()
    bench.isCommitting = true
    bench.commit()
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([1])
    bench.accept(201)
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([2])
  })

  it('is another send when the history of the server was replaced', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.accept(101)
    bench.cut()
    bench.epoch = 'restored'
    bench.open()
    expect(bench.states).toBe('1 unknown')
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([1])
  })
})

describe('discard', () => {
  it('drops a message that waits or has failed, and unblocks the ones behind', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    bench.send(2)
    bench.cut()
    bench.command({ type: 'discard', transactionId: 1 })
    expect(bench.states).toBe('2 queued')
    bench.open()
    expect(bench.calls.map((call) => call.data.transaction_id)).toEqual([2])
  })

  it('fails while the message is being sent, and after it', () => {
    const bench = Bench.create()
    bench.open()
    bench.send(1)
    const sending = bench.command({ type: 'discard', transactionId: 1 })
    expect(bench.failures.get(sending)).toMatchObject({ name: 'not_found', retry: true })
    bench.accept(101)
    const sent = bench.command({ type: 'discard', transactionId: 1 })
    expect(bench.failures.get(sent)).toMatchObject({ name: 'not_found', retry: false })
    expect(bench.states).toBe('1 sent')
  })
})

describe('a message without an outcome for longer than the server remembers it', () => {
  const expired = () => {
    const bench = Bench.create({ transactionTtlMs: 100_000 })
    bench.open()
    bench.send(1)
    bench.cut()
    bench.now += 90_000
    bench.open()
    return bench
  }
  const page = (transaction_id: string, next: number, from: number | undefined = 7) => ({
    ...(from !== undefined && { from }),
    changes: [
      {
        event: 'message.stored',
        change: next,
        data: { msg_id: 101, seq: 5, sender_id: 5, transaction_id },
      },
    ],
    next,
    change: 9,
  })

  it('is looked for in the changes since its first try', () => {
    const bench = expired()
    const first = bench.take('message.changes')
    expect(first.data).toEqual({
      log: { low_id: 5, high_id: 9, is_group: false },
      after_change: 7,
      limit: 100,
    })
    bench.answer(first, page('77', 8))
    const second = bench.take('message.changes')
    expect(second.data.after_change).toBe(8)
    bench.answer(second, page('1', 9))
    expect(bench.entries).toMatchObject([{ state: 'sent', msgId: 101 }])
  })

  it.each([
    ['is not there', { ...page('77', 9) }],
    ['may have been there', { ...page('77', 8), from: undefined }],
  ])('asks the user when it %s', (_, data) => {
    const bench = expired()
    bench.answer(bench.take('message.changes'), data)
    expect(bench.entries).toMatchObject([{ state: 'failed', failure: { name: 'undecided' } }])
    const refused = bench.command({ type: 'retry', transactionId: 1 })
    expect(bench.failures.get(refused)?.name).toBe('undecided')
    bench.command({ type: 'retry', transactionId: 1, anyway: true })
    const [entry] = bench.entries
    expect(bench.entries).toHaveLength(1)
    expect(entry?.transactionId).not.toBe(1)
    expect(bench.take('message.send').data.transaction_id).toBe(entry?.transactionId)
  })

  it('waits when the search has no outcome', () => {
    const bench = expired()
    bench.answer(bench.take('message.changes'), 'nonsense')
    expect(bench.states).toBe('1 unknown')
    bench.advance(2_000)
    bench.take('message.changes')
    bench.cut()
    bench.open()
    expect(bench.states).toBe('1 unknown')
    bench.take('message.changes')
  })
})

describe('a message that was loaded without a try, older than the memory of the server', () => {
  const reloaded = (createdAt: number) => {
    const bench = Bench.create({ transactionTtlMs: 100_000 })
    bench.send(1, { createdAt })
    bench.restart()
    bench.logs.set('d5.9', { ...log, change: 9 })
    bench.open()
    return bench
  }
  const page = (changes: readonly object[], next = 9) => ({
    log: { low_id: 5, high_id: 9, is_group: false },
    from: 7,
    changes,
    next,
    change: 9,
  })

  it('is looked for first: a client without a store may have sent it', () => {
    const bench = reloaded(0)
    const call = bench.take('message.changes')
    expect(call.data.after_change).toBe(7)
    const data = { msg_id: 101, seq: 5, sender_id: 5, transaction_id: '1' }
    bench.answer(call, page([{ event: 'message.stored', change: 8, data }]))
    expect(bench.entries).toMatchObject([{ state: 'sent', msgId: 101 }])
    expect(bench.calls).toEqual([])
  })

  it('is sent when it is not there', () => {
    const bench = reloaded(0)
    bench.answer(bench.take('message.changes'), 'nonsense')
    expect(bench.states).toBe('1 queued')
    bench.advance(2_000)
    bench.answer(bench.take('message.changes'), page([]))
    bench.accept(101)
    expect(bench.states).toBe('1 sent')
  })

  it('is looked for again when the session ends, also after another history of the server', () => {
    const bench = Bench.create({ transactionTtlMs: 100_000 })
    bench.open()
    bench.cut()
    bench.send(1, { createdAt: 0 })
    bench.restart()
    bench.epoch = 'f'
    bench.open()
    bench.take('message.changes')
    bench.cut()
    expect(bench.states).toBe('1 queued')
    bench.open()
    bench.take('message.changes')
  })

  it('is sent at once when it is younger', () => {
    const bench = reloaded(10 ** 9)
    bench.accept(101)
    expect(bench.states).toBe('1 sent')
  })
})
