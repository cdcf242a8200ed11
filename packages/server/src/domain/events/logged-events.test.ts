import { expect, it } from 'vitest'
import {
  directConversation,
  groupConversation,
  type Conversation,
} from '../messaging/model/conversation-model.js'
import { encodeRanges, rangesWithLog } from '../messaging/model/message-ranges.js'
import { LoggedEvents } from './logged-events.js'

const events = new LoggedEvents({ payloadsWithLog: rangesWithLog } as never, { of: () => '' })
const place = { position: 1, createdAt: 0 }

it('a row without the IDs of a key is not parsed', () => {
  const row = { ...place, kind: 'user.info_updated', payload: '{"user_ids":[12,' } as const
  for (const key of ['u:1', 'u:2', 'd:12:13', 'g:123']) expect(events.keyTest(key)(row)).toBe(false)
  expect(() => events.keyTest('u:12')(row)).toThrow()
})

it('a row of messages has the keys of its logs', () => {
  const range = (conversation: Conversation, firstId: number) => ({
    ...{ conversation, firstId, lastId: firstId, count: 1, firstSeq: 36, firstChange: 1_300 },
  })
  const payload = encodeRanges([
    range(directConversation('shop', 36, 1_296), 50),
    range(groupConversation('shop', 77), 60),
    range({ appId: 'shop', lowId: -1, highId: 5, isGroup: false }, 70),
  ])
  const row = { ...place, kind: 'message.stored', payload } as const
  const keys = ['d:36:1296', 'g:77', 'app']
  const others = ['d:36:1297', 'd:6:1296', 'd:77:77', 'g:36', 'g:7', 'u:36', 'd:1:5', 'none', 'u:x']
  for (const key of keys) expect([key, events.keyTest(key)(row)]).toEqual([key, true])
  for (const key of others) expect([key, events.keyTest(key)(row)]).toEqual([key, false])
  const without = { ...row, payload: encodeRanges([range(directConversation('shop', 1, 2), 50)]) }
  for (const key of keys) expect([key, events.keyTest(key)(without)]).toEqual([key, false])
})
