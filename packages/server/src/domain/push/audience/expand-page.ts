/** A page of an audience becomes a batch, where the writer is. Loaded by the writer's thread too. */
import { pushTaskState } from '@hermod/protocol/enums'
import { type Procedure, ProcedureRestart } from '../../../db/procedure.js'
import { insertJobs } from '../../../jobs/job-statements.js'
import type { Batch } from '../batches/batch-model.js'
import { batchRow, insertBatches } from '../batches/batch-statements.js'
import {
  addToCounts,
  countRows,
  type LockedTask,
  lockTasks,
  setExpanded,
  targetsAdded,
} from '../tasks/task-statements.js'

/** A page of the audience of a task. */
export interface AudiencePage {
  /** Opened up to where the task was when the page was read. */
  readonly batch: Batch
  /** A row of insertJobs, which opens and sends the batch. */
  readonly job: readonly unknown[]
  /** The state of the task then. */
  readonly state: number
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Why a page is not stored. `over`: the task does not go on; `outdated`: another run has brought it further. */
export type PageRefusal = 'over' | 'outdated'

/** Moves a task on by a page of its audience. Ends in a {@link ProcedureRestart} with a {@link PageRefusal} where it cannot. */
export const expandPage: Procedure<AudiencePage, void> = {
  module: import.meta.url,
  name: 'expandPage',
  // A batch is opened before it is sent, and then everything is on the disk that the batch has.
  waitsForDisk: false,
  async run(context, { batch, job, state, now }) {
    const { appId, taskId, openedTo, upTo, expected } = batch
    const [locked] = await context.run<LockedTask>(lockTasks, [[appId, taskId]])
    if (!locked || !isOpen(locked)) throw refusal('over')
    if (locked.expanded_to !== openedTo) throw refusal('outdated')
    // Where nobody has a device nothing is sent.
    const isUsed = expected.devices > 0
    const devices = locked.devices + expected.devices
    context.commitWithNext?.()
    await Promise.all([
      context.change(setExpanded, [[state, upTo, devices, now, appId, taskId]]),
      context.run(addToCounts, countRows(targetsAdded(batch, expected.targets))),
      context.run(insertBatches, isUsed ? [batchRow(batch)] : []),
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
