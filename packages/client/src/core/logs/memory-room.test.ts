import { describe, expect, it } from 'vitest'
import { list, log, message, other, SyncBench } from '../../../test/support/sync-bench.js'
import { maxKept } from './memory-room.js'

const text = 'x'.repeat(8_000)

/** A client in memory that is current, and has a log of two messages. */
function inMemory(isDurable = false): SyncBench {
  const bench = SyncBench.create({ isDurable })
  bench.open()
  bench.answer(bench.take('message.sync'), list)
  return bench
}

/** Messages arrive in a conversation. */
function arrive(bench: SyncBench, count: number, conversation: object = log): void {
  const key = conversation === log ? 'd5.9' : 'd5.8'
  for (let each = 0; each < count; each++) {
    const seq = (bench.record(key)?.seq ?? 0) + 1
    const data = message(seq, { conversation, content: text, msg_id: 1_000 + seq })
    bench.event('message.stored', data, seq)
  }
}

const seqsOf = (bench: SyncBench, key: string) =>
  [...bench.stored.messages.values()].flatMap((each) => (each.log === key ? [each.seq] : []))
const positionsOf = (bench: SyncBench, key: string) =>
  (bench.record(key)?.ranges ?? []).flatMap(([from, to]) =>
    Array.from({ length: to + 1 - from }, (_, index) => from + index),
  )
const sizeOf = (bench: SyncBench) =>
  [...bench.stored.messages.values()].reduce((sum, { content }) => sum + content.length, 0)

describe('a client in memory', () => {
  it('keeps a bounded part of what a bot sees; the rest is a hole that the server fills', () => {
    const bench = inMemory()
    arrive(bench, 7_500)
    expect(sizeOf(bench)).toBeLessThanOrEqual(maxKept)
    expect(bench.record()).toMatchObject({ seq: 7_502, last: { seq: 7_502 } })
    expect(seqsOf(bench, 'd5.9')).toEqual(positionsOf(bench, 'd5.9'))
    bench.command({ type: 'history', log: 'd5.9', beforeSeq: 100, limit: 50 })
    expect(bench.take('message.history').data).toMatchObject({ before_seq: 100, limit: 50 })
  })

  it('forgets the log that was used longest ago, and none on screen', () => {
    const bench = inMemory()
    arrive(bench, 1_500)
    arrive(bench, 1_000, other)
    expect(seqsOf(bench, 'd5.9')).toEqual([])
    expect(seqsOf(bench, 'd5.8')).toHaveLength(1_000)
    bench.command({ type: 'onScreen', caller: 'views', logs: ['d5.8'] })
    arrive(bench, 1_500)
    arrive(bench, 1_500, other)
    expect(seqsOf(bench, 'd5.8')).toHaveLength(2_500)
    expect(seqsOf(bench, 'd5.9')).toHaveLength(1_500)
    bench.command({ type: 'onScreen', caller: 'views', logs: [] })
    arrive(bench, 1)
    expect(seqsOf(bench, 'd5.8')).toEqual([])
  })

  it('forgets what the views have dropped', () => {
    const bench = inMemory()
    bench.command({ type: 'onScreen', caller: 'views', logs: ['d5.9'] })
    arrive(bench, 1_000)
    bench.command({ type: 'forget', log: 'd5.9', beforeSeq: 953 })
    expect(seqsOf(bench, 'd5.9')).toHaveLength(50)
    expect(bench.record()?.ranges).toEqual([[953, 1_002]])
    bench.command({ type: 'forget', log: 'd5.9', beforeSeq: 953 })
    expect(bench.record()?.ranges).toEqual([[953, 1_002]])
  })

  it('counts a message once that is altered again and again, as a stream is', () => {
    const bench = inMemory()
    arrive(bench, 1, other)
    for (let change = 3; change < 3_000; change++)
      bench.event('message.replaced', message(2, { content: text }), change)
    expect(seqsOf(bench, 'd5.8')).toEqual([1])
    expect(seqsOf(bench, 'd5.9').sort()).toEqual([1, 2])
  })

  it('has room again for what follows', () => {
    const bench = inMemory()
    for (let round = 0; round < 5; round++) {
      arrive(bench, 600)
      const kept = seqsOf(bench, 'd5.9')
      expect(kept.length).toBeGreaterThan(600)
      bench.command({ type: 'forget', log: 'd5.9', beforeSeq: kept.at(-1) ?? 0 })
      expect(seqsOf(bench, 'd5.9')).toHaveLength(1)
    }
  })
})

it('a client with a durable store keeps everything', () => {
  const bench = inMemory(true)
  arrive(bench, 2_500)
  bench.command({ type: 'forget', log: 'd5.9', beforeSeq: 900 })
  expect(seqsOf(bench, 'd5.9')).toHaveLength(2_502)
})
