import { describe, expect, it } from 'vitest'
import { aMessage } from '../../../test/support/fake-session.js'
import { ownField } from '../../model/message-fields.js'
import { messageState } from './message-state.js'

const me = 5
const sum = (key: string, count: number, latest: readonly number[]) => ({ key, count, latest })
const record = aMessage('d1.5', 1, {
  fields: { reactions: [sum('a', 2, [1, 5]), sum('b', 1, [1])], ...ownField('a', true) },
})
const wish = (reaction: string, isOn: boolean) => ({ log: 'd1.5', msgId: 1, reaction, isOn })
const pin = (isOn: boolean) => ({ log: 'd1.5', msgId: 1, isOn })

describe('the state of a message', () => {
  it('has the reactions with those of the user, and no pin', () => {
    expect(messageState(record, [], me)).toEqual({
      reactions: [
        { key: 'a', count: 2, userIds: [1, 5], isOwn: true },
        { key: 'b', count: 1, userIds: [1], isOwn: false },
      ],
    })
  })

  it('shows what the user wants before the server has it', () => {
    const wishes = [wish('a', false), wish('b', true), wish('c', true), wish('d', false)]
    expect(messageState(record, wishes, me).reactions).toEqual([
      { key: 'a', count: 1, userIds: [1], isOwn: false },
      { key: 'b', count: 2, userIds: [1, 5], isOwn: true },
      { key: 'c', count: 1, userIds: [5], isOwn: true },
    ])
    expect(messageState(record, [wish('a', true)], me)).toEqual(messageState(record, [], me))
  })

  it('shows the pin that the user wants', () => {
    const pinned = aMessage('d1.5', 1, { fields: { pinned: { by: 1, at: 9 } } })
    expect(messageState(record, [pin(true)], me).pinned).toEqual({ by: 5, at: 0 })
    expect(messageState(pinned, [pin(true)], me).pinned).toEqual({ by: 1, at: 9 })
    expect(messageState(pinned, [pin(false)], me)).not.toHaveProperty('pinned')
  })

  it('takes nothing of another shape', () => {
    const broken = aMessage('d1.5', 1, { fields: { reactions: [null, { key: 1 }], pinned: 'x' } })
    expect(messageState(broken, [], me)).toEqual({ reactions: [] })
  })
})
