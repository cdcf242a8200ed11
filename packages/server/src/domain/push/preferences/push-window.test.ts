import { describe, expect, test } from 'vitest'
import { defaultSettings } from '../../users/user-model.js'
import { type PushSettings, preferencesAt } from './push-window.js'

const settings = (changes: Partial<PushSettings>): PushSettings => ({
  ...defaultSettings,
  ...changes,
})

const at = (time: string) => Date.parse(time)

describe('preferencesAt: quiet hours', () => {
  const reason = (start: number, end: number, time: string, timeZone = 'UTC') =>
    preferencesAt(
      settings({ no_push_start_hour: start, no_push_end_hour: end }),
      at(time),
      timeZone,
    ).suppressedBy

  test.each([
    [9, 17, '2026-06-01T08:59:59.999Z', null],
    [9, 17, '2026-06-01T09:00:00Z', 'quiet_hours'],
    [9, 17, '2026-06-01T16:59:59.999Z', 'quiet_hours'],
    [9, 17, '2026-06-01T17:00:00Z', null],
    [22, 7, '2026-06-01T21:59:59Z', null],
    [22, 7, '2026-06-01T22:00:00Z', 'quiet_hours'],
    [22, 7, '2026-06-02T00:00:00Z', 'quiet_hours'],
    [22, 7, '2026-06-02T06:59:59Z', 'quiet_hours'],
    [22, 7, '2026-06-02T07:00:00Z', null],
    [0, 1, '2026-06-02T00:30:00Z', 'quiet_hours'],
    [0, 1, '2026-06-02T23:59:00Z', null],
    [23, 0, '2026-06-02T23:59:59Z', 'quiet_hours'],
    [23, 0, '2026-06-03T00:00:00Z', null],
    [0, 23, '2026-06-02T22:59:59Z', 'quiet_hours'],
    [0, 23, '2026-06-02T23:00:00Z', null],
  ])('from %i to %i at %s: %s', (start, end, time, expected) => {
    expect(reason(start, end, time)).toBe(expected)
  })

  test.each([0, 9, 23])('from %i to itself is never', (hour) => {
    for (let each = 0; each < 24; each++)
      expect(reason(hour, hour, `2026-06-01T${String(each).padStart(2, '0')}:30:00Z`)).toBeNull()
  })

  test.each([
    // Central European clocks go from 02:00 to 03:00 at 01:00 UTC, and back from 03:00 to 02:00.
    ['Europe/Berlin', 22, 3, '2026-03-29T00:59:59Z', 'quiet_hours'],
    ['Europe/Berlin', 22, 3, '2026-03-29T01:00:00Z', null],
    ['Europe/Berlin', 2, 3, '2026-03-29T00:59:59Z', null],
    ['Europe/Berlin', 2, 3, '2026-03-29T01:00:00Z', null],
    ['Europe/Berlin', 3, 8, '2026-03-29T01:00:00Z', 'quiet_hours'],
    ['Europe/Berlin', 22, 7, '2026-03-29T04:59:59Z', 'quiet_hours'],
    ['Europe/Berlin', 22, 7, '2026-03-29T05:00:00Z', null],
    ['Europe/Berlin', 22, 7, '2026-03-28T05:59:59Z', 'quiet_hours'],
    ['Europe/Berlin', 22, 7, '2026-03-28T06:00:00Z', null],
    ['Europe/Berlin', 2, 3, '2026-10-24T23:59:59Z', null],
    ['Europe/Berlin', 2, 3, '2026-10-25T00:00:00Z', 'quiet_hours'],
    ['Europe/Berlin', 2, 3, '2026-10-25T01:59:59Z', 'quiet_hours'],
    ['Europe/Berlin', 2, 3, '2026-10-25T02:00:00Z', null],
    // American clocks change at 02:00 local time: 07:00 UTC in spring, 06:00 UTC in autumn.
    ['America/New_York', 2, 3, '2026-03-08T06:59:59Z', null],
    ['America/New_York', 2, 3, '2026-03-08T07:00:00Z', null],
    ['America/New_York', 1, 3, '2026-03-08T06:59:59Z', 'quiet_hours'],
    ['America/New_York', 1, 3, '2026-03-08T07:00:00Z', null],
    ['America/New_York', 1, 2, '2026-11-01T05:00:00Z', 'quiet_hours'],
    ['America/New_York', 1, 2, '2026-11-01T06:59:59Z', 'quiet_hours'],
    ['America/New_York', 1, 2, '2026-11-01T07:00:00Z', null],
    ['America/New_York', 22, 7, '2026-11-01T11:59:59Z', 'quiet_hours'],
    ['America/New_York', 22, 7, '2026-11-01T12:00:00Z', null],
    // Half an hour from UTC, all the year.
    ['Asia/Kolkata', 22, 7, '2026-06-01T16:29:59Z', null],
    ['Asia/Kolkata', 22, 7, '2026-06-01T16:30:00Z', 'quiet_hours'],
    ['Asia/Kolkata', 22, 7, '2026-06-02T01:29:59Z', 'quiet_hours'],
    ['Asia/Kolkata', 22, 7, '2026-06-02T01:30:00Z', null],
    // Its summer time is half an hour: clocks go from 02:00 back to 01:30 at 15:00 UTC.
    ['Australia/Lord_Howe', 2, 3, '2026-04-04T14:59:59Z', null],
    ['Australia/Lord_Howe', 2, 3, '2026-04-04T15:00:00Z', null],
    ['Australia/Lord_Howe', 2, 3, '2026-04-04T15:30:00Z', 'quiet_hours'],
  ])('%s, from %i to %i at %s: %s', (timeZone, start, end, time, expected) => {
    expect(reason(start, end, time, timeZone)).toBe(expected)
  })
})

describe('preferencesAt', () => {
  const noon = at('2026-06-01T12:00:00Z')

  test('of a fresh user: everything is pushed, aloud and with its text', () => {
    expect(preferencesAt(defaultSettings, noon, 'UTC')).toEqual({
      suppressedBy: null,
      isSilent: false,
      hidesDetails: false,
    })
  })

  test('no_push is named before quiet hours', () => {
    const both = settings({ no_push: 1, no_push_start_hour: 0, no_push_end_hour: 23 })
    expect(preferencesAt(both, noon, 'UTC').suppressedBy).toBe('no_push')
  })

  test('no_push_detail hides the text', () => {
    const hiding = settings({ no_push_detail: 1 })
    expect(preferencesAt(hiding, noon, 'UTC').hidesDetails).toBe(true)
  })

  test.each([
    [20, 8, 'Asia/Kolkata', '2026-06-01T14:29:59Z', false],
    [20, 8, 'Asia/Kolkata', '2026-06-01T14:30:00Z', true],
    [20, 8, 'UTC', '2026-06-01T14:30:00Z', false],
    [8, 20, 'UTC', '2026-06-01T19:59:59Z', true],
    [8, 20, 'UTC', '2026-06-01T20:00:00Z', false],
    [8, 8, 'UTC', '2026-06-01T08:30:00Z', false],
  ])('silent from %i to %i in %s at %s: %s', (start, end, timeZone, time, isSilent) => {
    const silent = settings({ silence_start_time: start, silence_end_time: end })
    expect(preferencesAt(silent, at(time), timeZone)).toEqual({
      suppressedBy: null,
      isSilent,
      hidesDetails: false,
    })
  })
})
