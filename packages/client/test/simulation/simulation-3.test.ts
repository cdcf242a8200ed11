/** The core of the client against a model server, under the third quarter of the schedules. */
import { it } from 'vitest'
import { runSchedules } from './run-schedules.js'

it(
  'every store equals the server after any schedule of faults, third quarter',
  { timeout: 3_600_000 },
  () => runSchedules(2),
)
