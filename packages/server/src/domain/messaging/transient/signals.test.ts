import { beforeEach, expect, it } from 'vitest'
import { directConversation } from '../model/conversation-model.js'
import { TestTimers } from '../../../../test/support/test-timers.js'
import { Signals, type TypingState } from './signals.js'

const [alice, bob] = [1, 2]
const ours = directConversation('shop', alice, bob)

let sent: string[]
let timers: TestTimers
let typing: Signals<TypingState>

beforeEach(() => {
  sent = []
  timers = new TestTimers(1_000)
  typing = new Signals({
    send: ({ highId }, userId, state) => sent.push(`${userId} in ${highId}: ${state}`),
    now: () => timers.now,
    later: (ms, run) => timers.after(ms, run),
  })
})

function signal(state: TypingState, userId = alice): void {
  typing.signal(ours, userId, state)
}

it('a signal is sent at once', () => {
  signal('typing')
  expect(sent).toEqual(['1 in 2: typing'])
})

it('of the signals of a second one is sent, and the newest state at its end', () => {
  for (let count = 0; count < 50; count++) signal('typing')
  timers.pass(300)
  signal('nothing')
  expect(sent).toEqual(['1 in 2: typing'])
  timers.pass(700)
  expect(sent).toEqual(['1 in 2: typing', '1 in 2: nothing'])
  timers.pass(5_000)
  expect(sent).toHaveLength(2)
})

it('a state that was taken back within the second is not sent', () => {
  signal('typing')
  signal('nothing')
  signal('typing')
  timers.pass(5_000)
  expect(sent).toEqual(['1 in 2: typing'])
})

it('a signal a second is sent each time, so that the others see that the user still types', () => {
  for (let count = 0; count < 4; count++) {
    signal('typing')
    timers.pass(1_000)
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
  timers.pass(3_000)
  expect(timers.waiting).toBe(0)
})
