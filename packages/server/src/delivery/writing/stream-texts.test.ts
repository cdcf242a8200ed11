import { beforeEach, expect, it } from 'vitest'
import type { Session } from '../../sessions/session.js'
import type { FanOut } from './fan-outs.js'
import { TestTimers } from '../../../test/support/test-timers.js'
import { StreamTexts } from './stream-texts.js'

interface Delta {
  readonly index: number
  readonly offset: number
  readonly text: string
}

let begun: number
let sessions: number
let sent: (Delta & { readonly at: number })[]
let timers: TestTimers
let texts: StreamTexts

beforeEach(() => {
  begun = 10
  sessions = 2
  sent = []
  timers = new TestTimers()
  const fanOuts = {
    start({ frames }: FanOut) {
      const text = frames.all.toString()
      const { data } = JSON.parse(text.slice(text.indexOf('{"event"')))
      const { index, offset, text: added } = data
      sent.push({ at: timers.now, index, offset, text: added })
    },
  }
  const delivery = {
    get begun() {
      return { position: begun }
    },
    streamReceivers: () => Array.from({ length: sessions }, () => ({}) as Session),
  }
  texts = new StreamTexts({
    deliveryOf: () => delivery,
    fanOuts: () => fanOuts,
    after: (ms, run) => timers.after(ms, run),
    now: () => timers.now,
  })
})

function add(index: number, offset: number, text: string, after = 10): void {
  texts.add({
    ...{ appId: 'shop', lowId: 1, highId: 2, isGroup: false, messageId: 5 },
    ...{ index, offset, text, after },
  })
}

it('text of a message: the first is sent at once, then what came in 50 ms together', () => {
  add(1, 0, 'a')
  timers.pass(10)
  add(2, 1, 'b')
  add(3, 2, 'c')
  timers.pass(100)
  expect(sent).toEqual([
    { at: 0, index: 1, offset: 0, text: 'a' },
    { at: 50, index: 3, offset: 1, text: 'bc' },
  ])
})

it('text of a message: the interval grows with the sessions, up to 2 s', () => {
  sessions = 550
  add(1, 0, 'a')
  add(2, 1, 'b')
  timers.pass(549)
  expect(sent).toHaveLength(1)
  timers.pass(1)
  expect(sent).toHaveLength(2)
  sessions = 10_000
  add(3, 2, 'c')
  timers.pass(550)
  add(4, 3, 'd')
  timers.pass(1_999)
  expect(sent).toHaveLength(3)
  timers.pass(1)
  expect(sent.at(-1)).toMatchObject({ index: 4 })
})

it('text of a message: waits until delivery has begun the message', () => {
  begun = 9
  add(1, 0, 'a')
  timers.pass(100)
  expect(sent).toEqual([])
  begun = 10
  timers.pass(20)
  expect(sent).toMatchObject([{ offset: 0, text: 'a' }])
})

it('text of a message: text of two nodes is sent in its order', () => {
  add(1, 0, 'a')
  timers.pass(60)
  add(3, 2, 'c')
  timers.pass(40)
  add(2, 1, 'b')
  timers.pass(100)
  expect(sent.map(({ text }) => text)).toEqual(['a', 'bc'])
})

it('text of a message: text whose predecessor does not come is sent after 100 ms, a late one is dropped', () => {
  add(1, 0, 'a')
  timers.pass(60)
  add(3, 2, 'c')
  timers.pass(200)
  add(2, 1, 'b')
  timers.pass(200)
  expect(sent.map(({ offset }) => offset)).toEqual([0, 2])
})
