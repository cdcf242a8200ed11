/** The core of the client against a model server, under schedules of faults. */
import { expect, it } from 'vitest'
import { replay, runSchedules } from './run-schedules.js'
import { stepsOf } from './steps.js'

it('every store equals the server after any schedule of faults', { timeout: 3_600_000 }, () =>
  runSchedules(0),
)

it.each([
  ['a change of a group is read', 20_313_336],
  ['a message is confirmed as delivered', 20_319_692],
  ['the confirmation of a delivery is repeated', 20_359_912],
  ['the head of a log is read', 20_328_096],
])('a client that returns a second time after %s on a slow network calls nothing', (_, seed) => {
  expect(replay(seed, stepsOf(seed))).toEqual([])
})
