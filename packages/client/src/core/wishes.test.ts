import { describe, expect, it } from 'vitest'
import { CoreBench } from '../../test/support/core-bench.js'
import type { Wish } from '../model/wishes.js'
import { CachedReads } from './cached-reads/cached-reads.js'
import { Wishes } from './wishes.js'

const log = { low_id: 5, high_id: 9, is_group: false }

/** The user is 5. */
function aBench(): CoreBench {
  const bench = new CoreBench({
    parts: (context) => [new CachedReads(context), new Wishes(context)],
  })
  bench.open()
  return bench
}

const reaction = (isOn: boolean, key = 'a'): Wish => ({
  log: 'd5.9',
  msgId: 7,
  reaction: key,
  isOn,
})
const wish = (bench: CoreBench, wanted: Wish) => bench.command({ type: 'wish', wish: wanted })
const kept = ({ stored }: CoreBench) => stored.cached.get('wishes')?.value
const reacted = (bench: CoreBench, on: boolean, key = 'a') =>
  bench.event('message.updated', {
    ...{ conversation: log, msg_id: 7, seq: 1, set: {} },
    reacted: [{ user_id: 5, key, on }],
  })

describe('wishes', () => {
  it('are stored before their command succeeds, called, and end with the event of the change', () => {
    const bench = aBench()
    const id = wish(bench, reaction(true))
    expect(bench.results.has(id)).toBe(true)
    expect(kept(bench)).toEqual([reaction(true)])
    const call = bench.take('message.reaction')
    expect(call.data).toEqual({ conversation_id: 9, type: 1, msg_id: 7, key: 'a', on: true })
    reacted(bench, true)
    expect(kept(bench)).toEqual([reaction(true)])
    bench.answer(call, true)
    reacted(bench, false)
    expect(kept(bench)).toEqual([reaction(true)])
    reacted(bench, true)
    expect(kept(bench)).toEqual([])
  })

  it('end after a while without an event, when the message has the state already', () => {
    const bench = aBench()
    wish(bench, { log: 'g8', msgId: 7, isOn: false })
    const call = bench.take('message.unpin')
    expect(call.data).toEqual({ conversation_id: 8, msg_id: 7 })
    bench.answer(call, true)
    bench.advance(5_000)
    expect(kept(bench)).toEqual([])
  })

  it('of one message and key count as the last one, which is called after the one in flight', () => {
    const bench = aBench()
    for (const [isOn, key] of [
      [true, '❤\uFE0F'],
      [false, '❤'],
      [true, '❤'],
      [false, '❤'],
    ] as const)
      wish(bench, reaction(isOn, key))
    expect(kept(bench)).toEqual([reaction(false, '❤')])
    expect(bench.calls).toHaveLength(1)
    bench.answer(bench.take('message.reaction'), true)
    const last = bench.take('message.reaction')
    expect(last.data.on).toBe(false)
    bench.answer(last, true)
    expect(bench.calls).toEqual([])
  })

  it('are called again after a lost connection, a restart and a reset', () => {
    const bench = aBench()
    wish(bench, reaction(true))
    bench.cut()
    bench.open()
    expect(bench.take('message.reaction').data.on).toBe(true)
    bench.restart()
    bench.epoch = 'other'
    bench.open()
    expect(bench.take('message.reaction').data.on).toBe(true)
    expect(kept(bench)).toEqual([reaction(true)])
  })

  it('that the server refuses end, others are repeated', () => {
    const bench = aBench()
    wish(bench, reaction(true))
    bench.refuse(bench.take('message.reaction'), 50_300, 'unavailable', { retry: true })
    expect(kept(bench)).toEqual([reaction(true)])
    bench.advance(10_000)
    bench.refuse(bench.take('message.reaction'), 13_013, 'reaction_or_pin_limit_reached')
    expect(kept(bench)).toEqual([])
  })
})
