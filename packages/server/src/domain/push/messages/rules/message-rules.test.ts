import { contentType, groupStatus, groupType, muteMode, pushMode } from '@hermod/protocol'
import { describe, expect, test } from 'vitest'
import type { PushedMessage } from '../../content/pushed-message.js'
import { isPushedGroup, isWorthPush, recipientOf } from './message-rules.js'
import { pushConfigOf } from './push-config.js'

const direct: PushedMessage = {
  kind: 'direct',
  msgId: 7,
  seq: 3,
  senderId: 1,
  targetId: 2,
  isFromAdmin: false,
  mentions: [],
  isSilent: false,
  collapsedBy: null,
}
const inGroup: PushedMessage = { ...direct, kind: 'group', targetId: 50 }
const receiver = { userId: 2, isSeen: false, isSenderMuted: false, membership: null }

describe('recipientOf', () => {
  test('tells the receiver of a message, on all devices and aloud', () => {
    expect(recipientOf(direct, receiver)).toEqual({
      userId: 2,
      deviceSns: null,
      suppressedBy: null,
      isSilent: false,
    })
  })

  test('is silent where the sender wants it', () => {
    expect(recipientOf({ ...direct, isSilent: true }, receiver).isSilent).toBe(true)
  })

  test.each([
    [{ isSeen: true }, 'message_read'],
    [{ isSenderMuted: true }, 'contact_muted'],
    [{ isSeen: true, isSenderMuted: true }, 'message_read'],
  ])('does not tell a receiver with %j: %s', (inputs, reason) => {
    expect(recipientOf(direct, { ...receiver, ...inputs }).suppressedBy).toBe(reason)
  })

  const reasonIn = (
    mode: { muteMode?: number; pushMode?: number },
    message: Partial<PushedMessage>,
  ) =>
    recipientOf(
      { ...inGroup, ...message },
      {
        ...receiver,
        membership: { muteMode: muteMode.none, pushMode: pushMode.all, ...mode },
      },
    ).suppressedBy

  const ordinary = {}
  const fromAdmin = { isFromAdmin: true }
  const mention = { mentions: [9, 2] }
  const mentionOfAll = { mentions: 'all' as const }
  const mentionOfOther = { mentions: [9] }
  const reply = { quotedId: 2 }
  const replyToOther = { quotedId: 9 }

  test('a reply to a message of the receiver passes msg_push_mode as a mention does', () => {
    for (const mode of Object.values(pushMode)) {
      expect(reasonIn({ pushMode: mode }, reply)).toBe(reasonIn({ pushMode: mode }, mention))
      expect(reasonIn({ pushMode: mode }, replyToOther)).toBe(
        reasonIn({ pushMode: mode }, ordinary),
      )
    }
  })

  test.each([
    ['all', pushMode.all, [true, true, true, true, true]],
    ['none', pushMode.none, [false, false, false, false, false]],
    ['admins and mentions', pushMode.adminsAndMentions, [false, true, true, true, false]],
    ['admins', pushMode.admins, [false, true, false, false, false]],
    ['mentions', pushMode.mentions, [false, false, true, true, false]],
  ])('msg_push_mode %s', (_, mode, [plain, admin, me, everybody, other]) => {
    const isPushed = (message: Partial<PushedMessage>) => {
      const reason = reasonIn({ pushMode: mode }, message)
      expect([null, 'group_push_mode']).toContain(reason)
      return reason === null
    }
    expect(isPushed(ordinary)).toBe(plain)
    expect(isPushed(fromAdmin)).toBe(admin)
    expect(isPushed(mention)).toBe(me)
    expect(isPushed(mentionOfAll)).toBe(everybody)
    expect(isPushed(mentionOfOther)).toBe(other)
    expect(isPushed({ ...fromAdmin, ...mentionOfOther })).toBe(admin)
  })

  test.each([muteMode.silent, muteMode.notReceived])(
    'msg_mute_mode %i stops all pushes of a group, mentions too',
    (mode) => {
      for (const message of [ordinary, fromAdmin, mention, mentionOfAll])
        expect(reasonIn({ muteMode: mode }, message)).toBe('group_muted')
    },
  )
})

describe('isWorthPush', () => {
  test.each([
    [contentType.text, '', true],
    [contentType.image, '', true],
    [contentType.location, '', true],
    [contentType.forward, '', true],
    [contentType.command, '', false],
    [contentType.command, '{"senderNickname":"Ann"}', false],
    [contentType.command, '{"pushMessage":""}', false],
    [contentType.command, '{"pushMessage":"Call"}', true],
    [contentType.command, '{"pushMessageLocKey":"call"}', true],
  ])('content_type %i with config %s: %s', (content_type, config, expected) => {
    expect(isWorthPush({ content_type }, pushConfigOf(config))).toBe(expected)
  })
})

describe('isPushedGroup', () => {
  test.each([
    [groupType.private, groupStatus.normal, true],
    [groupType.public, groupStatus.normal, true],
    [groupType.temporary, groupStatus.normal, true],
    [groupType.chatroom, groupStatus.normal, false],
    [groupType.private, groupStatus.dissolved, false],
  ])('type %i, status %i: %s', (type, status, expected) => {
    expect(isPushedGroup({ type, status })).toBe(expected)
  })
})
