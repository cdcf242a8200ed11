/** A page of an audience, from its users to a batch, where the writer is. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { pushTaskState } from '@hermod/protocol/enums'
import { type Procedure, ProcedureRestart } from '../../../db/procedure.js'
import { insertJobs } from '../../../jobs/job-statements.js'
import { batchRow, insertBatches } from '../batches/batch-statements.js'
import type { NewBatch } from '../deliveries/delivery-planner.js'
import {
  countDeliveries,
  type PlannedTask,
  type PlanSurroundings,
} from '../deliveries/plan-deliveries.js'
import { readFacts } from '../deliveries/recipient-facts.js'
import type { Recipient, StoredPushTask } from '../tasks/task-model.js'
import {
  addToCounts,
  countRows,
  type LockedTask,
  lockTasks,
  setExpanded,
} from '../tasks/task-statements.js'

/** A page of the audience of a task. */
export interface AudiencePage {
  /** As it was when the page was read. */
  readonly task: PlannedTask & Pick<StoredPushTask, 'expandedTo'>
  readonly recipients: readonly Recipient[]
  readonly surroundings: PlanSurroundings
  /** Where the devices go, if there are any. */
  readonly batch: NewBatch
  /** How far the task is then, and in which state. */
  readonly expandedTo: Int64
  readonly state: number
}

/** Why a page is not stored. `over`: the task does not go on; `outdated`: another run has brought it further. */
export type PageRefusal = 'over' | 'outdated'

/** Moves a task on by a page of its audience. Ends in a {@link ProcedureRestart} with a {@link PageRefusal} where it cannot. */
export const expandPage: Procedure<AudiencePage, void> = {
  module: import.meta.url,
  name: 'expandPage',
  // A batch is opened before it is sent, and then everything is on the disk that the batch has.
  waitsForDisk: false,
  async run(context, { task, recipients, surroundings, batch, expandedTo: upTo, state }) {
    const { appId, taskId, expandedTo } = task
    const [[locked], facts] = await Promise.all([
      context.run<LockedTask>(lockTasks, [[appId, taskId]]),
      readFacts(
        context.run,
        appId,
        recipients.map(({ userId }) => userId),
      ),
    ])
    if (!locked || !isOpen(locked)) throw refusal('over')
    if (locked.expanded_to !== expandedTo) throw refusal('outdated')
    const expected = countDeliveries({ task, recipients }, facts, surroundings)
    const counts = [...expected.targets].map(([channel, target]) => ({
      appId,
      taskId,
      channel,
      target,
      sent: 0,
      received: 0,
    }))
    const { batchId, job } = batch
    const row = batchRow({ appId, taskId, batchId, openedTo: expandedTo, upTo, expected })
    const isUsed = expected.devices > 0
    const devices = locked.devices + expected.devices
    context.commitWithNext?.()
    await Promise.all([
      context.change(setExpanded, [[state, upTo, devices, surroundings.now, appId, taskId]]),
      context.run(addToCounts, countRows(counts)),
      context.run(insertBatches, isUsed ? [row] : []),
      context.run(insertJobs, isUsed ? [job] : []),
    ])
  },
}

function refusal(reason: PageRefusal): ProcedureRestart {
  return new ProcedureRestart(reason)
}

/** Whether a task goes on. */
export function isOpen({ state }: { readonly state: number }): boolean {
  return state === pushTaskState.waiting || state === pushTaskState.expanding
}
