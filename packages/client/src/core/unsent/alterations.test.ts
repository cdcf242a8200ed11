import { describe, expect, it } from 'vitest'
import { UnsentBench as Bench } from '../../../test/support/unsent-bench.js'

/** An own message that is in the log. */
const message = { log: 'd5.9', seq: 4, msgId: 80, senderId: 5, content: 'hi', editTimestamp: 0 }
const recall = { kind: 'recall' } as const
const transactions = (bench: Bench) => bench.calls.map(({ data }) => data.transaction_id)

function opened(): Bench {
  const bench = Bench.create()
  bench.open()
  return bench
}

/** The server and the log have an edit. */
function finish(bench: Bench, content: string, editTimestamp: number): void {
  bench.answer(bench.take('message.send'), true)
  bench.event('stored', { ...message, content, editTimestamp })
}

describe('an edit or recall of a stored message', () => {
  it('is stored, sent behind the messages of the conversation, and ends with its event', () => {
    const bench = opened()
    bench.send(1)
    const edit = bench.alter(2, { msgId: 80, seenEdit: 7 })
    const withdrawal = bench.alter(3, { msgId: 81, ...recall })
    for (const id of [edit, withdrawal]) expect(bench.results.has(id)).toBe(true)
    bench.accept(101)
    expect(bench.take('message.send').data).toEqual({
      ...{ type: 1, targets: [9], content_type: 12, related_mid: 80, content: 'edited' },
      ...{ edit_timestamp: 7, transaction_id: 2, from_user_id: 5 },
    })
    bench.cut()
    bench.open()
    bench.answer(bench.take('message.send'), true)
    const call = bench.take('message.recall')
    expect(call.data).toEqual({ conversation_id: 9, msg_id: 81 })
    bench.answer(call, true)
    expect(bench.states).toBe('1 sent, 2 sent, 3 sent')
    bench.event('stored', { ...message, content: 'edited', editTimestamp: 8 })
    bench.event('gone', { ...message, msgId: 81 })
    expect(bench.states).toBe('1 sent')
  })

  it('ends after a head when no event comes', () => {
    const bench = opened()
    bench.alter(2, { msgId: 80 })
    bench.answer(bench.take('message.send'), true)
    bench.advance(5_000)
    bench.event('head', {})
    expect(bench.entries).toEqual([])
  })

  it('takes the place of one that was not sent', () => {
    const bench = Bench.create()
    bench.alter(2, { msgId: 80, text: 'one' })
    bench.alter(3, { msgId: 80, text: 'two' })
    bench.alter(4, { msgId: 81, text: 'three' })
    bench.alter(5, { msgId: 81, ...recall })
    bench.open()
    expect(bench.take('message.send').data.content).toBe('two')
    bench.event('stored', { ...message, content: 'two', editTimestamp: 1 })
    expect(bench.calls.map(({ op }) => op)).toEqual(['message.recall'])
  })

  it('is sent after the edit before is in the log, and counts as an edit of that one', () => {
    const bench = opened()
    bench.alter(2, { msgId: 80, text: 'one' })
    bench.alter(3, { msgId: 80, text: 'two' })
    bench.answer(bench.take('message.send'), true)
    expect(bench.calls).toEqual([])
    bench.event('stored', { ...message, content: 'one', editTimestamp: 50 })
    expect(bench.calls[0]?.data).toMatchObject({ content: 'two', edit_timestamp: 50 })
    finish(bench, 'two', 60)
    // The app has the message of before.
    bench.alter(4, { msgId: 80, text: 'three' })
    expect(bench.calls[0]?.data).toMatchObject({ content: 'three', edit_timestamp: 60 })
    expect(bench.entries).toHaveLength(1)
  })

  it('ends when the log has its text, whatever the answer', () => {
    const bench = opened()
    bench.alter(2, { msgId: 80 })
    const call = bench.take('message.send')
    bench.event('stored', { ...message, content: 'edited', editTimestamp: 50 })
    bench.refuse(call, 13_014, 'edited_meanwhile')
    expect(bench.entries).toEqual([])
  })

  it('fails when the message was edited meanwhile; it is sent again only where the app wants it', () => {
    const bench = opened()
    bench.alter(2, { msgId: 80 })
    bench.refuse(bench.take('message.send'), 13_014, 'edited_meanwhile')
    bench.event('stored', { ...message, content: 'of another', editTimestamp: 50 })
    expect(bench.entries).toMatchObject([{ state: 'failed', failure: { code: 13_014 } }])
    const refused = bench.command({ type: 'retry', transactionId: 2 })
    expect(bench.failures.get(refused)?.name).toBe('edited_meanwhile')
    bench.command({ type: 'retry', transactionId: 2, anyway: true })
    expect(bench.take('message.send').data).not.toHaveProperty('edit_timestamp')
  })

  it('takes the place of one that has failed', () => {
    const bench = opened()
    bench.alter(2, { msgId: 80 })
    bench.refuse(bench.take('message.send'), 13_014, 'edited_meanwhile')
    bench.alter(3, { msgId: 80, seenEdit: 50 })
    expect(bench.states).toBe('3 sending')
  })

  it.each(['message_not_found', 'conversation_not_found', 'group_not_found', 'member_required'])(
    'is done when the message is gone: %s',
    (name) => {
      const bench = opened()
      bench.alter(2, { msgId: 80 })
      bench.alter(3, { msgId: 81, ...recall })
      bench.refuse(bench.take('message.send'), 13_000, name)
      bench.refuse(bench.take('message.recall'), 13_000, name)
      expect(bench.entries).toEqual([])
    },
  )

  it('is kept with another refusal, until the app drops it or the message is gone', () => {
    const bench = opened()
    for (const [transactionId, msgId] of [
      [2, 80],
      [3, 81],
      [4, 82],
    ] as const) {
      bench.alter(transactionId, { msgId, ...recall })
      bench.refuse(bench.take('message.recall'), 13_002, 'recall_too_late')
    }
    expect(bench.states).toBe('2 failed, 3 failed, 4 failed')
    bench.command({ type: 'discard', transactionId: 2 })
    bench.event('gone', { msgId: 81 })
    expect(bench.states).toBe('4 failed')
    bench.event('hidden', { msgId: 82 })
    expect(bench.entries).toEqual([])
  })

  it('is refused without a message, and with a text that is too long', () => {
    const bench = opened()
    expect(bench.failures.get(bench.alter(2))?.name).toBe('not_found')
    expect(bench.failures.get(bench.alter(2, { of: 1 }))?.name).toBe('not_found')
    const long = bench.alter(2, { msgId: 80, text: 'x'.repeat(65_537) })
    expect(bench.failures.get(long)?.name).toBe('invalid_argument')
    expect(bench.entries).toEqual([])
  })
})

describe('an edit or recall of an unsent message', () => {
  it('changes a message that was not sent, and removes it', () => {
    const bench = Bench.create()
    bench.send(1)
    bench.send(2)
    bench.alter(3, { of: 1 })
    bench.alter(4, { of: 2, ...recall })
    expect(bench.entries).toMatchObject([{ transactionId: 1, content: 'edited' }])
    bench.open()
    expect(bench.take('message.send').data).toMatchObject({ transaction_id: 1, content: 'edited' })
    expect(bench.calls).toEqual([])
  })

  it('waits for the message that is being sent, also when that has no outcome and after a reload', () => {
    const bench = opened()
    bench.send(1)
    bench.alter(2, { of: 1, text: 'one' })
    bench.alter(3, { of: 1, text: 'two' })
    bench.cut()
    bench.restart()
    expect(bench.states).toBe('1 unknown, 3 queued')
    bench.open()
    expect(transactions(bench)).toEqual([1])
    bench.accept(80)
    expect(bench.take('message.send').data).toMatchObject({ related_mid: 80, content: 'two' })
  })

  it('waits also when the repeat of the message has not run', () => {
    const bench = opened()
    bench.send(1)
    bench.cut()
    bench.alter(2, { of: 1, ...recall })
    bench.isCommitting = false
    bench.open()
    bench.cut()
    bench.isCommitting = true
    bench.commit()
    expect(bench.states).toBe('1 unknown, 2 queued')
    bench.open()
    bench.accept(80)
    expect(bench.take('message.recall').data.msg_id).toBe(80)
  })

  it('finds a message that was stored just before', () => {
    const bench = opened()
    bench.send(1)
    bench.accept(80)
    bench.event('stored', { ...message, transactionId: 1 })
    bench.alter(2, { of: 1, ...recall })
    expect(bench.take('message.recall').data.msg_id).toBe(80)
  })

  it('is made at once when the message was refused or has not run', () => {
    for (const name of ['blocked_by_recipient', 'too_many_requests']) {
      const bench = opened()
      bench.send(1)
      bench.send(2, { conversationId: 8 })
      bench.alter(3, { of: 1 })
      bench.alter(4, { of: 2, conversationId: 8, ...recall })
      const code = name === 'too_many_requests' ? 42_900 : 13_004
      const extras = name === 'too_many_requests' ? { retry: true, retry_after_ms: 90_000 } : {}
      for (const call of bench.calls.splice(0)) bench.refuse(call, code, name, extras)
      expect(bench.entries).toMatchObject([{ transactionId: 1, content: 'edited' }])
      expect(bench.calls).toEqual([])
    }
  })

  it('leaves the decision about a message that may have been stored to the user', () => {
    const bench = Bench.create({ transactionTtlMs: 1_000_000 })
    bench.open()
    bench.send(1)
    bench.alter(2, { of: 1, ...recall })
    bench.cut()
    bench.now += 1_000_000
    bench.open()
    bench.answer(bench.take('message.changes'), { from: 7, changes: [], next: 7, change: 7 })
    expect(bench.states).toBe('1 failed')
    bench.alter(3, { of: 1, ...recall })
    expect(bench.entries).toEqual([])
  })

  it('ends with the message that the user drops', () => {
    const bench = opened()
    bench.send(1)
    bench.cut()
    bench.alter(2, { of: 1 })
    bench.command({ type: 'discard', transactionId: 1 })
    expect(bench.entries).toEqual([])
  })

  it('waits for the new ID of a message that another history of the server has lost', () => {
    const bench = opened()
    bench.send(1)
    bench.accept(80)
    bench.cut()
    bench.alter(2, { of: 1, msgId: 80 })
    bench.epoch = 'f'
    bench.open()
    bench.accept(90)
    expect(bench.take('message.send').data).toMatchObject({ related_mid: 90, content: 'edited' })
  })
})
