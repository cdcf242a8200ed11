import { describe, expect, test } from 'vitest'
import { isMentioned } from '../../content/pushed-message.js'
import { pushConfigOf } from './push-config.js'

describe('pushConfigOf', () => {
  test('reads what the sender says about the push', () => {
    const config = {
      mentionList: [5, '6', 5, 'x', 1.5],
      mentionedMessage: 'for you',
      pushMessage: 'text',
      pushTitle: 'title',
      senderNickname: 'Ann',
      pushMessageLocKey: 'key',
      pushMessageLocArgs: ['a', 2],
      pushSilent: true,
      pushBadge: 4,
      other: {},
    }
    expect(pushConfigOf(JSON.stringify(config))).toEqual({
      mentions: [5, 6],
      mentionedMessage: 'for you',
      pushMessage: 'text',
      pushTitle: 'title',
      senderNickname: 'Ann',
      locKey: 'key',
      locArgs: ['a', '2'],
      isSilent: true,
      badge: { mode: 'set', count: 4 },
    })
  })

  test.each(['', 'text', '[]', 'null', '{', '"x"', '{}'])('%j says nothing', (config) => {
    expect(pushConfigOf(config)).toEqual({
      mentions: [],
      mentionedMessage: '',
      pushMessage: '',
      pushTitle: '',
      senderNickname: '',
      locKey: '',
      locArgs: [],
      isSilent: false,
      badge: { mode: 'add', count: 1 },
    })
  })

  test('passes over members of another type', () => {
    const config = {
      mentionAll: 'yes',
      mentionList: 5,
      pushMessage: { a: 1 },
      pushMessageLocArgs: 7,
      pushSilent: 1,
      pushBadge: '-1',
    }
    expect(pushConfigOf(JSON.stringify(config))).toEqual(pushConfigOf(''))
  })

  test.each([
    ['+3', { mode: 'add', count: 3 }],
    ['0', { mode: 'set', count: 0 }],
    ['', { mode: 'add', count: 1 }],
  ])('the badge %j', (pushBadge, badge) => {
    expect(pushConfigOf(JSON.stringify({ pushBadge })).badge).toEqual(badge)
  })

  test('mentionAll wins over mentionList', () => {
    expect(pushConfigOf('{"mentionAll":true,"mentionList":[5]}').mentions).toBe('all')
    expect(pushConfigOf('{"mentionAll":false,"mentionList":[5]}').mentions).toEqual([5])
  })

  test('arguments may be one text', () => {
    expect(pushConfigOf('{"pushMessageLocArgs":"a"}').locArgs).toEqual(['a'])
  })
})

test('isMentioned: everybody, or those of the list', () => {
  expect([isMentioned('all', 5), isMentioned([5], 5), isMentioned([6], 5)]).toEqual([
    true,
    true,
    false,
  ])
})
