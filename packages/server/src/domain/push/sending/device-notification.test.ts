import { describe, expect, it } from 'vitest'
import type { TaskNotification } from '../content/task-content.js'
import type { StoredPushTask } from '../tasks/task-model.js'
import { notificationOf } from './device-notification.js'

const standIn = 'You have a new notification.'
const plain: TaskNotification = {
  kind: 'text',
  title: '',
  body: '',
  bigText: '',
  attachmentUrl: '',
  badge: null,
  ext: null,
  priority: 'high',
  collapseKey: null,
  ios: {},
  android: {},
  channels: {},
}

function textsOf(
  fields: Partial<TaskNotification>,
  delivery: { readonly channel?: 'core' | 'vendor_h'; readonly hidesDetails?: boolean } = {},
) {
  const content = { audience: { kind: 'all' }, notification: { ...plain, ...fields } }
  const task = { taskId: 1, expiresAt: 0, content }
  const { title, body, bigText } = notificationOf(task as StoredPushTask, {
    userId: 1,
    batchId: 1,
    channel: 'vendor_h',
    isSilent: false,
    hidesDetails: false,
    ...delivery,
  })
  return [title, body, bigText]
}

describe('a notification without any text', () => {
  it.each<[string, Partial<TaskNotification>]>([
    ['empty texts', {}],
    ['texts of white space', { title: ' ', body: '\t\n', bigText: '\u3000' }],
    ['an image', { kind: 'image', attachmentUrl: 'https://x.example/a.png' }],
  ])('has a stand-in for its body: %s', (_, fields) => {
    expect(textsOf(fields)).toEqual(['', standIn, ''])
  })

  it('has none where the app shows it itself: a command, and the own channel', () => {
    expect(textsOf({ kind: 'cmd' })).toEqual(['', '', ''])
    expect(textsOf({}, { channel: 'core' })).toEqual(['', '', ''])
  })

  it('has none when one of its texts is filled, or when details are hidden', () => {
    expect(textsOf({ title: 'News' })).toEqual(['News', '', ''])
    expect(textsOf({ body: 'News' })).toEqual(['', 'News', ''])
    expect(textsOf({ bigText: 'News' })).toEqual(['', '', 'News'])
    expect(textsOf({}, { hidesDetails: true })).toEqual(['', 'You have a new message.', ''])
  })
})
