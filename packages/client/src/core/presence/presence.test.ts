import { describe, expect, it } from 'vitest'
import { CoreBench } from '../../../test/support/core-bench.js'
import type { LogKey, LogRecord, MessageRecord } from '../../model/records.js'
import type { LogAccess } from '../access.js'
import { Presence } from './presence.js'
import { Receipts } from './receipts.js'
import { Typing } from './typing.js'

const direct = { low_id: 5, high_id: 9, is_group: false }

class Bench extends CoreBench {
  delivered: Map<LogKey, number> = new Map()

  static create(isCommitting = true): Bench {
    const delivered = new Map<LogKey, number>()
    const logs: LogAccess = {
      get: (key) => ({ deliveredSeq: delivered.get(key) ?? 0 }) as LogRecord,
      needHead: () => undefined,
      setDelivered: (key, seq) => delivered.set(key, seq),
    }
    const parts: ConstructorParameters<typeof CoreBench>[0]['parts'] = (context) => {
      const receipts = new Receipts(context, logs)
      return [
        new Presence(context),
        new Typing(context),
        receipts,
        {
          // As Logs does with a message of another user.
          event: ({ event, data }) => {
            if (event !== 'message') return
            const { log, seq } = data as MessageRecord
            context.batch.putMessage({ log, seq } as MessageRecord)
            receipts.received(log, seq)
          },
        },
      ]
    }
    return Object.assign(new Bench({ parts, isCommitting }), { delivered })
  }

  watch(userIds: readonly number[], caller = 'tab'): void {
    this.command({ type: 'presence', caller, userIds })
    this.advance(50)
  }
}

describe('presence', () => {
  it('is subscribed for the lists of all callers, and again in each session', () => {
    const bench = Bench.create()
    bench.watch([1, 2])
    bench.watch([2, 3], 'other')
    bench.open()
    const call = bench.take('presence.subscribe')
    expect(call.data).toEqual({ user_ids: [1, 2, 3] })
    bench.answer(call, [
      { user_id: 1, online: true },
      { user_id: 2, online: false },
    ])
    expect(bench.live.online).toEqual([1])
    bench.event('presence', {
      users: [
        { user_id: 1, online: false },
        { user_id: 3, online: true },
      ],
    })
    expect(bench.live.online).toEqual([3])
    bench.cut()
    bench.open()
    expect(bench.take('presence.subscribe').data).toEqual({ user_ids: [1, 2, 3] })
  })

  it('is not subscribed again for the same users in another order', () => {
    const bench = Bench.create()
    bench.open()
    bench.watch([1, 2, 3])
    bench.answer(bench.take('presence.subscribe'), [])
    bench.watch([3, 1, 2])
    bench.watch([2, 3], 'other')
    expect(bench.calls).toEqual([])
    bench.watch([2, 4], 'other')
    expect(bench.take('presence.subscribe').data.user_ids).toEqual([3, 1, 2, 4])
  })

  it('is subscribed again when a user becomes a contact', () => {
    const bench = Bench.create()
    bench.open()
    bench.watch([1, 2])
    bench.answer(bench.take('presence.subscribe'), [])
    bench.event('contact.accepted', { actor_id: 1, user_ids: [5] })
    bench.advance(50)
    expect(bench.take('presence.subscribe').data.user_ids).toEqual([1, 2])
  })

  it('is subscribed anew when a list changes during the call, at most for 500 users', () => {
    const bench = Bench.create()
    bench.open()
    bench.watch([1])
    const call = bench.take('presence.subscribe')
    bench.watch(Array.from({ length: 600 }, (_, index) => index + 1))
    expect(bench.calls).toEqual([])
    bench.answer(call, [])
    expect(bench.take('presence.subscribe').data.user_ids).toHaveLength(500)
  })

  it('is shown for 10 s after the end of the session', () => {
    const bench = Bench.create()
    bench.open()
    bench.watch([1])
    bench.answer(bench.take('presence.subscribe'), [{ user_id: 1, online: true }])
    bench.step({ type: 'disconnect' })
    bench.advance(9_000)
    expect(bench.live.online).toEqual([1])
    bench.advance(1_000)
    expect(bench.live.online).toEqual([])
  })
})

describe('typing', () => {
  it('is shown for 6 s after the last signal, and until the user stops or sends', () => {
    const bench = Bench.create()
    bench.open()
    const signal = (state = 'typing') =>
      bench.event('typing', { conversation: direct, user_id: 9, state })
    signal()
    bench.advance(5_000)
    signal()
    bench.advance(5_000)
    expect(bench.live.typing).toEqual([{ conversationId: 9, userId: 9 }])
    bench.advance(1_000)
    expect(bench.live.typing).toEqual([])
    signal()
    signal('nothing')
    expect(bench.live.typing).toEqual([])
    signal()
    bench.event('message.stored', { conversation: direct, sender_id: 9 }, 1)
    expect(bench.live.typing).toEqual([])
  })

  it('of the own user is signalled at most every 3 s in a conversation', () => {
    const bench = Bench.create()
    const type = (conversationId: number) =>
      bench.command({ type: 'typing', conversationId, isGroup: false })
    type(9)
    bench.open()
    expect(bench.calls).toEqual([])
    type(9)
    type(9)
    type(8)
    expect(bench.calls.map((call) => call.data)).toMatchObject([
      { type: 1, targets: [9], content: '', ext: '{"input_status":"typing"}' },
      { targets: [8] },
    ])
    bench.advance(3_000)
    type(9)
    expect(bench.calls).toHaveLength(3)
  })

  it('of the own user ends with a signal while others see it, and may begin again at once', () => {
    const bench = Bench.create()
    bench.open()
    const type = (isEnd: boolean) =>
      bench.command({ type: 'typing', conversationId: 9, isGroup: false, isEnd })
    type(true)
    expect(bench.calls).toEqual([])
    type(false)
    type(true)
    type(true)
    type(false)
    bench.advance(6_000)
    type(true)
    expect(bench.calls.map(({ data }) => Object(data).ext)).toEqual([
      '{"input_status":"typing"}',
      '{"input_status":"nothing"}',
      '{"input_status":"typing"}',
    ])
  })

  it('of the own user is signalled again after a message', () => {
    const bench = Bench.create()
    bench.open()
    const type = () => bench.command({ type: 'typing', conversationId: 9, isGroup: false })
    type()
    bench.event('message.stored', { conversation: direct, sender_id: bench.me }, 1)
    type()
    expect(bench.calls).toHaveLength(2)
  })
})

describe('receipts', () => {
  it('of direct conversations are sent once the messages are stored, at most once a second', () => {
    const bench = Bench.create(false)
    bench.open()
    bench.commit()
    bench.event('message', { log: 'd5.9', seq: 1 })
    bench.event('message', { log: 'd5.9', seq: 2 })
    bench.advance(0)
    expect(bench.calls).toEqual([])
    bench.commit()
    bench.advance(0)
    const first = bench.take('message.delivered')
    expect(first.data).toEqual({ conversations: [{ conversation_id: 9, seq: 1 }] })
    bench.commit()
    bench.advance(999)
    expect(bench.calls).toEqual([])
    bench.answer(first, true)
    expect(bench.delivered.get('d5.9')).toBe(1)
    bench.advance(1)
    expect(bench.take('message.delivered').data.conversations).toMatchObject([{ seq: 2 }])
  })

  it('are repeated in the next session, and left out where another device was faster', () => {
    const bench = Bench.create()
    bench.open()
    bench.event('message', { log: 'd5.9', seq: 1 })
    bench.event('message', { log: 'd5.8', seq: 1 })
    bench.advance(0)
    bench.take('message.delivered')
    bench.cut()
    bench.delivered.set('d5.8', 1)
    bench.open()
    bench.advance(1_000)
    expect(bench.take('message.delivered').data.conversations).toEqual([
      { conversation_id: 9, seq: 1 },
    ])
  })

  it('confirm pushes, and again when the session ends before the answer', () => {
    const bench = Bench.create()
    bench.open()
    bench.event('push.notification', { task_id: 31 })
    expect(bench.take('push.received').data).toEqual({ task_ids: [31] })
    bench.cut()
    bench.open()
    const call = bench.take('push.received')
    expect(call.data).toEqual({ task_ids: [31] })
    bench.answer(call, true)
    expect(bench.calls).toEqual([])
  })
})
