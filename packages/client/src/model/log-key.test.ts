import { describe, expect, it } from 'vitest'
import {
  broadcastKey,
  conversationOf,
  directKey,
  groupKey,
  kindOf,
  logKeyOf,
  pairOf,
  wireLog,
} from './log-key.js'

describe('keys of logs', () => {
  it.each([
    [directKey(9, 5), { low_id: 5, high_id: 9, is_group: false }, 'direct', 9],
    [directKey(5, 5), { low_id: 5, high_id: 5, is_group: false }, 'direct', 5],
    [directKey(5, 0), { low_id: 0, high_id: 5, is_group: false }, 'direct', 0],
    [groupKey(7), { low_id: 7, high_id: 7, is_group: true }, 'group', 7],
    [broadcastKey(0), { low_id: -1, high_id: 0, is_group: false }, 'broadcast', 0],
    [broadcastKey(5), { low_id: -1, high_id: 5, is_group: false }, 'broadcast', 5],
  ] as const)('%s is the log of the wire, of one kind and conversation', (key, log, kind, peer) => {
    expect(logKeyOf(log)).toBe(key)
    expect(wireLog(key)).toEqual(log)
    expect(kindOf(key)).toBe(kind)
    expect(conversationOf(key, 5)).toBe(peer)
  })

  it('pair the direct conversation with a user and the broadcasts of that user', () => {
    expect(pairOf('d5.9', 5)).toBe('b9')
    expect(pairOf('b9', 5)).toBe('d5.9')
    expect(pairOf('d5.5', 5)).toBe('b5')
    expect(pairOf('g7', 5)).toBeUndefined()
  })

  it.each([
    undefined,
    null,
    'd1.2',
    {},
    { low_id: 1, high_id: 2 },
    { low_id: 2, high_id: 1, is_group: false },
    { low_id: 1, high_id: 2, is_group: true },
    { low_id: -2, high_id: 2, is_group: false },
    { low_id: 1.5, high_id: 2, is_group: false },
    { low_id: 1, high_id: 2 ** 53, is_group: false },
    { low_id: '1', high_id: 2, is_group: false },
  ])('are not made from %j', (value) => {
    expect(logKeyOf(value)).toBeUndefined()
  })
})
