/**
 * The hours of receivers in the time zone of the application, over midnight and changes of summer
 * time, on both databases (rule D7).
 */
import { PushSimulator } from '@hermod/push-simulator'
import { anyBackend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownServer } from '../../support/in-process-server.js'
import { notify } from '../../support/messaging/messaging.js'
import { PushWorld } from '../../support/push/push-world.js'

/**
 * Time zone, hours from and to, and by time whether they are on; in the order of time, since the
 * clock of a service goes on only.
 */
const hours: [string, number, number, Readonly<Record<string, boolean>>][] = [
  [
    'UTC',
    9,
    17,
    {
      '2027-03-01T08:59:00Z': false,
      '2027-03-01T09:00:00Z': true,
      '2027-03-01T16:59:00Z': true,
      '2027-03-01T17:00:00Z': false,
    },
  ],
  [
    'UTC',
    22,
    7,
    {
      '2027-03-01T21:59:00Z': false,
      '2027-03-01T22:00:00Z': true,
      '2027-03-02T00:00:00Z': true,
      '2027-03-02T06:59:00Z': true,
      '2027-03-02T07:00:00Z': false,
    },
  ],
  ['UTC', 23, 0, { '2027-03-02T23:59:00Z': true, '2027-03-03T00:00:00Z': false }],
  ['UTC', 9, 9, { '2027-03-03T09:30:00Z': false }],
  // Half an hour beside UTC, all the year.
  [
    'Asia/Kolkata',
    22,
    7,
    {
      '2027-03-03T16:29:00Z': false,
      '2027-03-03T16:30:00Z': true,
      '2027-03-04T01:29:00Z': true,
      '2027-03-04T01:30:00Z': false,
    },
  ],
  // American clocks go from 02:00 to 03:00 at 07:00 UTC.
  ['America/New_York', 1, 3, { '2027-03-14T06:59:00Z': true, '2027-03-14T07:00:00Z': false }],
  // Central European clocks go from 02:00 to 03:00 at 01:00 UTC.
  ['Europe/Berlin', 22, 7, { '2027-03-27T05:59:00Z': true, '2027-03-27T06:00:00Z': false }],
  ['Europe/Berlin', 22, 3, { '2027-03-28T00:59:00Z': true, '2027-03-28T01:00:00Z': false }],
  ['Europe/Berlin', 22, 7, { '2027-03-28T04:59:00Z': true, '2027-03-28T05:00:00Z': false }],
  ['Europe/Berlin', 2, 3, { '2027-03-29T00:00:00Z': true, '2027-03-29T01:00:00Z': false }],
  // Its summer time is half an hour: clocks go from 02:00 back to 01:30 at 15:00 UTC.
  [
    'Australia/Lord_Howe',
    2,
    3,
    { '2027-04-03T14:59:00Z': false, '2027-04-03T15:00:00Z': false, '2027-04-03T15:30:00Z': true },
  ],
  // And back from 03:00 to 02:00, an hour that comes twice.
  [
    'Europe/Berlin',
    2,
    3,
    {
      '2027-10-30T23:59:00Z': false,
      '2027-10-31T00:00:00Z': true,
      '2027-10-31T01:59:00Z': true,
      '2027-10-31T02:00:00Z': false,
    },
  ],
  [
    'America/New_York',
    1,
    2,
    {
      '2027-11-07T05:00:00Z': true,
      '2027-11-07T06:59:00Z': true,
      '2027-11-07T07:00:00Z': false,
    },
  ],
]

describe.each(anyBackend())('pushes of messages by the hour on $name', (backend) => {
  let simulator: PushSimulator
  const service = ownServer(backend)
  let world: PushWorld
  let quiet: Session
  let silent: Session

  beforeAll(async () => {
    simulator = await PushSimulator.start()
    world = new PushWorld(service, simulator)
    await world.setCertificates(['vendor_n'])
    quiet = await world.user({ vendor_n: 'device-of-quiet' })
    silent = await world.user({ vendor_n: 'device-of-silent' })
  })
  afterAll(async () => {
    await simulator?.[Symbol.asyncDispose]()
  })

  /** Tokens do not last as long as the test. */
  const setSettings = ({ id }: Session, settings: object) =>
    world.api
      .admin({ userId: id })
      .succeed('POST', '/user/settings', { body: { user_id: id, ...settings } })

  /** Why one user is not told of a message, and whether the other is told in silence. */
  async function outcome(text: string) {
    const [first, second] = [
      await notify(world.admin, quiet.id, text),
      await notify(world.admin, silent.id, text),
    ]
    const ofQuiet = await world.delivered(first, quiet.id)
    const ofSilent = await world.delivered(second, silent.id)
    return [ofQuiet.steps.at(-1).result, ofSilent.steps.at(-1).result, ofSilent.is_silent]
  }

  it.each(hours)('in %s, from %i to %i: %j', async (time_zone, start, end, times) => {
    await world.operator.succeed('POST', '/operator/v1/app/update', {
      body: { app_id: service.appId, settings: { time_zone } },
    })
    await setSettings(quiet, { no_push_start_hour: start, no_push_end_hour: end })
    await setSettings(silent, { silence_start_time: start, silence_end_time: end })
    const outcomes = new Map<string, unknown>()
    for (const time of Object.keys(times)) {
      service.clock.set(Date.parse(time))
      outcomes.set(time, await outcome(time))
    }
    expect(Object.fromEntries(outcomes)).toEqual(
      Object.fromEntries(
        Object.entries(times).map(([time, isOn]) => [
          time,
          [isOn ? 'quiet_hours' : 'accepted', 'accepted', isOn],
        ]),
      ),
    )
  })
})
