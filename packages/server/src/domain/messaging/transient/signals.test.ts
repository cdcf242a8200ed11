import { beforeEach, expect, it } from 'vitest'
import { directConversation } from '../model/conversation-model.js'
import { Signals, type TypingState } from './signals.js'

const [alice, bob] = [1, 2]
const ours = directConversation('shop', alice, bob)

let now: number
let sent: string[]
let timers: { readonly at: number; readonly run: () => void }[]
let typing: Signals<TypingState>

beforeEach(() => {
  now = 1_000
  sent = []
  timers = []
  typing = new Signals({
    send: ({ highId }, userId, state) => sent.push(`${userId} in ${highId}: ${state}`),
    now: () => now,
    later: (ms, run) => timers.push({ at: now + ms, run }),
  })
})

function signal(state: TypingState, userId = alice): void {
  typing.signal(ours, userId, state)
}

function pass(ms: number): void {
  for (const end = now + ms; ; ) {
    const next = timers.sort((a, b) => a.at - b.at)[0]
    if (!next || next.at > end) {
      now = end
      return
    }
    timers.shift()
    now = next.at
    next.run()
  }
}

it('a signal is sent at once', () => {
  signal('typing')
  expect(sent).toEqual(['1 in 2: typing'])
})

it('of the signals of a second one is sent, and the newest state at its end', () => {
  for (let count = 0; count < 50; count++) signal('typing')
  pass(300)
  signal('nothing')
  expect(sent).toEqual(['1 in 2: typing'])
  pass(700)
  expect(sent).toEqual(['1 in 2: typing', '1 in 2: nothing'])
  pass(5_000)
  expect(sent).toHaveLength(2)
})

it('a state that was taken back within the second is not sent', () => {
  signal('typing')
  signal('nothing')
  signal('typing')
  pass(5_000)
  expect(sent).toEqual(['1 in 2: typing'])
})

it('a signal a second is sent each time, so that the others see that the user still types', () => {
  for (let count = 0; count < 4; count++) {
    signal('typing')
    pass(1_000)
  }
  expect(sent).toHaveLength(4)
})

it('users and conversations do not limit one another', () => {
  signal('typing')
  signal('typing', bob)
  typing.signal(directConversation('shop', alice, 3), alice, 'typing')
  expect(sent).toEqual(['1 in 2: typing', '2 in 2: typing', '1 in 3: typing'])
})

it('no timer runs after the last second', () => {
  signal('typing')
  pass(3_000)
  expect(timers).toEqual([])
})
