import { describe, expect, it } from 'vitest'
import { notifyFaults } from './notify-faults.js'

const state = { score: 1 }
const start = { event: 'start', content_state: state, attributes_type: 'Game', attributes: {} }
const needs = (name: string, event: string) =>
  `message.ios.live_activity.${name} is required with event ${event}`

function faultsOf(ios: object, others: object = {}, setting?: object): string[] {
  const message = { body: 'x', ios, ...others }
  return notifyFaults({ audience: 'all', message, ...(setting && { setting }) })
}

function activityFaults(live_activity: unknown, others: object = {}, setting?: object): string[] {
  return faultsOf({ push_type: 'liveactivity', live_activity }, others, setting)
}

describe('push types of a message', () => {
  it.each<[object, string[]]>([
    [{ push_type: 'alert' }, []],
    [{ push_type: 'voip' }, []],
    [
      { push_type: 'liveactivity' },
      ['message.ios.live_activity is required with message.ios.push_type liveactivity'],
    ],
    [
      { live_activity: { event: 'end' } },
      ['message.ios.live_activity needs message.ios.push_type liveactivity'],
    ],
    [
      { push_type: 'voip', live_activity: { event: 'end' } },
      ['message.ios.live_activity needs message.ios.push_type liveactivity'],
    ],
    [{ loc_key: 'NEWS', loc_args: ['a'] }, []],
    [{ loc_args: ['a'] }, ['message.ios.loc_args needs message.ios.loc_key']],
    [
      { title_loc_key: ' ', title_loc_args: ['a'], loc_args: [] },
      ['message.ios.title_loc_args needs message.ios.title_loc_key'],
    ],
  ])('%j: %j', (ios, faults) => {
    expect(faultsOf(ios)).toEqual(faults)
  })

  it.each<[object, string[]]>([
    [start, []],
    [{ event: 'update', content_state: state }, []],
    [{ event: 'end' }, []],
    [{ event: 'end', content_state: state, dismissal_date: 5 }, []],
    [
      { event: 'start' },
      ['content_state', 'attributes_type', 'attributes'].map((name) => needs(name, 'start')),
    ],
    [{ ...start, attributes_type: '' }, [needs('attributes_type', 'start')]],
    [{ event: 'update', stale_date: 5 }, [needs('content_state', 'update')]],
    [{ ...start, dismissal_date: 0 }, []],
    [{ ...start, dismissal_date: 5 }, ['message.ios.live_activity.dismissal_date needs event end']],
    [
      { event: 'update', content_state: { text: 'ü'.repeat(1800) } },
      ['message.ios.live_activity must have at most 3584 bytes as JSON'],
    ],
  ])('a live activity with %j: %j', (change, faults) => {
    expect(activityFaults(change)).toEqual(faults)
  })

  it('a live activity starts with a text, and changes without one', () => {
    const blank = { body: ' ', title: '' }
    const fault = 'message.title or message.body is required with event start'
    expect(activityFaults(start, blank)).toEqual([fault])
    expect(activityFaults({ event: 'end' }, blank)).toEqual([])
    const ios = { push_type: 'liveactivity', live_activity: start, loc_key: 'STARTED' }
    expect(faultsOf(ios, blank)).toEqual([])
  })

  it('a live activity is no command, and does not go through the own channel', () => {
    const setting = { distribution_strategy: 'corepush_only' }
    expect(activityFaults({ event: 'end' }, { type: 'cmd' }, setting)).toEqual([
      'message.type must not be cmd with message.ios.push_type liveactivity',
      'setting.distribution_strategy must not be corepush_only with message.ios.push_type liveactivity',
    ])
  })

  it('a field that could not be read has no second fault', () => {
    expect(faultsOf({ push_type: undefined, live_activity: {} })).toEqual([])
    expect(activityFaults(undefined)).toEqual([])
    expect(activityFaults({ event: 'update', content_state: undefined })).toEqual([])
  })
})
