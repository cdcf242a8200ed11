import { describe, expect, it } from 'vitest'
import { readPushRequest } from './push-request.js'

type Message = Parameters<typeof readPushRequest>[0]['message']

function notificationOf(message: Message) {
  return readPushRequest({ audience: 'all', message }).content.notification
}

describe('the badge of a push task', () => {
  const one = { mode: 'add', count: 1 }
  const voip = { push_type: 'voip' } as const

  it.each<[string, Message, unknown]>([
    ['a notification adds one', { title: 'News' }, one],
    ['a command changes none', { type: 'cmd', badge: '7' }, null],
    ['a call adds none', { title: 'Ann', ios: voip }, null],
    ['a call that names a badge sets it', { badge: '7', ios: voip }, { mode: 'set', count: 7 }],
  ])('%s', (_, message, badge) => {
    expect(notificationOf(message).badge).toEqual(badge)
  })
})

describe('the options of ios_gw of a push task', () => {
  it('are those of the message, and a time of 0 is none', () => {
    const { ios } = notificationOf({
      ios: {
        push_type: 'liveactivity',
        interruption_level: 'passive',
        relevance_score: 0,
        title_loc_key: 'GOAL',
        title_loc_args: ['A'],
        loc_key: '',
        live_activity: {
          event: 'end',
          content_state: { score: '1:0' },
          stale_date: 0,
          dismissal_date: 9,
        },
      },
    })
    expect(ios).toEqual({
      pushType: 'liveactivity',
      interruptionLevel: 'passive',
      relevanceScore: 0,
      titleLocKey: 'GOAL',
      titleLocArgs: ['A'],
      liveActivity: { event: 'end', contentState: { score: '1:0' }, dismissalDate: 9 },
    })
  })
})
