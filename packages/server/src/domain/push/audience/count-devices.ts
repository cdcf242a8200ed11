/** Counts the devices of some users, where the database is. Loaded by the writer's thread too. */
import type { Procedure } from '../../../db/procedure.js'
import type { DeviceCounts } from '../batches/batch-model.js'
import {
  countDeliveries,
  type PlannedTask,
  type PlanSurroundings,
} from '../deliveries/plan-deliveries.js'
import { readFacts } from '../deliveries/recipient-facts.js'
import type { Recipient } from '../tasks/task-model.js'

/** Users of the audience of a task. */
export interface UsersToCount {
  readonly task: PlannedTask
  readonly recipients: readonly Recipient[]
  readonly surroundings: PlanSurroundings
}

/** Finds the devices that would get a delivery now. */
export const countDevices: Procedure<UsersToCount, DeviceCounts> = {
  module: import.meta.url,
  name: 'countDevices',
  waitsForDisk: false,
  async run(context, { task, recipients, surroundings }) {
    const userIds = recipients.map(({ userId }) => userId)
    const facts = await readFacts(context.run, task.appId, userIds)
    const counted = countDeliveries({ task, recipients }, facts, surroundings)
    return { last: [], output: () => counted }
  },
}
