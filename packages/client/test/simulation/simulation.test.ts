/** The core of the client against a model server, under schedules of faults. */
import { it } from 'vitest'
import { runSchedules } from './run-schedules.js'

it('every store equals the server after any schedule of faults', { timeout: 3_600_000 }, () =>
  runSchedules(0),
)
