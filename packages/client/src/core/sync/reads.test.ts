import { describe, expect, it } from 'vitest'
import { SyncBench } from '../../../test/support/sync-bench.js'

describe('reading', () => {
  const read = { type: 'read', conversationId: 9, msgId: 102 } as const

  it('shows nothing unread at once, and is acknowledged', () => {
    const bench = SyncBench.current()
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
    const bench = SyncBench.current()
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
    const bench = SyncBench.current()
    bench.command(read)
    bench.refuse(bench.take('message.ack'), 13_000, 'message_not_found')
    expect(bench.record()).toMatchObject({ isHeadNeeded: true })
    expect(bench.record()?.pendingReadMsgId).toBeUndefined()
  })
})
