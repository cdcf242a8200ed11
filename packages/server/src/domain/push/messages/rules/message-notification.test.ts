import { contentType } from '@hermod/protocol'
import { describe, expect, test } from 'vitest'
import {
  mentionedContent,
  messageNotification,
  type NotificationParts,
} from './message-notification.js'
import { pushConfigOf } from './push-config.js'

type Changes = Partial<Omit<NotificationParts, 'message' | 'texts' | 'config'>> & {
  readonly message?: Partial<NotificationParts['message']>
  readonly texts?: Partial<NotificationParts['texts']>
  readonly config?: object
}

const aMessage: NotificationParts['message'] = {
  kind: 'direct',
  msgId: 900,
  seq: 3,
  senderId: 1,
  targetId: 2,
  isFromAdmin: false,
  mentions: [],
  isSilent: false,
  collapsedBy: null,
}

/** A message from user 1, called Ann, to user 2. */
function notification({ message, texts, config, ...others }: Changes = {}) {
  return messageNotification({
    message: { ...aMessage, ...message },
    texts: { content_type: contentType.text, content: 'Hello', attachment: '', ...texts },
    config: pushConfigOf(config ? JSON.stringify(config) : ''),
    senderName: 'Ann',
    groupName: null,
    ...others,
  })
}

const inGroup = { message: { kind: 'group', targetId: 50 }, groupName: 'Friends' } as const

describe('messageNotification', () => {
  test('has the sender as its title, the text as its body, and what the app needs to open it', () => {
    expect(notification()).toEqual({
      kind: 'text',
      title: 'Ann',
      body: 'Hello',
      bigText: '',
      attachmentUrl: '',
      badge: { mode: 'add', count: 1 },
      ext: {
        msg_id: 900,
        conversation_id: 1,
        conversation_type: 1,
        from_user_id: 1,
        content_type: 0,
      },
      priority: 'high',
      collapseKey: 'user-1',
      ios: { threadId: 'user-1' },
      android: {},
      channels: {},
    })
  })

  test('of a group opens the group, and names it where there is room', () => {
    expect(notification(inGroup)).toMatchObject({
      title: 'Ann',
      body: 'Hello',
      ext: { conversation_id: 50, conversation_type: 2, from_user_id: 1 },
      collapseKey: 'group-50',
      ios: { threadId: 'group-50', subtitle: 'Friends' },
    })
  })

  test('of a group without a name has no second line', () => {
    expect(notification({ ...inGroup, groupName: '' }).ios).toEqual({ threadId: 'group-50' })
  })

  test('of a broadcast opens the conversation with its sender', () => {
    const { ext, collapseKey } = notification({ message: { kind: 'broadcast', targetId: 0 } })
    expect([ext?.conversation_id, ext?.conversation_type, collapseKey]).toEqual([1, 1, 'user-1'])
  })

  test.each([['all' as const], [[2]]])(
    'with a mention of %j is not replaced by later ones without',
    (mentions) => {
      const { collapseKey, ios } = notification({
        ...inGroup,
        message: { ...inGroup.message, mentions },
      })
      expect([collapseKey, ios.threadId]).toEqual(['group-50-mention', 'group-50'])
    },
  )

  test.each([
    [contentType.text, '', 'New message'],
    [contentType.image, '{"url":"x","dName":"a.png"}', 'Picture'],
    [contentType.audio, '{"duration":3}', 'Voice message'],
    [contentType.video, '', 'Video'],
    [contentType.file, '{"dName":"plan.pdf"}', 'File: plan.pdf'],
    [contentType.file, '{}', 'File'],
    [contentType.file, 'null', 'File'],
    [contentType.file, 'no JSON', 'File'],
    [contentType.location, '{"lat":1,"lon":2,"addr":"Main Street"}', 'Location: Main Street'],
    [contentType.location, '{"addr":{}}', 'Location'],
    [contentType.forward, '', 'Forwarded message'],
  ])('of content_type %i with attachment %s and no text: %s', (content_type, attachment, body) => {
    const texts = { content_type, attachment, content: '' }
    expect(notification({ texts }).body).toBe(body)
    expect(notification({ texts: { ...texts, content: 'Look' } }).body).toBe('Look')
    expect(notification({ texts, config: { pushMessage: 'Mine' } }).body).toBe('Mine')
  })

  test.each([
    [{ pushMessage: 'P' }, { title: 'Ann', body: 'P' }],
    [{ senderNickname: 'Annie' }, { title: 'Annie', body: 'Hello' }],
    [
      { senderNickname: 'Annie', pushTitle: 'T' },
      { title: 'T', body: 'Hello' },
    ],
    [
      { pushMessage: '', senderNickname: '', pushTitle: '' },
      { title: 'Ann', body: 'Hello' },
    ],
    [{ pushBadge: '+5' }, { badge: { mode: 'add', count: 5 } }],
    [{ pushBadge: 0 }, { badge: { mode: 'set', count: 0 } }],
    [
      { pushMessageLocKey: 'k', pushMessageLocArgs: ['a'] },
      { body: 'Hello', ext: { pushMessageLocKey: 'k', pushMessageLocArgs: ['a'] } },
    ],
  ])('config %j', (config, expected) => {
    expect(notification({ config })).toMatchObject(expected)
  })

  test('leaves mentionedMessage to those who are mentioned', () => {
    const message = { ...inGroup.message, mentions: [2] }
    const config = { mentionedMessage: 'For you' }
    expect(notification({ ...inGroup, message, config }).body).toBe('Hello')
  })

  test('keeps the beginnings of long texts, which end with a whole flag and closed isolates', () => {
    const long = `\u2068x${'🇩🇪'.repeat(3_000)}\u2069`
    const { title, body, ios } = notification({
      ...inGroup,
      senderName: long,
      groupName: long,
      texts: { content: long },
    })
    expect(title).toBe(`\u2068x${'🇩🇪'.repeat(24)}\u2069`)
    expect(ios.subtitle).toBe(title)
    expect(body).toBe(`\u2068x${'🇩🇪'.repeat(249)}\u2069`)
  })
})

describe('mentionedContent', () => {
  const content = (mentions: NotificationParts['message']['mentions'], config: object) =>
    mentionedContent({
      message: { ...aMessage, ...inGroup.message, mentions },
      config: pushConfigOf(JSON.stringify(config)),
    })

  test.each([['all' as const], [[2]]])('has the words for those mentioned: %j', (mentions) => {
    expect(content(mentions, { mentionedMessage: 'For you', pushMessage: 'P' })).toEqual({
      mentionedBody: 'For you',
    })
    expect(content(mentions, { pushMessage: 'P' })).toEqual({})
    const { mentionedBody } = content(mentions, { mentionedMessage: 'x'.repeat(3_000) })
    expect(mentionedBody).toHaveLength(1_000)
  })

  test('has none where nobody is mentioned', () => {
    expect(content([], { mentionedMessage: 'For you' })).toEqual({})
  })
})
