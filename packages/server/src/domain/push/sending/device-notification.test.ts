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

interface ChosenDelivery {
  readonly channel?: 'core' | 'vendor_h' | 'ios_gw'
  readonly hidesDetails?: boolean
}

function notificationFor(fields: Partial<TaskNotification>, delivery: ChosenDelivery = {}) {
  const content = { audience: { kind: 'all' }, notification: { ...plain, ...fields } }
  const task = { taskId: 1, beginsAt: 5_999, expiresAt: 0, content }
  return notificationOf(task as StoredPushTask, {
    userId: 1,
    batchId: 1,
    channel: 'vendor_h',
    isSilent: false,
    hidesDetails: false,
    ...delivery,
  })
}

function textsOf(fields: Partial<TaskNotification>, delivery: ChosenDelivery = {}) {
  const { title, body, bigText } = notificationFor(fields, delivery)
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

describe('a notification of ios_gw', () => {
  const change = { event: 'update', contentState: { score: 1 }, staleDate: 7 } as const
  const onIos = { channel: 'ios_gw' } as const
  const hidden = { ...onIos, hidesDetails: true }

  it.each<TaskNotification['ios']>([
    { locKey: 'NEWS' },
    { titleLocKey: 'NEWS' },
    { pushType: 'voip' },
    { pushType: 'liveactivity', liveActivity: change },
  ])('has no stand-in with %j, other channels have it', (ios) => {
    expect(textsOf({ ios }, onIos)).toEqual(['', '', ''])
    expect(textsOf({ ios })).toEqual(['', standIn, ''])
  })

  it('with hidden details has no keys of texts', () => {
    const ios = {
      titleLocKey: 'A',
      titleLocArgs: ['a'],
      locKey: 'B',
      locArgs: ['b'],
      subtitle: 'c',
    }
    const shown = notificationFor({ ios: { ...ios, sound: 'd' } }, hidden)
    expect(shown.ios).toEqual({ sound: 'd' })
    expect(shown.body).toBe('You have a new message.')
  })

  it('with hidden details has no text when it is a call, and other channels have theirs', () => {
    const call = { title: 'Alice', body: 'calls', ios: { pushType: 'voip' } } as const
    expect(textsOf(call, hidden)).toEqual(['', '', ''])
    expect(textsOf(call, { hidesDetails: true })).toEqual(['', 'You have a new message.', ''])
  })

  it('with hidden details has nothing to show when it ends a live activity', () => {
    const liveActivity = {
      ...change,
      event: 'end',
      attributes: { a: 1 },
      dismissalDate: 9,
    } as const
    const shown = notificationFor(
      { title: 'Over', ios: { pushType: 'liveactivity', liveActivity } },
      hidden,
    )
    expect([shown.title, shown.body]).toEqual(['', ''])
    expect(shown.ios.liveActivity).toEqual({
      event: 'end',
      timestamp: 5,
      staleDate: 7,
      dismissalDate: 9,
    })
  })

  it('has the time of its task as the time of a change of a live activity', () => {
    const ios = { pushType: 'liveactivity', liveActivity: change } as const
    expect(notificationFor({ ios }, onIos).ios.liveActivity).toEqual({ ...change, timestamp: 5 })
  })
})

it('a notification says whether its texts hide details, so that no template shows them', () => {
  expect(notificationFor({ body: 'News' }, { hidesDetails: true }).hidesDetails).toBe(true)
  expect(notificationFor({ body: 'News' }).hidesDetails).toBeUndefined()
})
