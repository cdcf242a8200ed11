import { beforeEach, expect, it } from 'vitest'
import { CoreBench } from '../../../test/support/core-bench.js'
import { key, message } from '../../../test/support/log-fixtures.js'
import type { LogKey } from '../../model/records.js'
import { Streams } from './streams.js'

const conversation = { low_id: 5, high_id: 9, is_group: false }
const msgId = 107

let onScreen: Set<LogKey>
let streams: Streams
let bench: CoreBench

beforeEach(() => {
  onScreen = new Set([key])
  bench = new CoreBench({
    parts: (context) => {
      streams = new Streams(context, { onScreen: () => onScreen, memberCount: () => 500 })
      return [streams]
    },
  })
  bench.open()
})

const shown = () => bench.live.streams[msgId]
const delta = (offset: number, text: string, log = conversation) =>
  bench.event('message.delta', { conversation: log, msg_id: msgId, index: 1, offset, text })
const wireMessage = (stream: object) => ({
  ...{ seq: 7, msg_id: msgId, sender_id: 9, content: '…', stream },
})

it('streams: text that follows is appended, text that is known is dropped', () => {
  delta(0, 'Hel')
  delta(3, 'lo')
  delta(0, 'Hel')
  expect(shown()).toBe('Hello')
  delta(3, 'lo, you')
  expect(shown()).toBe('Hello, you')
  expect(bench.calls).toEqual([])
})

it('streams: after a gap the text is read once, after a random wait', () => {
  delta(0, 'a')
  delta(5, 'f')
  delta(6, 'g')
  bench.advance(499)
  expect(bench.calls).toEqual([])
  bench.advance(2)
  const call = bench.take('message.get')
  expect(call.data).toEqual({ conversation_id: 9, msg_id: msgId })
  delta(7, 'h')
  const open = { kind: 'text', state: 'open', next_index: 8, text: 'abcdefgh' }
  bench.answer(call, { message: wireMessage(open) })
  delta(8, 'i')
  expect(shown()).toBe('abcdefghi')
  expect(bench.calls).toEqual([])
})

it('streams: in a group the wait grows with the members', () => {
  onScreen = new Set(['g7'])
  delta(5, 'f', { low_id: 7, high_id: 7, is_group: true })
  bench.advance(700)
  expect(bench.calls).toEqual([])
  bench.advance(60)
  expect(bench.take('message.get').data).toEqual({ conversation_id: 7, msg_id: msgId })
})

it('streams: text of conversations that are not on screen is not kept', () => {
  delta(0, 'a')
  onScreen = new Set()
  delta(1, 'b')
  expect(shown()).toBeUndefined()
  onScreen = new Set([key])
  delta(2, 'c')
  onScreen = new Set()
  bench.advance(2_000)
  expect(bench.calls).toEqual([])
})

it('streams: an answer brings the text so far, the end and a recall forget it', () => {
  const at = (stream: object) => message(7, { msgId, fields: { stream } })
  streams.stored(at({ kind: 'text', state: 'open', text: 'so far' }))
  delta(6, '!')
  expect(shown()).toBe('so far!')
  streams.stored(at({ kind: 'text', state: 'open', text: 'so' }))
  expect(shown()).toBe('so far!')
  streams.stored(at({ kind: 'text', state: 'done' }))
  delta(0, 'late')
  streams.gone(key, msgId)
  bench.event('another', {})
  expect(shown()).toBeUndefined()
})

it('streams: what came while there was no connection shows as a gap', () => {
  delta(0, 'a')
  bench.cut()
  bench.open()
  delta(9, 'z')
  bench.advance(1_000)
  expect(bench.take('message.get').data).toMatchObject({ msg_id: msgId })
})
