import { expect, it } from 'vitest'
import { fromWire } from './from-wire.js'

const texts = { contentType: 0, content: 'hi', attachment: '', config: '', ext: '' }

it('content: kinds are words, and one of a newer server is unknown', () => {
  expect(fromWire.content(texts)).toEqual({ contentType: 'text', text: 'hi' })
  expect(fromWire.content({ ...texts, contentType: 99 }).contentType).toBe('unknown')
})

it('content: own fields of the app, mentions and requested receipts are read from their texts', () => {
  const config = '{"mentionList":[5,"6",7.5],"groupMemberList":[5],"pushTitle":"x"}'
  expect(fromWire.content({ ...texts, ext: '{"orderId":5}', config })).toEqual({
    contentType: 'text',
    text: 'hi',
    custom: { orderId: 5 },
    mentions: [5],
    receiptsOf: [5],
  })
  expect(fromWire.content({ ...texts, config: '{"mentionAll":true}' }).mentions).toBe('all')
  for (const text of ['no JSON', '[1]', '5', 'null', '{"mentionList":{}}'])
    expect(fromWire.content({ ...texts, config: text })).toEqual({
      contentType: 'text',
      text: 'hi',
    })
})

it('a record has one public form, and anything else that a faulty server sends has one too', () => {
  const request = { user_id: 5, reason: '', expired_time: 1, status: 0 } as const
  expect(fromWire.contactRequest(request)).toBe(fromWire.contactRequest(request))
  for (const wrong of [null, 5, 'x'])
    expect(fromWire.contactRequest(wrong as never)).toEqual({
      ...{ userId: undefined, reason: undefined, expiresAt: undefined },
    })
})

it('event: members have public names, and a conversation that of the other party', () => {
  const group = { low_id: 7, high_id: 7, is_group: true }
  expect(fromWire.event('typing', { conversation: group, user_id: 5, state: 'typing' }, 9)).toEqual(
    { conversation: { id: 7, kind: 'group' }, userId: 5, state: 'typing' },
  )
  const direct = { low_id: 5, high_id: 9, is_group: false }
  const message = { ...{ conversation: direct, msg_id: 30, seq: 3, sender_id: 5 }, content_type: 1 }
  const content = { content: '', attachment: '{"url":"u"}', config: '', ext: '{"a_b":1}' }
  expect(fromWire.event('message.stored', { ...message, ...content }, 9)).toEqual({
    conversation: { id: 5, kind: 'direct' },
    messageId: 30,
    seq: 3,
    senderId: 5,
    contentType: 'image',
    text: '',
    attachment: { url: 'u' },
    custom: { a_b: 1 },
  })
})

it('event: numbers are words, ends of bans are infinite, and properties have public names', () => {
  expect(fromWire.event('group.owner_assigned', { role: 2, expired_time: -1 }, 9)).toEqual({
    role: 'owner',
    bannedUntil: Number.POSITIVE_INFINITY,
  })
  expect(fromWire.event('group.message_setting', { setting: { msg_mute_mode: 2 } }, 9)).toEqual({
    setting: { muteMode: 'notReceived' },
  })
  const changed = { property: 'apply_approval', value: 1 }
  expect(fromWire.event('group.info_updated', changed, 9)).toEqual({
    property: 'joinApproval',
    value: 'confirm',
  })
  const ban = { property: 'ban_expire_time', value: 5 }
  expect(fromWire.event('group.info_updated', ban, 9)).toEqual({
    property: 'bannedUntil',
    value: 5_000,
  })
  const profile = { properties: ['nick_name'], changed: { nick_name: 'Bo' } }
  expect(fromWire.event('user.info_updated', profile, 9)).toEqual({
    properties: ['nickname'],
    changed: { nickname: 'Bo' },
  })
  const settings = { properties: ['no_push', 'push_tags'] }
  expect(fromWire.event('user.settings_updated', settings, 9)).toEqual({
    properties: ['isPushOff', 'pushTags'],
  })
  const push = { task_id: 5, ext: { my_key: 1 } }
  expect(fromWire.event('push.notification', push, 9)).toEqual({ taskId: 5, ext: { my_key: 1 } })
})
