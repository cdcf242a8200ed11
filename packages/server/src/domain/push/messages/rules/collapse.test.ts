import { describe, expect, test } from 'vitest'
import type { Recipient } from '../../audience/recipient.js'
import type { PushedMessage } from '../../content/pushed-message.js'
import { collapseMessages, collapseRecipients } from './collapse.js'

const first: PushedMessage = {
  kind: 'group',
  msgId: 1,
  seq: 1,
  senderId: 10,
  targetId: 50,
  isFromAdmin: false,
  mentions: [],
  isSilent: false,
  collapsedBy: null,
}

function numbered(changes: readonly Partial<PushedMessage>[]): PushedMessage[] {
  return changes.map((change, index) => ({ ...first, msgId: index + 1, seq: index + 1, ...change }))
}

describe('collapseMessages', () => {
  const coveredBy = (...changes: readonly Partial<PushedMessage>[]) =>
    collapseMessages(numbered(changes).map((message) => ({ message, isNotification: false }))).map(
      ({ collapsedBy }) => collapsedBy,
    )

  test('the newest message stands for the earlier ones, of whichever sender', () => {
    expect(coveredBy({}, { senderId: 11 }, {})).toEqual([3, 3, null])
  })

  test.each([
    ['a mention', { mentions: [5] }],
    ['a mention of all', { mentions: 'all' as const }],
    ['a reply', { quotedId: 5 }],
    ['what an admin says', { isFromAdmin: true }],
  ])('%s stays beside an ordinary message', (_, change) => {
    expect(coveredBy({}, change, {})).toEqual([3, null, null])
    expect(coveredBy({}, {}, change)).toEqual([3, 3, null])
    expect(coveredBy(change, {}, change)).toEqual([3, 3, null])
  })

  test('a mention of more members stands for one of fewer', () => {
    expect(coveredBy({ mentions: [5] }, { mentions: [6, 5] })).toEqual([2, null])
    expect(coveredBy({ mentions: [6, 5] }, { mentions: [5] })).toEqual([null, null])
    expect(coveredBy({ mentions: [5] }, { mentions: 'all' })).toEqual([2, null])
    expect(coveredBy({ quotedId: 5 }, { mentions: [5] })).toEqual([2, null])
    expect(coveredBy({ mentions: [5] }, { quotedId: 5 })).toEqual([2, null])
    expect(coveredBy({ quotedId: 5 }, { quotedId: 6 })).toEqual([null, null])
  })

  test('a silent message does not stand for one that is heard', () => {
    expect(coveredBy({}, { isSilent: true })).toEqual([null, null])
    expect(coveredBy({ isSilent: true }, {})).toEqual([2, null])
  })

  test('a notification in the name of a user does not stand for what that user may not have seen', () => {
    const [one, two] = numbered([{}, { senderId: 11 }]) as [PushedMessage, PushedMessage]
    const covers = (message: PushedMessage) =>
      collapseMessages([
        { message: one, isNotification: false },
        { message, isNotification: true },
      ])[0]?.collapsedBy
    expect(covers(two)).toBeNull()
    expect(covers({ ...two, senderId: 10 })).toBe(2)
    expect(covers({ ...two, senderId: 0 })).toBe(2)
  })
})

describe('collapseRecipients', () => {
  const recipient = (userId: number, change: Partial<Recipient> = {}): Recipient => ({
    userId,
    deviceSns: null,
    suppressedBy: null,
    isSilent: false,
    ...change,
  })
  const reasons = (...messages: readonly [Partial<PushedMessage>, readonly Recipient[]][]) => {
    const all = numbered(messages.map(([change]) => change))
    return collapseRecipients(
      all.map((message, index) => ({ message, recipients: messages[index]?.[1] ?? [] })),
    ).map(({ recipients }) => recipients.map(({ suppressedBy }) => suppressedBy))
  }

  test('a user is told of the newest message only, each of several users', () => {
    expect(
      reasons([{}, [recipient(5), recipient(6)]], [{}, [recipient(5)]], [{}, [recipient(5)]]),
    ).toEqual([['collapsed', null], ['collapsed'], [null]])
  })

  test('a message that is not told stands for nothing, and keeps its reason', () => {
    expect(
      reasons([{}, [recipient(5)]], [{}, [recipient(5, { suppressedBy: 'group_push_mode' })]]),
    ).toEqual([[null], ['group_push_mode']])
  })

  test('a mention is told beside a later message without one, to those who are mentioned', () => {
    const both = [recipient(5), recipient(6)]
    expect(reasons([{}, both], [{ mentions: [5] }, both], [{}, both])).toEqual([
      ['collapsed', 'collapsed'],
      [null, 'collapsed'],
      [null, null],
    ])
    expect(reasons([{ mentions: [5] }, both], [{ mentions: 'all' }, both])).toEqual([
      ['collapsed', 'collapsed'],
      [null, null],
    ])
  })

  test('a silent message does not stand for one that is heard', () => {
    const silent = [recipient(5, { isSilent: true })]
    expect(reasons([{}, silent], [{}, [recipient(5)]], [{}, silent])).toEqual([
      ['collapsed'],
      [null],
      [null],
    ])
  })
})
