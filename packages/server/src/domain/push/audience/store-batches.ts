/** Stores what an audience has been divided into, where the writer is. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { pushTaskState } from '@hermod/protocol/enums'
import { type Procedure, RetryProcedure } from '../../../db/procedure.js'
import { insertJobs } from '../../../jobs/job-statements.js'
import { addCounts, type Batch, noDevices } from '../batches/batch-model.js'
import { batchRow, insertBatches } from '../batches/batch-statements.js'
import type { TaskKey } from '../tasks/task-model.js'
import {
  addToCounts,
  countRows,
  type LockedTask,
  lockTasks,
  setExpanded,
  targetsAdded,
} from '../tasks/task-statements.js'

/** Batches of an audience, one after the other. */
export interface CountedBatches extends TaskKey {
  /** How far the task was before the first one, and how far it is after the last one. */
  readonly expandedTo: Int64
  readonly upTo: Int64
  /** The state of the task then. */
  readonly state: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly batches: readonly CountedBatch[]
}

export interface CountedBatch {
  readonly batch: Batch
  /** A row of insertJobs, which opens and sends the batch. */
  readonly job: readonly unknown[]
}

/** Why batches are not stored. `over`: the task does not go on; `outdated`: another run has brought it further. */
export type BatchRefusal = 'over' | 'outdated'

/** Moves a task on by batches of its audience. Ends in a {@link RetryProcedure} with a {@link BatchRefusal} where it cannot. */
export const storeBatches: Procedure<CountedBatches, void> = {
  module: import.meta.url,
  name: 'storeBatches',
  // A batch is opened before it is sent, and then everything is on the disk that the batch has.
  waitsForDisk: false,
  async run(context, { appId, taskId, expandedTo, upTo, state, now, batches }) {
    const [locked] = await context.run<LockedTask>(lockTasks, [[appId, taskId]])
    if (!locked || !isOpen(locked)) throw refusal('over')
    if (locked.expanded_to !== expandedTo) throw refusal('outdated')
    // Where nobody has a device nothing is sent.
    const used = batches.filter(({ batch }) => batch.expected.devices > 0)
    const { devices, targets } = used
      .map(({ batch }) => batch.expected)
      .reduce(addCounts, noDevices)
    const expanded = [state, upTo, locked.devices + devices, now, appId, taskId]
    return {
      last: [
        { statement: setExpanded, rows: [expanded] },
        { statement: addToCounts, rows: countRows(targetsAdded({ appId, taskId }, targets)) },
        { statement: insertBatches, rows: used.map(({ batch }) => batchRow(batch)) },
        { statement: insertJobs, rows: used.map(({ job }) => job) },
      ],
      output() {},
    }
  },
}

function refusal(reason: BatchRefusal): RetryProcedure {
  return new RetryProcedure(reason)
}

/** Whether a task goes on. */
export function isOpen({ state }: { readonly state: number }): boolean {
  return state === pushTaskState.waiting || state === pushTaskState.expanding
}
